// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/try-plan.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/place-agent.h"
#include "collect/run/loads.h"
#include "collect/run/target.h"
#include "lib/base/err.h"

/* Where the program's file is; it is started in its own directory. */
static int find_program(const struct try_program *p, char *out, size_t size)
{
	const char *name = p->argv[0];
	char path[PATH_MAX];

	if (strchr(name, '/') && name[0] != '/' && p->dir) {
		if (snprintf(path, sizeof(path), "%s/%s", p->dir, name) >=
		    (int)sizeof(path))
			return -1;
		name = path;
	}
	return target_find(name, out, size);
}

static int make_setting(struct try_placed *out, const struct try_change *c)
{
	char *agent;
	int err = place_agent_setting(out->setup.fd, &agent);

	if (err)
		return err;
	if (!c->setting) {
		out->setting = agent;
		return 0;
	}
	if (asprintf(&out->setting, "%s %s", c->setting, agent) < 0)
		out->setting = NULL;
	free(agent);
	if (out->setting)
		return 0;
	moca_error("try: out of memory");
	return 1;
}

int try_placed_make(struct try_placed *out, const struct try_change *c,
		    const struct try_program *p, char **why)
{
	struct place_problem problem = { 0 };
	const char *refusal = NULL;
	char program[PATH_MAX];
	int err;

	*out = (struct try_placed){ .setup = { .fd = -1 } };
	*why = NULL;
	if (find_program(p, program, sizeof(program)))
		refusal = "the program cannot be found";
	else
		refusal = loads_refusal(program);
	if (refusal) {
		if (asprintf(why, "the program would not load libmoca-place.so: %s",
			     refusal) >= 0)
			return 0;
		*why = NULL;
		moca_error("try: out of memory");
		return 1;
	}
	err = place_plan_parse(&out->plan, c->plan_text, strlen(c->plan_text),
			       &problem);
	if (!err)
		err = place_setup_make(&out->setup, &out->plan, program);
	if (!err)
		return make_setting(out, c);
	moca_error("try: cannot prepare the plan of '%s' for '%s': %s", c->id,
		   program, problem.text[0] ? problem.text : strerror(-err));
	return 1;
}

void try_placed_free(struct try_placed *p)
{
	place_setup_free(&p->setup);
	place_plan_free(&p->plan);
	free(p->setting);
	p->setting = NULL;
}

void try_placed_matched(const struct try_placed *p, uint64_t *blocks,
			uint64_t *bytes)
{
	size_t i;

	*blocks = *bytes = 0;
	for (i = 0; i < p->plan.count; i++) {
		*blocks += p->setup.policies[i].matched.count;
		*bytes += p->setup.policies[i].matched.bytes;
	}
}

int try_placed_complaint(const struct try_placed *p, char *buf, size_t size)
{
	return place_complaint(&p->setup, 0, buf, size);
}
