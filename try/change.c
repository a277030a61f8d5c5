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

#define TUNABLES "GLIBC_TUNABLES"

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

/* Of glibc's tunables that are there twice the last one counts. */
static char *join(const char *old, const char *v)
{
	size_t n = strlen(TUNABLES);
	char *text;

	if (!old || name_length(v) != n || strncmp(v, TUNABLES, n) ||
	    !old[n] || !old[n + 1] || !v[n])
		return strdup(v);
	return asprintf(&text, "%s:%s", old, v + n + 1) < 0 ? NULL : text;
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
			same ? why : f->setting ? NULL :
			"it needs a change of the source, or of where the program runs");
		if (!x)
			return -ENOMEM;
		x->from_finding = 1;
		if (!isnan(f->seconds))
			x->predicted = f->gain;
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
	static const char *const others[] = { "/libjemalloc", "/libtcmalloc",
					      "/libmimalloc" };
	const struct moca_mapping *m;
	size_t i, k, n;
	int err = moca_trace_mappings(t, &m, &n), other = 0;

	if (err)
		return err;
	s->threads = most_threads(t);
	if (s->threads < 0)
		return s->threads;
	for (i = 0; i < n; i++) {
		s->glibc |= strstr(m[i].name, "/libc.so.6") ||
			    strstr(m[i].name, "/libc-2.");
		s->openmp |= strstr(m[i].name, "/libgomp.so") ||
			     strstr(m[i].name, "/libomp.so") ||
			     strstr(m[i].name, "/libiomp5.so");
		for (k = 0; k < sizeof(others) / sizeof(*others); k++)
			other |= strstr(m[i].name, others[k]) != NULL;
	}
	s->glibc &= !other;
	return 0;
}

static int add_list(struct try_changes *c, struct moca_trace *t)
{
	static const struct {
		const char *(*fill)(const struct try_subject *s,
				    const char **title, const char **setting);
		const char *id;
	} list[] = {
#define X(function, id) { function, id },
		TRY_LIST(X)
#undef X
	};
	struct try_subject s = { 0 };
	const char *title, *setting, *why;
	int err = look(&s, t);
	size_t i;

	for (i = 0; !err && i < sizeof(list) / sizeof(*list); i++) {
		title = "";
		setting = NULL;
		why = list[i].fill(&s, &title, &setting);
		if (setting && (same_setting(c, setting) || has_id(c, list[i].id)))
			continue;
		if (!add(c, list[i].id, title, setting, why))
			err = -ENOMEM;
	}
	return err;
}

int try_changes_of(struct try_changes *out, struct moca_trace *t,
		   const struct moca_advice *a, int all)
{
	int err;

	*out = (struct try_changes){ 0 };
	err = add_findings(out, a);
	return err || !all ? err : add_list(out, t);
}

void try_changes_free(struct try_changes *c)
{
	size_t i;

	for (i = 0; i < c->count; i++) {
		free(c->items[i].title);
		free(c->items[i].setting);
		free(c->items[i].why_not);
	}
	free(c->items);
	*c = (struct try_changes){ 0 };
}
