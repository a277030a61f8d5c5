// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which thread is where. On a what-if machine a process' threads that live at
 * one time are spread over the CPUs in the order in which they began, as
 * OMP_PROC_BIND=spread would: what the scheduler did on another machine, with
 * the recorder beside it, says nothing about this one.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/profile/passes.h"

#define LANES_PER_NODE 8
/* A thread with fewer accesses than this share of its process' busiest. */
#define HELPER 20

struct life {
	const struct moca_task *task;
	uint64_t work;		/* records by their weight, or counts */
	uint32_t slot;		/* place among those that live with it */
};

static int by_process(const void *a, const void *b)
{
	const struct moca_task *x = ((const struct life *)a)->task;
	const struct moca_task *y = ((const struct life *)b)->task;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* How much each task does, by task number; NULL: no memory, or *err. */
static uint64_t *find_work(const struct moca_profile *p, struct moca_trace *t,
			   const struct lengths *lengths, int *err)
{
	uint64_t *work = calloc((size_t)p->tasks + 1, sizeof(*work));
	size_t i, n = moca_trace_task_count(t);
	const struct moca_task *x;

	*err = work ? 0 : -ENOMEM;
	if (work && lengths && lengths->count)
		*err = lengths_work(lengths, t, work, p->tasks);
	for (i = 0; !*err && i < n; i++) {
		x = moca_trace_task(t, i);
		if (!work[x->id])
			work[x->id] = x->weight ? x->weight :
						  x->loads + x->stores;
	}
	if (!*err)
		return work;
	free(work);
	return NULL;
}

/* Of one process: give each thread a slot. How many there are; 0: no memory. */
static uint32_t find_slots(struct life *l, size_t n)
{
	uint64_t *free_at = calloc(n, sizeof(*free_at)), most = 0;
	uint32_t slots = 1, s;
	size_t i;

	if (!free_at)
		return 0;
	for (i = 0; i < n; i++)
		if (l[i].work > most)
			most = l[i].work;
	for (i = 0; i < n; i++) {
		/* Helpers that do next to nothing take no one's place. */
		if (l[i].work < most / HELPER)
			continue;
		for (s = 0; s < n - 1; s++)
			if (free_at[s] <= l[i].task->start_ns)
				break;
		free_at[s] = l[i].task->end_ns ? l[i].task->end_ns :
						 UINT64_MAX;
		l[i].slot = s;
		if (slots <= s)
			slots = s + 1;
	}
	free(free_at);
	return slots;
}

static unsigned cpu_of_slot(const struct moca_topology *t, uint32_t s,
			    uint32_t n)
{
	return (unsigned)((uint64_t)s * t->cpus / n);
}

/* Slot s of n: its node, and which of that node's slots it is. */
static unsigned node_of_slot(const struct moca_topology *t, uint32_t s,
			     uint32_t n)
{
	int node = moca_topology_cpu_node(t, cpu_of_slot(t, s, n));

	return node < 0 ? 0 : (unsigned)node;
}

static unsigned lane_of_slot(const struct moca_profile *p, uint32_t s,
			     uint32_t n)
{
	unsigned each = p->lanes / p->topology.nodes, rank = 0;
	unsigned node = node_of_slot(&p->topology, s, n);
	uint32_t i;

	for (i = 0; i < s; i++)
		rank += node_of_slot(&p->topology, i, n) == node;
	return node * each + rank % each;
}

static void set_lanes(struct moca_profile *p, uint32_t threads)
{
	unsigned nodes = p->topology.nodes, each;

	each = (threads + nodes - 1) / nodes;
	if (each > LANES_PER_NODE)
		each = LANES_PER_NODE;
	if (each > MOCA_PROFILE_LANES / nodes)
		each = MOCA_PROFILE_LANES / nodes;
	p->lanes = nodes * (each ? each : 1);
	p->threads = threads;
}

static void deal(struct moca_profile *p, const struct life *l, size_t n,
		 const uint32_t *slots)
{
	size_t i;

	for (i = 0; i < n; i++) {
		p->lane_of[l[i].task->id] = (uint8_t)lane_of_slot(p, l[i].slot,
								  slots[i]);
		p->cpu_of[l[i].task->id] = (uint16_t)cpu_of_slot(
				&p->topology, l[i].slot, slots[i]);
	}
}

int moca_profile_place(struct moca_profile *p, struct moca_trace *t,
		       const struct lengths *lengths)
{
	size_t n = moca_trace_task_count(t), i, first, k;
	struct life *l = calloc(n + 1, sizeof(*l));
	uint32_t *slots = calloc(n + 1, sizeof(*slots)), most = 1, found;
	uint64_t *work = NULL;
	int err = -ENOMEM;

	for (i = 0; l && i < n; i++) {
		l[i].task = moca_trace_task(t, i);
		if (p->tasks <= l[i].task->id)
			p->tasks = l[i].task->id + 1;
	}
	if (l && slots)
		work = find_work(p, t, lengths, &err);
	if (!work)
		goto out;
	for (i = 0; i < n; i++)
		l[i].work = work[l[i].task->id];
	err = -ENOMEM;
	p->lane_of = calloc(p->tasks + 1, 1);
	p->cpu_of = calloc(p->tasks + 1, sizeof(*p->cpu_of));
	if (!p->lane_of || !p->cpu_of)
		goto out;
	qsort(l, n, sizeof(*l), by_process);
	for (first = 0; first < n; first = i) {
		for (i = first; i < n; i++)
			if (l[i].task->pid != l[first].task->pid)
				break;
		found = find_slots(l + first, i - first);
		if (!found)
			goto out;
		for (k = first; k < i; k++)
			slots[k] = found;
		if (most < found)
			most = found;
	}
	set_lanes(p, most);
	deal(p, l, n, slots);
	err = 0;
out:
	free(l);
	free(slots);
	free(work);
	return err;
}
