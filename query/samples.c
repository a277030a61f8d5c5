// SPDX-License-Identifier: GPL-2.0-or-later
#include "query/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/callers.h"
#include "analysis/flame.h"
#include "analysis/objects/objects.h"
#include "analysis/trace.h"
#include "lib/base/vec.h"
#include "query/pick.h"

const char *const query_sample_kinds[QUERY_SAMPLES] = {
	[QUERY_SAMPLE_ACCESSES] = "accesses",
	[QUERY_SAMPLE_READS] = "reads",
	[QUERY_SAMPLE_WRITES] = "writes",
	[QUERY_SAMPLE_TOUCHES] = "first-touches",
	[QUERY_SAMPLE_RECORDS] = "records",
	[QUERY_SAMPLE_ALLOCATED] = "allocated-bytes",
	[QUERY_SAMPLE_AT_PEAK] = "peak-bytes",
	[QUERY_SAMPLE_AT_END] = "end-bytes",
	[QUERY_SAMPLE_ALLOCATIONS] = "allocations",
};

static const uint8_t kind_bytes[QUERY_SAMPLES] = {
	[QUERY_SAMPLE_ALLOCATED] = 1,
	[QUERY_SAMPLE_AT_PEAK] = 1,
	[QUERY_SAMPLE_AT_END] = 1,
};

struct stacks {
	struct samples samples;	/* first */
	struct moca_trace *t;
	struct moca_flame flame;
	struct moca_objects *objects;	/* of allocations; NULL: not wanted */
	const struct moca_heap_stack *heap;
	size_t heap_count;
	struct moca_callers *callers;
	size_t at;		/* the next stack */
	uint32_t task;		/* whose names stand in samples */
	uint64_t values[QUERY_SAMPLES];
	uint32_t places[MOCA_STACK_FRAMES_MAX];
	struct samples_line *lines;	/* of the place that was asked for last */
	size_t line_room;
};

static int is_wanted(void *arg, size_t task, size_t n,
		     const struct moca_access *a)
{
	return query_pick_has(arg, task, n, a);
}

static int sum(struct stacks *s, const struct query_filter *f)
{
	const struct moca_query all = { .size = sizeof(all) };
	struct query_pick *pick;
	int err = query_pick_open(&pick, s->t, f, &all);
	const struct moca_flame_options o = {
		.by_task = 1, .by_time = 1, .by_code = f->by_code, .wants = is_wanted, .arg = err ? NULL : pick,
		.heap = s->objects, .one_task = f->range.one_task,
		.heap_task = f->range.task,
		.no_accesses = !f->by_code && !moca_trace_stack_count(s->t),
	};

	if (err)
		return err;
	err = moca_flame_build(&s->flame, s->t, &o);
	query_pick_close(pick);
	return err;
}

/* Stacks are by task, so that a name is looked for once. */
static void set_task(struct stacks *x, uint32_t id)
{
	struct samples *s = &x->samples;
	size_t i = trace_task_index(x->t, id);
	const struct moca_task *task;
	const char *name;

	if (s->process && x->task == id)
		return;
	x->task = id;
	s->thread = s->process = "";
	s->pid = s->tid = 0;
	if (i == SIZE_MAX)
		return;
	task = moca_trace_task(x->t, i);
	name = trace_process_name(x->t, task->pid);
	s->process = name ? name : "";
	s->thread = task->name ? task->name : "";
	s->pid = task->pid;
	s->tid = task->tid;
}

static int find_heap(struct stacks *s, const struct moca_flame_stack *of)
{
	const struct moca_heap_stack *h = &s->heap[of->heap - 1];
	int64_t at;

	for (size_t i = 0; i < h->count && i < MOCA_STACK_FRAMES_MAX; i++) {
		at = moca_callers_site(s->callers, of->pid, of->time_ns,
				       &h->frames[i]);
		if (at < 0)
			return (int)at;
		s->places[s->samples.count++] = (uint32_t)at;
	}
	s->samples.cut = h->cut;
	return 0;
}

static int find_places(struct stacks *s, const struct moca_flame_stack *of)
{
	struct moca_stack stack;
	int64_t at;

	s->samples.count = 0;
	s->samples.cut = 0;
	if (of->heap)
		return find_heap(s, of);
	if (moca_trace_stack(s->t, of->number, &stack)) {
		/* Then the instruction alone may be known. */
		if (!of->ip)
			return 0;
		stack = (struct moca_stack){ &of->ip, 1, 0 };
	}
	for (uint32_t i = 0; i < stack.count; i++) {
		at = moca_callers_find(s->callers, of->pid, of->time_ns,
				       stack.frames[i], i);
		if (at < 0)
			return (int)at;
		s->places[s->samples.count++] = (uint32_t)at;
	}
	s->samples.cut = (stack.flags & MOCA_STACK_CUT) != 0;
	return 0;
}

static int next_stack(struct samples *samples)
{
	struct stacks *s = (struct stacks *)samples;
	const struct moca_flame_stack *of;
	int err;

	if (s->at == s->flame.count)
		return 0;
	of = &s->flame.stacks[s->at++];
	s->values[QUERY_SAMPLE_ACCESSES] = of->counts[MOCA_FLAME_ACCESSES];
	s->values[QUERY_SAMPLE_READS] = of->counts[MOCA_FLAME_READS];
	s->values[QUERY_SAMPLE_WRITES] = of->counts[MOCA_FLAME_WRITES];
	s->values[QUERY_SAMPLE_TOUCHES] = of->counts[MOCA_FLAME_TOUCHES];
	s->values[QUERY_SAMPLE_RECORDS] = of->counts[MOCA_FLAME_FAULTS];
	s->values[QUERY_SAMPLE_ALLOCATED] = of->counts[MOCA_FLAME_BYTES];
	s->values[QUERY_SAMPLE_AT_PEAK] = of->counts[MOCA_FLAME_AT_PEAK];
	s->values[QUERY_SAMPLE_AT_END] = of->counts[MOCA_FLAME_AT_END];
	s->values[QUERY_SAMPLE_ALLOCATIONS] =
		of->counts[MOCA_FLAME_ALLOCATIONS];
	set_task(s, of->task);
	err = find_places(s, of);
	return err ? err : 1;
}

static void begin_anew(struct samples *samples)
{
	((struct stacks *)samples)->at = 0;
}

static struct samples_place give_place(struct samples *samples, uint32_t number)
{
	struct stacks *s = (struct stacks *)samples;
	struct moca_caller_place p = moca_callers_place(s->callers, number);

	/* Without memory it has its outermost function alone, as without inlining. */
	if (moca_vec_fit(s->lines, s->line_room, p.count))
		p = (struct moca_caller_place){ p.callers + p.count - 1, 1,
						p.path, p.address };
	for (uint32_t i = 0; i < p.count; i++)
		s->lines[i] = (struct samples_line){
			p.callers[i].name, p.callers[i].file, p.callers[i].line,
		};
	return (struct samples_place){ s->lines, p.count, p.path, p.address };
}

static int find_allocations(struct stacks *s)
{
	const struct moca_objects_options o = {
		.size = sizeof(o), .heap_stacks = 1, .events_only = 1,
	};
	int err = moca_objects_compute(&s->objects, s->t, &o);

	if (!err)
		s->heap = moca_objects_heap_stacks(s->objects, &s->heap_count);
	return err;
}

/* The kinds that there may be something of: they stand side by side. */
static void choose_kinds(struct stacks *s, const struct query_filter *f)
{
	int accesses = f->by_code || moca_trace_stack_count(s->t);
	int first = accesses ? QUERY_SAMPLE_ACCESSES : QUERY_SAMPLE_ALLOCATED;
	int end = s->heap_count ? QUERY_SAMPLES : QUERY_SAMPLE_ALLOCATED;

	s->samples.kinds = query_sample_kinds + first;
	s->samples.kind_bytes = kind_bytes + first;
	s->samples.values = s->values + first;
	s->samples.kind_count = (size_t)(end - first);
}

int query_samples_open(struct samples **out, struct moca_trace *t,
		       const struct query_filter *f)
{
	struct stacks *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->t = t;
	s->samples = (struct samples){
		.places = s->places,
		.next = next_stack, .rewind = begin_anew, .place = give_place,
	};
	s->samples.begin_ns = trace_meta_u64(t, META_START_TIME, 0);
	s->samples.length_ns = trace_meta_u64(t, META_END, 0);
	if (s->samples.length_ns)
		s->samples.length_ns -= trace_meta_u64(t, META_START, 0);
	err = moca_vec_fit(s->lines, s->line_room, 1);
	if (!err && f->heap)
		err = find_allocations(s);
	if (!err)
		err = sum(s, f);
	if (!err)
		err = moca_callers_open(&s->callers, t, s->objects ?
					moca_objects_symbols(s->objects) : NULL);
	choose_kinds(s, f);
	if (err)
		query_samples_close(&s->samples);
	else
		*out = &s->samples;
	return err;
}

void query_samples_close(struct samples *samples)
{
	struct stacks *s = (struct stacks *)samples;

	if (!s)
		return;
	moca_flame_free(&s->flame);
	moca_callers_close(s->callers);
	moca_objects_free(s->objects);
	free(s->lines);
	free(s);
}

void query_samples_heap(const struct samples *samples, uint64_t *bytes,
			uint64_t *estimated, uint64_t *without_lives)
{
	const struct stacks *s = (const struct stacks *)samples;
	struct moca_heap_totals t = { 0 };

	if (s->objects)
		moca_objects_heap_totals(s->objects, &t);
	*bytes = t.bytes;
	*estimated = t.estimated;
	*without_lives = t.without_lives;
}
