// SPDX-License-Identifier: GPL-2.0-or-later
#include "try/change.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <moca/reader.h>

#include "analysis/advice/advice.h"
#include "lib/base/vec.h"
#include "try/list.h"
#include "try/machine.h"

#define CPUS "/sys/devices/system/cpu"

/* --- the environment ------------------------------------------------------ */

static size_t name_length(const char *variable)
{
	return strcspn(variable, "=");
}

/* Where the variable of that name is, or the end of the list. */
static char **find_variable(char **env, const char *v)
{
	size_t n = name_length(v);

	while (*env && (name_length(*env) != n || strncmp(*env, v, n)))
		env++;
	return env;
}

/*
 * Variables that are lists, and where what is added goes. Of glibc's tunables, and of
 * jemalloc's settings, that are there twice the last one counts; of libraries that
 * are preloaded the first.
 */
static const struct {
	const char *name;
	char between;
	int first;
} lists[] = {
	{ "GLIBC_TUNABLES", ':', 0 },
	{ "MALLOC_CONF", ',', 0 },
	{ "LD_PRELOAD", ':', 1 },
};

/* The variable v where `old` (NULL: none) is there. To be freed; NULL: no memory. */
static char *join(const char *old, const char *v)
{
	size_t n = name_length(v), i;
	char *text;

	for (i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if (strlen(lists[i].name) == n &&
		    !strncmp(v, lists[i].name, n))
			break;
	if (!old || i == sizeof(lists) / sizeof(*lists) || !old[n] ||
	    !old[n + 1] || !v[n])
		return strdup(v);
	if (lists[i].first)
		n = asprintf(&text, "%s%c%s", v, lists[i].between,
			     old + n + 1) < 0;
	else
		n = asprintf(&text, "%s%c%s", old, lists[i].between,
			     v + n + 1) < 0;
	return n ? NULL : text;
}

/* The list has room for one more. */
static int set_variable(char **env, const char *v)
{
	char **at = find_variable(env, v), *text = join(*at, v);

	if (!text)
		return -ENOMEM;
	if (!*at)
		at[1] = NULL;
	free(*at);
	*at = text;
	return 0;
}

void try_environment_free(char **env)
{
	size_t i;

	for (i = 0; env && env[i]; i++)
		free(env[i]);
	free(env);
}

char **try_environment(char *const *env, const char *setting)
{
	char *words = strdup(setting ? setting : ""), *word, *rest = words;
	size_t n = 0, room = 2, i;
	char **out;

	while (env[n])
		n++;
	for (i = 0; setting && setting[i]; i++)
		room += setting[i] == ' ';
	out = calloc(n + room, sizeof(*out));
	for (i = 0; words && out && i < n; i++) {
		out[i] = strdup(env[i]);
		if (!out[i])
			goto err;
	}
	while (words && out && (word = strsep(&rest, " ")))
		if (*word && set_variable(out, word))
			goto err;
	if (words && out) {
		free(words);
		return out;
	}
err:
	free(words);
	try_environment_free(out);
	return NULL;
}

char *try_setting_joined(char *const *env, const char *setting)
{
	char **with = try_environment(env, setting), *words = strdup(setting);
	char *word, *rest = words, *text = NULL, *more;
	char **at;

	while (with && words && (word = strsep(&rest, " "))) {
		at = *word ? find_variable(with, word) : NULL;
		if (!at || !*at || (*at)[0] == '\n')
			continue;
		more = NULL;
		if (asprintf(&more, "%s%s%s", text ? text : "",
			     text ? " " : "", *at) < 0)
			more = NULL;
		free(text);
		text = more;
		if (!text)
			break;
		/* It is said: the next word of that name finds none. */
		(*at)[0] = '\n';
	}
	try_environment_free(with);
	free(words);
	return text;
}

/* --- the list ------------------------------------------------------------- */

static struct try_change *add(struct try_changes *c, const char *id,
			      const char *title, const char *setting,
			      const char *why_not)
{
	struct try_change *x = moca_vec_add(c->items, c->count, c->room);

	if (!x)
		return NULL;
	*x = (struct try_change){
		.number = c->count,
		.id = id, .title = strdup(title), .predicted = NAN,
		.setting = setting ? strdup(setting) : NULL,
		.why_not = why_not ? strdup(why_not) : NULL,
	};
	return !x->title || (setting && !x->setting) ||
	       (why_not && !x->why_not) ? NULL : x;
}

/* A change before this one that has its setting; NULL: none. */
static const struct try_change *same_setting(const struct try_changes *c,
					     const char *setting)
{
	size_t i;

	for (i = 0; setting && i < c->count; i++)
		if (c->items[i].setting && !c->items[i].why_not &&
		    !strcmp(c->items[i].setting, setting))
			return &c->items[i];
	return NULL;
}

static int add_findings(struct try_changes *c, const struct moca_advice *a)
{
	const struct try_change *same;
	const struct moca_finding *f;
	struct try_change *x;
	char why[80];
	size_t i;

	for (i = 0; i < a->count; i++) {
		f = &a->findings[i];
		same = same_setting(c, f->setting);
		if (same)
			snprintf(why, sizeof(why),
				 "change %zu has the same setting, and is measured", same->number);
		x = add(c, moca_finding_id(f->kind), f->title, f->setting,
			same ? why : NULL);
		if (!x)
			return -ENOMEM;
		x->from_finding = 1;
		x->kinds = 1u << f->kind;
		if (!isnan(f->seconds))
			x->predicted = f->gain;
	}
	return 0;
}

/*
 * Each finding without a setting of its own refers to the change that tries it, or
 * gets the reason why nothing tries it.
 */
static int refer(struct try_changes *c)
{
	const struct try_change *by;
	struct try_change *x;
	size_t i, k;
	int n;

	for (i = 0; i < c->count; i++) {
		x = &c->items[i];
		if (!x->from_finding || x->setting || x->why_not)
			continue;
		for (k = 0, by = NULL; k < c->count; k++)
			if (!c->items[k].from_finding &&
			    c->items[k].kinds & x->kinds &&
			    (!by || (by->why_not && !c->items[k].why_not)))
				by = &c->items[k];
		n = !by ? asprintf(&x->why_not, "it needs a change of the source, or of where the program runs") :
		    by->why_not ? asprintf(&x->why_not, "%s", by->why_not) :
		    asprintf(&x->why_not, "change %zu (%s) does it, by a plan",
			     by->number, by->id);
		if (n < 0) {
			x->why_not = NULL;
			return -ENOMEM;
		}
	}
	return 0;
}

/* Whether a finding has that name already. */
static int has_id(const struct try_changes *c, const char *id)
{
	size_t i;

	for (i = 0; i < c->count; i++)
		if (!strcmp(c->items[i].id, id))
			return 1;
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Tasks of the process that has most; -ENOMEM. */
static int most_threads(const struct moca_trace *t)
{
	size_t n = moca_trace_task_count(t), i, run = 0, most = 0;
	uint32_t *pids = calloc(n + 1, sizeof(*pids));

	if (!pids)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		pids[i] = moca_trace_task(t, i)->pid;
	qsort(pids, n, sizeof(*pids), by_pid);
	for (i = 0; i < n; i++) {
		run = i && pids[i] == pids[i - 1] ? run + 1 : 1;
		most = run > most ? run : most;
	}
	free(pids);
	return most > INT32_MAX ? INT32_MAX : (int)most;
}

static int look(struct try_subject *s, struct moca_trace *t)
{
	static const struct {
		const char *name;
		enum try_allocator which;
	} others[] = { { "/libjemalloc", TRY_ALLOCATOR_JEMALLOC },
		       { "/libtcmalloc", TRY_ALLOCATOR_TCMALLOC },
		       { "/libmimalloc", TRY_ALLOCATOR_MIMALLOC } };
	enum try_allocator other = TRY_ALLOCATOR_UNKNOWN;
	const struct moca_mapping *m;
	size_t i, k, n;
	int err = moca_trace_mappings(t, &m, &n);

	if (err)
		return err;
	s->threads = most_threads(t);
	if (s->threads < 0)
		return s->threads;
	for (i = 0; i < n; i++) {
		if (strstr(m[i].name, "/libc.so.6") ||
		    strstr(m[i].name, "/libc-2."))
			s->allocator = TRY_ALLOCATOR_GLIBC;
		s->openmp |= strstr(m[i].name, "/libgomp.so") ||
			     strstr(m[i].name, "/libomp.so") ||
			     strstr(m[i].name, "/libiomp5.so");
		for (k = 0; k < sizeof(others) / sizeof(*others); k++)
			if (strstr(m[i].name, others[k].name))
				other = others[k].which;
	}
	if (other)
		s->allocator = other;
	s->nodes = try_machine_nodes();
	s->cores = try_machine_cores(CPUS);
	s->is_virtual = try_machine_is_virtual();
	return 0;
}

/* Takes the plan over. */
static int add_made(struct try_changes *c, const char *id, struct try_made *m,
		    const char *why)
{
	struct try_change *x = add(c, id, m->title, why ? NULL : m->setting,
				   why);

	if (!x) {
		try_plan_free(&m->plan);
		return -ENOMEM;
	}
	x->plan = m->plan;
	x->note = m->note;
	x->kinds = m->kinds;
	x->predicted = m->predicted;
	if (x->plan.count)
		x->plan_text = try_plan_text(&x->plan);
	return x->plan.count && !x->plan_text ? -ENOMEM : 0;
}

enum when { FINDING, ALL };

static int add_list(struct try_changes *c, struct try_subject *s, int all)
{
	static const struct {
		const char *(*fill)(const struct try_subject *s,
				    struct try_made *out);
		const char *id;
		enum when when;
	} list[] = {
#define X(function, id, when) { function, id, when },
		TRY_LIST(X)
#undef X
	};
	const char *why;
	int err = 0;
	size_t i;

	for (i = 0; !err && i < sizeof(list) / sizeof(*list); i++) {
		struct try_made m = { .title = "", .predicted = NAN };

		if (list[i].when == ALL && !all)
			continue;
		why = list[i].fill(s, &m);
		if (m.err || (!m.kinds && list[i].when == FINDING) ||
		    (m.setting && (same_setting(c, m.setting) ||
				   has_id(c, list[i].id)))) {
			try_plan_free(&m.plan);
			err = m.err;
			continue;
		}
		err = add_made(c, list[i].id, &m, why);
	}
	return err;
}

int try_changes_of(struct try_changes *out, struct moca_trace *t,
		   const struct moca_advice *a, const struct moca_profile *p,
		   int all)
{
	struct try_subject s = { .advice = a, .profile = p };
	int err;

	*out = (struct try_changes){ 0 };
	err = add_findings(out, a);
	if (!err)
		err = look(&s, t);
	if (!err)
		err = add_list(out, &s, all);
	return err ? err : refer(out);
}

void try_changes_free(struct try_changes *c)
{
	size_t i;

	for (i = 0; i < c->count; i++) {
		free(c->items[i].title);
		free(c->items[i].setting);
		free(c->items[i].plan_text);
		free(c->items[i].why_not);
		try_plan_free(&c->items[i].plan);
	}
	free(c->items);
	*c = (struct try_changes){ 0 };
}
