// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/info/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int nodes_init(struct nodes_table *n, const struct moca_trace *t)
{
	*n = (struct nodes_table){ .machine = moca_trace_machine(t),
				   .task_count = moca_trace_task_count(t) };
	n->tasks = calloc(n->task_count + 1, sizeof(*n->tasks));
	if (n->machine)
		n->nodes = calloc(n->machine->node_count + 1,
				  sizeof(*n->nodes));
	return n->tasks && (!n->machine || n->nodes) ? 0 : -ENOMEM;
}

int nodes_add(struct nodes_table *n, size_t task, uint32_t owner,
	      uint64_t page, const struct moca_access *a)
{
	int home = -1, from = -1, ret;

	if (n->machine) {
		home = moca_machine_node(n->machine, a->node);
		from = moca_machine_node(n->machine, moca_machine_cpu_node(
						n->machine, a->cpu));
	}
	if (from >= 0)
		n->nodes[from].from += a->weight;
	if (home >= 0) {
		n->nodes[home].accesses += a->weight;
		ret = page_set_add(&n->nodes[home].pages, owner, page);
		if (ret < 0)
			return ret;
	}
	if (home < 0 || from < 0) {
		n->total.unknown += a->weight;
		n->tasks[task].unknown += a->weight;
	} else if (home != from) {
		n->nodes[home].remote += a->weight;
		n->total.remote += a->weight;
		n->tasks[task].remote += a->weight;
	} else {
		n->total.local += a->weight;
		n->tasks[task].local += a->weight;
	}
	return 0;
}

void nodes_free(struct nodes_table *n)
{
	size_t i;

	for (i = 0; n->nodes && i < n->machine->node_count; i++)
		page_set_free(&n->nodes[i].pages);
	free(n->nodes);
	free(n->tasks);
	memset(n, 0, sizeof(*n));
}
