/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A change that moca place makes: what shall become of the memory of some
 * structures, each named once. Its text is a plan as place/plan.h reads it.
 */
#ifndef MOCA_TRY_PLAN_H
#define MOCA_TRY_PLAN_H

#include <stddef.h>

struct moca_object;

/* What is wanted of one structure's memory. */
struct try_wish {
	char *name;		/* its keys in a plan, lines; as a key, too */
	int huge, prefault, interleave;
	unsigned pad;		/* bytes; 0: not wanted */
	int bind;		/* 1 + the node; 0: not wanted */
};

struct try_plan {
	struct try_wish *items;
	size_t count, room;
};

/*
 * Add what is wanted of a structure: the larger where it is there already; `name` is
 * not looked at. 0; -ENOENT: a plan cannot name it; -ENOMEM.
 */
int try_plan_add(struct try_plan *p, const struct moca_object *o,
		 const struct try_wish *what);
/* Add all of another plan. 0 or -ENOMEM. */
int try_plan_merge(struct try_plan *p, const struct try_plan *more);
/* The plan as text, to be freed; NULL: no memory. */
char *try_plan_text(const struct try_plan *p);
void try_plan_free(struct try_plan *p);

#endif
