// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How often pages are used: in what part of the time since their first interval. A
 * page has at most one record of a read and one of a write in an interval, so it
 * was used in at least as many as it has of either, and in as many as it has records
 * at most.
 */
#include "analysis/profile/passes.h"

/* Fewer intervals say nothing of how seldom it is. */
#define ALIVE_MIN 10

static void page_(const struct moca_profile *p, struct moca_profile_object *o,
		  const struct page *page, uint64_t number, size_t i, size_t n)
{
	uint64_t alive = lengths_since(p->lengths, p->intervals,
				       page->first_interval);
	struct page_history h = page_history(p, page);
	uint64_t other = h.accesses - h.late_writes;
	uint64_t least = other > h.late_writes ? other : h.late_writes;

	if (page->flags & PAGE_UNWATCHED)
		return;
	if (p->intervals - page->first_interval < ALIVE_MIN ||
	    page->flags & PAGE_RECYCLED)
		return;
	if (2 * least >= alive) {
		if (!o->hot_pages++)
			o->hot_first = i;
		o->hot_last = i;
	} else if (10 * (uint64_t)h.accesses <= alive) {
		o->cold_pages++;
		o->cold_accesses += page->accesses;
	}
}

const struct pass moca_pass_temperature = {
	.name = "temperature", .page = page_,
};
