// SPDX-License-Identifier: GPL-2.0-or-later
/* From which nodes each task accesses memory, and how often it changes the node. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/profile/passes.h"

#define NONE UINT16_MAX

int moves_begin(struct moca_profile *p)
{
	uint32_t i;

	if (p->topology.what_if || p->topology.nodes < 2)
		return 0;
	p->task_nodes = calloc((size_t)p->tasks + 1, sizeof(*p->task_nodes));
	if (!p->task_nodes)
		return -ENOMEM;
	for (i = 0; i <= p->tasks; i++)
		p->task_nodes[i].last = NONE;
	return 0;
}

void moves_take(struct moca_profile *p, const struct moca_observed *x)
{
	struct moca_task_nodes *t = &p->task_nodes[x->task];
	int node = moca_topology_cpu_node(&p->topology, x->cpu);

	if (node < 0 || node >= MOCA_TOPOLOGY_NODES)
		return;
	t->moves += t->last != NONE && t->last != node;
	t->last = (uint16_t)node;
	t->accesses[node]++;
}
