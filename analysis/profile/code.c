// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * With which instructions each lane accesses a large object: of each lane the few
 * most frequent ones, by the votes of Misra and Gries. Instructions within the same
 * 16 bytes count as one.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/profile/passes.h"

#define PAGES_MIN 256u		/* of a row: less is not looked at */
#define NEAR 4			/* bits: functions begin at multiples of 16 bytes */

static void vote(struct moca_profile_code *of,
		 const struct moca_profile_code *x)
{
	struct moca_profile_code *empty = NULL;
	uint32_t least = x->votes;
	unsigned i;

	for (i = 0; i < MOCA_PROFILE_CODES; i++) {
		if (of[i].votes && (of[i].ip ^ x->ip) >> NEAR == 0) {
			of[i].votes += x->votes;
			return;
		}
		if (!of[i].votes)
			empty = &of[i];
		else if (of[i].votes < least)
			least = of[i].votes;
	}
	if (empty) {
		*empty = *x;
		return;
	}
	for (i = 0; i < MOCA_PROFILE_CODES; i++)
		of[i].votes -= least;
}

static void access_(struct gather *g, const struct seen *s)
{
	struct row *r = s->row;

	if (r->pages < PAGES_MIN)
		return;
	if (!r->code) {
		r->code = calloc((size_t)g->p->lanes * MOCA_PROFILE_CODES,
				 sizeof(*r->code));
		if (!r->code) {
			g->err = -ENOMEM;
			return;
		}
	}
	vote(r->code + s->lane * MOCA_PROFILE_CODES,
	     &(struct moca_profile_code){ .ip = s->x->ip, .votes = 1,
					  .ns = s->x->time_ns,
					  .task = s->x->task });
}

void code_add(const struct moca_profile *p, struct moca_profile_object *o,
	      struct row *r)
{
	size_t i, n = (size_t)p->lanes * MOCA_PROFILE_CODES;

	if (!o->code) {
		o->code = r->code;
		r->code = NULL;
		return;
	}
	for (i = 0; r->code && i < n; i++)
		if (r->code[i].votes)
			vote(o->code + i / MOCA_PROFILE_CODES *
					       MOCA_PROFILE_CODES,
			     &r->code[i]);
}

const struct pass moca_pass_code = { .name = "code", .access = access_ };
