// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which thread is where. On a what-if machine a process' threads that live at
 * one time are spread over the CPUs in the order in which they began, as
 * OMP_PROC_BIND=spread would, and so are processes of one thread each: what the
 * scheduler did on another machine, with the recorder beside it, says nothing about
 * this one.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/profile/passes.h"

#define LANES_PER_NODE 8
/*
 * A thread that never does more than this share of what the busiest does. In its
 * busiest interval: who prepares all, or lives shortly, has few records of all.
 */
#define HELPER 20

/* Of a task, or of a process with one thread at a time. */
struct life {
	const struct moca_task *task;
	uint64_t start_ns, end_ns;	/* the end: UINT64_MAX = not told */
	uint64_t work;		/* records of an interval by their weight, or
				   counts */
	uint32_t slot;		/* place among those that live with it */
};

static int by_start(const void *a, const void *b)
{
	const struct life *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->task->id < y->task->id ? -1 : x->task->id > y->task->id;
}

static int by_process(const void *a, const void *b)
{
	const struct moca_task *x = ((const struct life *)a)->task;
	const struct moca_task *y = ((const struct life *)b)->task;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return by_start(a, b);
}
/* How much each task does, by task number; NULL: no memory, or *err. */
static uint64_t *find_work(const struct moca_profile *p, struct moca_trace *t,
			   int *err)
{
	uint64_t *work = calloc((size_t)p->tasks + 1, sizeof(*work));
	size_t i, n = moca_trace_task_count(t);
	const struct moca_task *x;

	*err = work ? lengths_peaks(t, work, p->tasks) : -ENOMEM;
	for (i = 0; !*err && i < n; i++) {
		x = moca_trace_task(t, i);
		if (!work[x->id])
			work[x->id] = x->loads + x->stores;
	}
	if (!*err)
		return work;
	free(work);
	return NULL;
}

/* Give each a slot; by their begins. How many there are; 0: no memory. */
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
			if (free_at[s] <= l[i].start_ns)
				break;
		free_at[s] = l[i].end_ns;
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
	each = each ? each : 1;
	p->lanes = nodes * each;
	for (unsigned lane = 0; lane < p->lanes; lane++)
		p->node_of_lane[lane] = (uint8_t)(lane / each);
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

/* All tasks of a process that has one at a time, as one life. */
static struct life life_of_process(const struct life *l, size_t n)
{
	struct life all = l[0];
	size_t i;

	for (i = 1; i < n; i++) {
		if (all.end_ns < l[i].end_ns)
			all.end_ns = l[i].end_ns;
		if (all.work < l[i].work)
			all.work = l[i].work;
	}
	return all;
}

/*
 * Processes of one thread at a time are spread as the threads of one are: alone has
 * one life of each, in which .task is its first in l. How many there are of them at a
 * time; 0: no memory.
 */
static uint32_t spread_processes(struct life *l, size_t n, uint32_t *slots,
				 struct life *alone, size_t count)
{
	uint32_t found;
	size_t i, k;

	if (!count)
		return 1;
	qsort(alone, count, sizeof(*alone), by_start);
	found = find_slots(alone, count);
	for (k = 0; found && k < count; k++) {
		const struct life *first = bsearch(&alone[k], l, n, sizeof(*l),
						   by_process);

		for (i = (size_t)(first - l);
		     i < n && l[i].task->pid == alone[k].task->pid; i++) {
			l[i].slot = alone[k].slot;
			slots[i] = found;
		}
	}
	return found;
}

static int deal_slots(struct life *l, size_t n, uint32_t *slots, uint32_t *most)
{
	struct life *alone = calloc(n + 1, sizeof(*alone));
	size_t i, first, k, count = 0;
	int err = alone ? 0 : -ENOMEM;
	uint32_t found;

	*most = 1;
	qsort(l, n, sizeof(*l), by_process);
	for (first = 0; !err && first < n; first = i) {
		for (i = first; i < n; i++)
			if (l[i].task->pid != l[first].task->pid)
				break;
		found = find_slots(l + first, i - first);
		if (!found)
			err = -ENOMEM;
		for (k = first; k < i; k++)
			slots[k] = found;
		if (found == 1)
			alone[count++] = life_of_process(l + first, i - first);
		if (*most < found)
			*most = found;
	}
	found = err ? 1 : spread_processes(l, n, slots, alone, count);
	if (!found)
		err = -ENOMEM;
	if (*most < found)
		*most = found;
	free(alone);
	return err;
}

static void begin_lives(struct moca_profile *p, struct moca_trace *t,
			struct life *l, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		l[i].task = moca_trace_task(t, i);
		l[i].start_ns = l[i].task->start_ns;
		l[i].end_ns = l[i].task->end_ns ? l[i].task->end_ns : UINT64_MAX;
		if (p->tasks <= l[i].task->id)
			p->tasks = l[i].task->id + 1;
	}
}

int moca_profile_place(struct moca_profile *p, struct moca_trace *t)
{
	size_t n = moca_trace_task_count(t), i;
	struct life *l = calloc(n + 1, sizeof(*l));
	uint32_t *slots = calloc(n + 1, sizeof(*slots)), most;
	uint64_t *work = NULL;
	int err = -ENOMEM;

	if (!l || !slots)
		goto out;
	begin_lives(p, t, l, n);
	work = find_work(p, t, &err);
	if (!work)
		goto out;
	for (i = 0; i < n; i++)
		l[i].work = work[l[i].task->id];
	err = -ENOMEM;
	p->lane_of = calloc(p->tasks + 1, 1);
	p->cpu_of = calloc(p->tasks + 1, sizeof(*p->cpu_of));
	if (p->lane_of && p->cpu_of)
		err = deal_slots(l, n, slots, &most);
	if (err)
		goto out;
	set_lanes(p, most);
	deal(p, l, n, slots);
out:
	free(l);
	free(slots);
	free(work);
	return err;
}
