// SPDX-License-Identifier: GPL-2.0-or-later
/* Who touches which pages first, and where in the program. */
#include "analysis/profile/passes.h"

/* The instruction with most first touches, by Boyer and Moore's vote. */
static void vote(struct row *r, const struct moca_observed *x)
{
	if (!r->touch_votes) {
		r->touch_ip = x->ip;
		r->touch_ns = x->time_ns;
		r->touch_task = x->task;
	}
	if (r->touch_ip == x->ip && r->touch_task == x->task)
		r->touch_votes++;
	else
		r->touch_votes--;
}

static void access_(struct gather *g, const struct seen *s)
{
	int node = moca_topology_node(&g->p->topology, s->x->node);

	if (g->p->topology.what_if)
		node = (int)moca_profile_node(g->p, s->lane);
	/*
	 * As recorded a page is where the kernel said, and only that: who touches
	 * first does not decide under each policy. It may move.
	 */
	if (node >= 0 && (s->is_placed || !g->p->topology.what_if))
		s->page->home = (uint8_t)node;
	else if (s->is_placed)
		s->page->home = MOCA_TOPOLOGY_NO_NODE;
	if (s->is_first && s->row->touches_in)
		s->row->touches_in[s->window]++;
	if (!s->is_new)
		return;
	s->page->first_lane = (uint8_t)s->lane;
	s->page->first_interval = (uint32_t)s->x->interval;
	vote(s->row, s->x);
}

static void page_(const struct moca_profile *p, struct moca_profile_object *o,
		  const struct page *page, uint64_t number, size_t i, size_t n)
{
	o->first[page->first_lane] += (uint64_t)page_counts(page);
	if (page->home == MOCA_TOPOLOGY_NO_NODE)
		return;
	o->homes[page->home] += (uint64_t)page_counts(page);
	o->served[page->home] += page->accesses;
}

const struct pass moca_pass_first_touch = {
	.name = "first touch", .access = access_, .page = page_,
};
