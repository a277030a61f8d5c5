// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How often pages are used, by the intervals since their first one in which they are:
 * the most likely rate (lengths.c). By the share of time that these intervals take,
 * one of half a second made all pages hot that are used four times a second.
 */
#include <math.h>

#include "analysis/profile/passes.h"

/* Fewer intervals say nothing of how seldom it is. */
#define ALIVE_MIN 10

static void access_(struct gather *g, const struct seen *s)
{
	struct page_history *h = page_history(g->p, s->page);
	const struct lengths *l = &g->lengths;
	uint64_t i = s->x->interval;

	if (!l->uses || (!s->is_new && i <= s->page->last_interval))
		return;
	h->seldom += i < l->count ? l->uses[i].seldom : 1 / LENGTHS_SELDOM;
	h->often += i < l->count ? l->uses[i].often : 1 / LENGTHS_OFTEN;
}

/* In intervals of median length, as which those behind the last records count. */
static double alive(const struct moca_profile *p, uint64_t first)
{
	const struct lengths *l = p->lengths;

	if (!l->uses || first >= l->count)
		return (double)(p->intervals - first);
	return l->uses[first].since + (p->intervals > l->count ?
				       (double)(p->intervals - l->count) : 0);
}

static void page_(const struct moca_profile *p, struct moca_profile_object *o,
		  const struct page *page, uint64_t number, size_t i, size_t n)
{
	const struct page_history *h = page_history(p, page);
	uint64_t first = page->first_interval;
	double seldom, often, since;

	if (page->flags & (PAGE_UNWATCHED | PAGE_RECYCLED) ||
	    p->intervals < first + ALIVE_MIN)
		return;
	since = alive(p, first);
	seldom = p->lengths->uses ? h->seldom : page->visits / LENGTHS_SELDOM;
	often = p->lengths->uses ? h->often : page->visits / LENGTHS_OFTEN;
	if (often >= since) {
		if (!o->hot_pages++)
			o->hot_first = i;
		o->hot_last = i;
	} else if (seldom <= since) {
		o->cold_pages++;
		o->cold_accesses += page->accesses;
	}
}

/* At the rate at which such a share of the intervals of median length has a use. */
static uint64_t between(double median_ns, double share)
{
	return (uint64_t)(median_ns / -log1p(-share));
}

void temperature_times(struct gather *g)
{
	struct moca_profile *p = g->p;
	double ns = g->lengths.median_ns;

	if (ns <= 0 && p->intervals)
		ns = 1e9 * moca_profile_seconds(p) / (double)p->intervals;
	p->hot_ns = between(ns, LENGTHS_OFTEN);
	p->cold_ns = between(ns, LENGTHS_SELDOM);
}

const struct pass moca_pass_temperature = {
	.name = "temperature", .access = access_, .page = page_,
};
