/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be changed about a program without its source: variables of its
 * environment, and by a plan the memory of named structures. A change comes from a
 * finding of the trace (struct moca_finding, setting), or from the list in list.h.
 */
#ifndef MOCA_TRY_CHANGE_H
#define MOCA_TRY_CHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "try/plan.h"

struct moca_advice;
struct moca_profile;
struct moca_trace;

struct try_change {
	size_t number;		/* in the whole list, from 1 */
	const char *id;		/* of the finding, or of the list */
	char *title;		/* of the finding, or what the change is */
	char *setting;		/* "NAME=VALUE NAME=VALUE"; NULL: none */
	struct try_plan plan;	/* nothing in it: none */
	char *plan_text;	/* of it; NULL */
	const char *note;	/* why it may gain nothing here; NULL */
	uint32_t kinds;		/* bits of the kinds of findings that it follows */
	char *why_not;		/* it cannot be tried; NULL: it can */
	double predicted;	/* share of CPU time saved; NAN: not known */
	int from_finding;
};

struct try_changes {
	struct try_change *items;
	size_t count, room;
};

/*
 * What the findings of the trace have, what follows them, and with `all` also what
 * else is in the list, where the program is of a kind that they can act on. 0, or
 * -ENOMEM or what reading the trace returned. Free it also then.
 */
int try_changes_of(struct try_changes *out, struct moca_trace *t,
		   const struct moca_advice *a, const struct moca_profile *p,
		   int all);
void try_changes_free(struct try_changes *c);

/*
 * A copy of env with the setting's variables (NULL: none). What lists of values
 * (GLIBC_TUNABLES, MALLOC_CONF, LD_PRELOAD) have already stays. NULL: no memory.
 */
char **try_environment(char *const *env, const char *setting);
void try_environment_free(char **env);
/*
 * The variables of the setting as they are in such an environment: each once, as a
 * shell takes them ("A=1 B=2"). To be freed; NULL: no memory.
 */
char *try_setting_joined(char *const *env, const char *setting);

#endif
