// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading the trace for the report: intervals first, then each access. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/observers.h"
#include "analysis/trace.h"
#include "lib/format/trace.h"
#include "report/html/report.h"

#define MAX_INTERVALS 4096u
#define HEAT_CELLS 3000000u	/* 32 bytes each, in tables that are half full */
#define DENSITY_CELLS 1000000u
#define MAX_CPUS 1024u
#define FEW_HITS 64u

/* --- the intervals ------------------------------------------------------ */

/* Make two neighbours one, all over. */
static void join_intervals(struct report *r)
{
	struct report_interval *a, *b;
	size_t i;

	for (i = 0; 2 * i < r->interval_count; i++) {
		a = &r->intervals[i];
		*a = r->intervals[2 * i];
		if (2 * i + 1 == r->interval_count)
			continue;
		b = &r->intervals[2 * i + 1];
		if (!b->end_ns)
			continue;
		if (!a->end_ns) {
			*a = *b;
			continue;
		}
		if (b->begin_ns < a->begin_ns)
			a->begin_ns = b->begin_ns;
		if (b->end_ns > a->end_ns)
			a->end_ns = b->end_ns;
		a->reads += b->reads;
		a->writes += b->writes;
		a->other += b->other;
		a->lost += b->lost;
	}
	memset(r->intervals + i, 0,
	       (MAX_INTERVALS - i) * sizeof(*r->intervals));
	r->interval_count = i;
	r->intervals_joined *= 2;
}

static void add_chunk(struct report *r, const struct moca_chunk *c)
{
	struct report_interval *x;

	if (!r->end_ns || c->begin_ns < r->begin_ns)
		r->begin_ns = c->begin_ns;
	if (c->end_ns >= r->end_ns)
		r->end_ns = c->end_ns + 1;
	while (c->interval / r->intervals_joined >= MAX_INTERVALS)
		join_intervals(r);
	x = &r->intervals[c->interval / r->intervals_joined];
	if (c->interval / r->intervals_joined >= r->interval_count)
		r->interval_count = c->interval / r->intervals_joined + 1;
	if (!x->end_ns || c->begin_ns < x->begin_ns)
		x->begin_ns = c->begin_ns;
	if (c->end_ns > x->end_ns)
		x->end_ns = c->end_ns;
	x->reads += c->reads;
	x->writes += c->writes;
	x->other += c->count - c->reads - c->writes;
	x->lost += c->lost;
}

static int read_intervals(struct report *r)
{
	const struct moca_chunk *c;
	struct moca_cursor *cursor;
	int ret;

	r->intervals_joined = 1;
	r->intervals = calloc(MAX_INTERVALS, sizeof(*r->intervals));
	if (!r->intervals)
		return -ENOMEM;
	ret = moca_cursor_open(&cursor, r->trace, NULL);
	if (ret)
		return ret;
	moca_chunks_only(cursor);
	while ((ret = moca_cursor_chunk(cursor, &c)) > 0)
		add_chunk(r, c);
	moca_cursor_close(cursor);
	return ret;
}

/* --- each access -------------------------------------------------------- */

/* What one access adds. */
struct hit {
	uint32_t key;
	struct moca_grid_cell cell;	/* of heat */
};

/* The same for density, which tells neither times nor nodes. */
static struct moca_grid_cell density_of(const struct hit *h)
{
	struct moca_grid_cell c = h->cell;

	c.bin = 0;
	c.node = c.flags = 0;
	return c;
}

/*
 * Who walks over memory comes to pages of one cell in turn: these are looked for once.
 * How many hits are left. Cells get coarser only, so that what is one cell stays one.
 */
static size_t join_hits(const struct moca_grids *s, struct hit *hits, size_t n)
{
	size_t i, k = 0;

	for (i = 1; i < n; i++)
		if (hits[i].key != hits[k].key ||
		    !moca_grids_join(s, hits[k].key, &hits[k].cell,
				     &hits[i].cell))
			hits[++k] = hits[i];
	return n ? k + 1 : 0;
}

/* Some at a time, as what each needs is far apart in memory. */
static int count_in(struct moca_grids *s, struct hit *hits, size_t n)
{
	size_t i;
	int err = 0;

	n = join_hits(s, hits, n);
	for (i = 0; i < n; i++)
		moca_grids_prefetch(s, hits[i].key, &hits[i].cell);
	for (i = 0; !err && i < n; i++)
		err = moca_grids_add(s, hits[i].key, &hits[i].cell);
	return err;
}

static int count_hits(struct report *r, struct hit *hits, size_t n)
{
	struct hit density[FEW_HITS];
	size_t i;
	int err;

	for (i = 0; i < n; i++)
		density[i] = (struct hit){ hits[i].key, density_of(&hits[i]) };
	err = count_in(&r->heat, hits, n);
	return err ? err : count_in(&r->density, density, n);
}

static int start_thread(struct report_thread *t)
{
	t->reads = calloc(3 * REPORT_RATE_BINS, sizeof(*t->reads));
	t->cpu = malloc(REPORT_RATE_BINS * sizeof(*t->cpu));
	t->on_cpu = calloc(MAX_CPUS, sizeof(*t->on_cpu));
	if (!t->reads || !t->cpu || !t->on_cpu)
		return -ENOMEM;
	t->writes = t->reads + REPORT_RATE_BINS;
	t->other = t->writes + REPORT_RATE_BINS;
	memset(t->cpu, 0xff, REPORT_RATE_BINS * sizeof(*t->cpu));
	return 0;
}

/*
 * The bin of a time. Accesses come nearly in order of time, so it is nearly
 * always that of the one before, which costs no division.
 */
static uint32_t bin_of(struct report_bins *b, uint64_t at, uint64_t length)
{
	if (at >= b->begin && at < b->end)
		return b->bin;
	b->bin = (uint32_t)(at * b->count / length);
	/* The first and the last time with at * count / length == bin. */
	b->begin = ((uint64_t)b->bin * length + b->count - 1) / b->count;
	b->end = (((uint64_t)b->bin + 1) * length + b->count - 1) / b->count;
	return b->bin;
}

static void count_rate(struct report *r, struct report_thread *t,
		       const struct moca_observed *a, uint64_t at)
{
	size_t bin = bin_of(&r->rate_bin, at, r->end_ns - r->begin_ns);

	if (!t->reads && start_thread(t)) {
		r->error = -ENOMEM;
		return;
	}
	t->accesses += a->weight;
	if (a->type == MOCA_ACCESS_WRITE)
		t->writes[bin] += a->weight;
	else if (a->type == MOCA_ACCESS_UNKNOWN)
		t->other[bin] += a->weight;
	else
		t->reads[bin] += a->weight;
	if (a->cpu < MAX_CPUS) {
		t->cpu[bin] = a->cpu;
		t->on_cpu[a->cpu]++;
		if (a->cpu >= r->max_cpu)
			r->max_cpu = a->cpu + 1u;
	}
}

/* On which node the page is, and whether the CPU is on another. */
static void set_node(const struct report *r, const struct moca_observed *a,
		     struct moca_grid_cell *c)
{
	const struct report_topology *t = &r->topology;

	c->node = REPORT_NO_NODE;
	if (a->node < 0)
		return;
	c->node = a->node < (int)REPORT_NO_NODE ? (uint8_t)a->node :
						  REPORT_NO_NODE - 1;
	if (!t->what_if && a->cpu < t->cpu_count && t->node_of_cpu[a->cpu] >= 0)
		c->flags = t->node_of_cpu[a->cpu] != a->node ? REPORT_REMOTE :
							       0;
}

/* Count its rate, and say what it adds to the grids. 1; 0: it is not ours. */
static int look(struct report *r, const struct moca_observed *a, struct hit *h)
{
	uint64_t length = r->end_ns - r->begin_ns, at;
	uint32_t index;

	if (a->task >= r->task_ids)
		return 0;
	index = r->task_index[a->task];
	at = a->time_ns < r->begin_ns ? 0 : a->time_ns - r->begin_ns;
	if (at >= length)
		at = length - 1;
	count_rate(r, &r->threads[index], a, at);
	/* A first touch outside of the sample: a cell has accesses. */
	if (!a->weight)
		return 0;
	h->key = a->key;
	h->cell = (struct moca_grid_cell){
		.group = a->addr >> 12,
		.bin = bin_of(&r->heat_bin, at, length),
		.thread = (uint16_t)(index < REPORT_THREADS ? index :
							      REPORT_THREADS),
		.first = (uint32_t)((double)at * r->first_scale),
	};
	if (a->type == MOCA_ACCESS_WRITE)
		h->cell.writes = a->weight;
	else if (a->type == MOCA_ACCESS_UNKNOWN)
		h->cell.other = a->weight;
	else
		h->cell.reads = a->weight;
	set_node(r, a, &h->cell);
	return 1;
}

/* In a thread of its own: the grids and rates are that one's until it ends. */
static void take(void *arg, const struct moca_observed *x, size_t count)
{
	struct report *r = arg;
	struct hit hits[FEW_HITS];
	size_t i, n = 0;

	for (i = 0; i < count && !r->error; i++) {
		n += (size_t)look(r, &x[i], &hits[n]);
		if (n < FEW_HITS && i + 1 < count)
			continue;
		if (!r->error)
			r->error = count_hits(r, hits, n);
		n = 0;
	}
	if (!r->error)
		r->error = moca_uses_add(&r->uses, x, count);
}

static int index_tasks(struct report *r)
{
	size_t i, n = moca_trace_task_count(r->trace);

	r->task_ids = n ? (size_t)moca_trace_task(r->trace, n - 1)->id + 1 : 0;
	r->task_index = calloc(r->task_ids + 1, sizeof(*r->task_index));
	r->threads = calloc(n + 1, sizeof(*r->threads));
	if (!r->task_index || !r->threads)
		return -ENOMEM;
	r->thread_count = n;
	for (i = 0; i < n; i++) {
		r->threads[i].task = moca_trace_task(r->trace, i);
		r->task_index[r->threads[i].task->id] = (uint32_t)i;
	}
	return 0;
}

/* The walk, with two that look on: the report's own counts and the summary. */
static int walk(struct report *r)
{
	struct moca_observers *observers = moca_observers_new();
	struct moca_objects_options opt = {
		.size = sizeof(opt),
		.instances = 1,
		.observe = moca_observers_put,
		.observe_arg = observers,
		.counted = moca_counts_add,
		.counted_arg = r->counts,
		.heap_stacks = 1,
	};
	int err;

	if (!observers)
		return -ENOMEM;
	err = moca_observers_add(observers, take, r);
	if (!err && r->profile_walk)
		err = moca_observers_add(observers, moca_profile_take,
					 r->profile_walk);
	if (!err)
		err = moca_objects_compute(&r->objects, r->trace, &opt);
	moca_observers_end(observers);
	return err ? err : r->error;
}

static int prepare(struct report *r)
{
	int err;

	r->origin = trace_origin(r->trace);
	err = index_tasks(r);
	if (!err)
		err = read_intervals(r);
	if (err)
		return err;
	if (r->end_ns <= r->begin_ns)
		r->end_ns = r->begin_ns + 1;
	r->first_scale = (double)UINT32_MAX / (r->end_ns - r->begin_ns);
	r->heat_bin.count = 1u << REPORT_BINS_LOG2;
	r->rate_bin.count = REPORT_RATE_BINS;
	moca_grids_init(&r->heat, REPORT_BINS_LOG2, HEAT_CELLS);
	moca_grids_init(&r->density, 0, DENSITY_CELLS);
	r->counts = malloc(sizeof(*r->counts));
	if (!r->counts)
		return -ENOMEM;
	moca_counts_init(r->counts, r->trace);
	return 0;
}

int report_walk(struct report *r)
{
	int err = prepare(r);

	if (!err)
		err = walk(r);
	if (!err)
		err = moca_counts_finish(r->counts, r->objects);
	if (err)
		return err;
	moca_objects_totals(r->objects, &r->totals);
	/* The time that there is, where chunks have none. */
	if (r->totals.exact_only) {
		r->begin_ns = r->counts->begin_ns;
		r->end_ns = r->counts->end_ns + 1;
	}
	return 0;
}

void report_walk_free(struct report *r)
{
	size_t i;

	for (i = 0; i < r->thread_count; i++) {
		free(r->threads[i].reads);
		free(r->threads[i].cpu);
		free(r->threads[i].on_cpu);
	}
	free(r->threads);
	free(r->task_index);
	free(r->intervals);
	moca_grids_free(&r->heat);
	moca_grids_free(&r->density);
	moca_uses_free(&r->uses);
	free(r->wanted);
	if (r->profile_walk)
		moca_profile_end(&r->profile, r->profile_walk, NULL);
	/* Which owns them. */
	if (r->profile) {
		if (r->profile->counts == r->counts)
			r->counts = NULL;
		moca_profile_free(r->profile);
	} else {
		moca_objects_free(r->objects);
	}
	if (r->counts)
		moca_counts_free(r->counts);
	free(r->counts);
}
