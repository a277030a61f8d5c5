// SPDX-License-Identifier: GPL-2.0-or-later
/* In which order a thread goes through an object's pages. */
#include "analysis/profile/passes.h"

#define NEXT 2			/* pages: onwards or backwards, one left out */
#define NEAR 256		/* 1 MiB: what a second-level cache holds */

static void access_(struct gather *g, const struct seen *s)
{
	uint64_t *last = &s->row->last_page[s->lane], d;
	uint64_t number = s->x->addr >> PAGE_SHIFT;

	d = number > *last ? number - *last : *last - number;
	/* The same page again: a write after a read, or another interval. */
	if (*last && d) {
		s->row->steps++;
		s->row->steps_next += d <= NEXT;
		s->row->steps_near += d <= NEAR;
	}
	*last = number;
}

const struct pass moca_pass_steps = { .name = "steps", .access = access_ };
