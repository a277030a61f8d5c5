// SPDX-License-Identifier: GPL-2.0-or-later
/* Who touches which pages first, and where in the program. */
#include "analysis/profile/internal.h"

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
	unsigned node;

	if (!s->is_new)
		return;
	node = moca_profile_node(g->p, s->lane);
	/* What the kernel says of the page is better than what it would do. */
	if (!g->p->topology.what_if && s->x->node >= 0 &&
	    s->x->node < (int)g->p->topology.nodes)
		node = (unsigned)s->x->node;
	s->page->home = (uint8_t)node;
	s->page->first_lane = (uint8_t)s->lane;
	s->page->first_interval = (uint32_t)s->x->interval;
	if (s->row->touches_in)
		s->row->touches_in[s->window]++;
	vote(s->row, s->x);
}

static void page_(const struct moca_profile *p, struct moca_profile_object *o,
		  const struct page *page, uint64_t number, size_t i, size_t n)
{
	o->first[page->first_lane]++;
	o->homes[page->home]++;
	o->served[page->home] += page->accesses;
}

const struct pass moca_pass_first_touch = {
	.name = "first touch", .access = access_, .page = page_,
};
