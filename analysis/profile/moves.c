// SPDX-License-Identifier: GPL-2.0-or-later
/* From which nodes each task accesses memory, and how often it changes the node. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/profile/passes.h"

int moves_begin(struct moca_profile *p)
{
	if (p->topology.what_if || p->topology.nodes < 2)
		return 0;
	p->task_nodes = calloc((size_t)p->tasks + 1, sizeof(*p->task_nodes));
	return p->task_nodes ? 0 : -ENOMEM;
}

void moves_take(struct moca_profile *p, const struct moca_observed *x,
		unsigned weight)
{
	struct moca_task_nodes *t = &p->task_nodes[x->task];
	int node = moca_topology_cpu_node(&p->topology, x->cpu);

	if (node < 0 || node >= MOCA_TOPOLOGY_NODES)
		return;
	t->moves += t->last && t->last != node + 1;
	t->last = (uint16_t)(node + 1);
	t->accesses[node] += weight;
}
