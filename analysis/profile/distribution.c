// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Accesses per lane over the pages of each object, in parts of equal numbers of
 * pages; and how many runs of neighbouring pages have one main user.
 */
#include "analysis/profile/passes.h"

/* Runs are told from noise by the parts: one lane has most of each. */
static void count_runs(const struct moca_profile *p,
		       struct moca_profile_object *o)
{
	unsigned part, lane, best, last = UINT32_MAX;
	const uint32_t *use;

	for (part = 0; o->parts && part < MOCA_PROFILE_PARTS; part++) {
		use = o->parts + (size_t)part * p->lanes;
		for (best = 0, lane = 1; lane < p->lanes; lane++)
			if (use[lane] > use[best])
				best = lane;
		if (!use[best] || best == last)
			continue;
		o->runs++;
		last = best;
	}
}

static void page_(const struct moca_profile *p, struct moca_profile_object *o,
		  const struct page *page, uint64_t number, size_t i, size_t n)
{
	unsigned part = (unsigned)(i * MOCA_PROFILE_PARTS / n), lane;
	uint64_t sum = 0, use;
	uint32_t *to = o->parts + (size_t)part * p->lanes;

	if (page_counts(page))
		o->part_first[part] = page->first_lane;
	for (lane = 0; lane < p->lanes; lane++)
		sum += page->use[lane];
	for (lane = 0; lane < p->lanes; lane++) {
		/* In proportion: see struct page. */
		use = sum ? (uint64_t)page->accesses * page->use[lane] / sum :
			    0;
		o->use[lane] += use;
		to[lane] = to[lane] + use > UINT32_MAX ?
			   UINT32_MAX : to[lane] + (uint32_t)use;
	}
}

const struct pass moca_pass_distribution = {
	.name = "distribution", .page = page_, .object = count_runs,
};
