// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In which order a thread goes through an object's pages. What a thread does in turn
 * with some arrays that are one object, as of one site, is no random access: it goes
 * on where it was in each of them.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/profile/passes.h"

#define NEXT 2			/* pages: onwards or backwards, one left out */
#define NEAR 256		/* 1 MiB: what a second-level cache holds */
#define STREAMS 4
#define PAGES_MIN 256u		/* of a row: with less all steps are near */

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Is it next to where the lane was in another place than the last? It is first then. */
static int goes_on(uint64_t *streams, uint64_t number)
{
	unsigned i = 1;

	while (i < STREAMS - 1 && distance(streams[i], number) > NEXT)
		i++;
	if (distance(streams[i], number) > NEXT)
		number = 0;
	for (; i; i--)
		streams[i] = streams[i - 1];
	return number != 0;
}

static void access_(struct gather *g, const struct seen *s)
{
	struct row *r = s->row;
	uint64_t *last = &r->last_page[s->lane], d;
	uint64_t number = s->x->addr >> PAGE_SHIFT;

	if (!r->streams && r->pages >= PAGES_MIN) {
		r->streams = calloc((size_t)g->p->lanes * STREAMS,
				    sizeof(*r->streams));
		if (!r->streams) {
			g->err = -ENOMEM;
			return;
		}
	}
	d = distance(number, *last);
	/* The same page again: a write after a read, or another interval. */
	if (*last && d) {
		if (d > NEAR && r->streams) {
			r->streams[s->lane * STREAMS] = *last;
			if (goes_on(r->streams + s->lane * STREAMS, number))
				d = NEXT;
		}
		r->steps++;
		r->steps_next += d <= NEXT;
		r->steps_near += d <= NEAR;
	}
	*last = number;
}

const struct pass moca_pass_steps = { .name = "steps", .access = access_ };
