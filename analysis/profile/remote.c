// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How many accesses would come from another node than the page's, with the
 * pages placed in different ways. The accesses are those that were seen: how
 * often the page was used in how many intervals, not how many cache misses.
 */
#include "analysis/profile/passes.h"

static void access_(struct gather *g, const struct seen *s)
{
	const struct moca_topology *t = &g->p->topology;
	int page = s->page->home, cpu = (int)moca_profile_node(g->p, s->lane);

	if (!t->what_if) {
		page = moca_topology_node(t, s->x->node);
		cpu = moca_topology_cpu_node(t, s->x->cpu);
		if (page < 0 || cpu < 0) {
			s->row->unknown += s->weight;
			return;
		}
		s->row->remote += page != cpu ? s->weight : 0;
	}
	if (s->row->remote_in && page != cpu)
		s->row->remote_in[s->window] += s->x->weight;
}

static void page_(const struct moca_profile *p, struct moca_profile_object *o,
		  const struct page *page, uint64_t number, size_t i, size_t n)
{
	uint64_t on[MOCA_TOPOLOGY_NODES] = { 0 }, sum = 0, best = 0;
	unsigned lane, node;

	for (lane = 0; lane < p->lanes; lane++) {
		on[moca_profile_node(p, lane)] += page->use[lane];
		sum += page->use[lane];
	}
	if (!sum)
		return;
	for (node = 0; node < p->topology.nodes; node++)
		if (on[node] > best)
			best = on[node];
	if (p->topology.what_if)
		o->remote[MOCA_POLICY_FIRST_TOUCH] +=
			page->accesses * (sum - on[page->home]) / sum;
	o->remote[MOCA_POLICY_INTERLEAVE] +=
		page->accesses *
		(sum - on[number % p->topology.nodes]) / sum;
	/* By few records of a page one of its nodes looks better than it is. */
	if (!(page->flags & PAGE_UNWATCHED))
		o->remote[MOCA_POLICY_PARALLEL_INIT] +=
			page->accesses * (sum - best) / sum;
}

static void object_(const struct moca_profile *p,
		    struct moca_profile_object *o)
{
	uint64_t on[MOCA_TOPOLOGY_NODES] = { 0 }, sum = 0, best = 0;
	unsigned lane, node;

	for (lane = 0; lane < p->lanes; lane++) {
		on[moca_profile_node(p, lane)] += o->use[lane];
		sum += o->use[lane];
	}
	for (node = 0; node < p->topology.nodes; node++)
		if (on[node] > best)
			best = on[node];
	o->remote[MOCA_POLICY_BIND] = sum - best;
	/* Not known by page: no better than in one place. */
	if (p->sampled && !o->watched_accesses)
		o->remote[MOCA_POLICY_PARALLEL_INIT] = sum - best;
	/* What is not known is as the rest; of nothing nothing is said. */
	if (o->unknown && o->unknown < o->accesses)
		o->remote[MOCA_POLICY_FIRST_TOUCH] =
			(uint64_t)((double)o->remote[MOCA_POLICY_FIRST_TOUCH] *
				   (double)o->accesses /
				   (double)(o->accesses - o->unknown));
}

const struct pass moca_pass_remote = {
	.name = "remote", .access = access_, .page = page_, .object = object_,
};
