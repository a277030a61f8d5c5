// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whose pages are. A page that two threads use is shared when their times of
 * use intersect: one came back to it after the other. Once is not enough: who
 * prepares a page and later reads the result comes back once. Threads that all
 * walk over it use it equally often.
 */
#include "analysis/profile/passes.h"

#define RETURNS_MIN 2

static void access_(struct gather *g, const struct seen *s)
{
	struct page *page = s->page;

	if (!s->is_new && page->last_lane != s->lane && page->use[s->lane] &&
	    page->users & 1u << s->lane % 8 &&
	    page->returns < UINT8_MAX)
		page->returns++;
}

static void page_(const struct moca_profile *p, struct moca_profile_object *o,
		  const struct page *page, uint64_t number, size_t i, size_t n)
{
	unsigned all = p->threads < p->lanes ? p->threads : p->lanes;
	unsigned lane, users = 0, most = 0, least = UINT16_MAX;
	/* What one record may add. */
	unsigned one = p->lengths->unit * (p->top_weight ? p->top_weight : 1) /
		       p->lengths->use_unit;

	for (lane = 0; lane < p->lanes; lane++) {
		if (!page->use[lane])
			continue;
		users++;
		most = page->use[lane] > most ? page->use[lane] : most;
		least = page->use[lane] < least ? page->use[lane] : least;
	}
	o->visits += page->visits;
	if (page->flags & PAGE_UNWATCHED)
		return;
	o->watched_visits += page->visits;
	o->returns += page->returns ? page->returns - 1u : 0;
	if (page->returns >= RETURNS_MIN)
		o->shared_accesses += page->accesses;
	if (!page_counts(page))
		return;
	if (users < 2) {
		o->private_pages++;
	} else if (page->returns < RETURNS_MIN) {
		o->migratory_pages++;
	} else {
		o->shared_pages++;
		o->even_pages += 10 * users >= 8 * all &&
				 most - least <= one + most / 8;
	}
}

const struct pass moca_pass_sharing = {
	.name = "sharing", .access = access_, .page = page_,
};
