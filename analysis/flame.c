// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/flame.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/trace.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"
#include "lib/format/jit.h"

/* The earliest access to a page that was met so far. */
struct touch {
	uint64_t page;		/* number, and 1 */
	uint64_t time_ns;
	uint32_t pid;
	uint32_t stack;		/* index, or NOT_WANTED */
};

#define NOT_WANTED UINT32_MAX

/* Does a stack of a process have code that is replaced? */
struct variant {
	uint64_t key;		/* pid and number, and 1 */
	int changes;
};

static uint64_t hash_variant(const struct variant *v)
{
	return moca_mix(v->key);
}

static int same_variant(const struct variant *a, const struct variant *b)
{
	return a->key == b->key;
}

static int used_variant(const struct variant *v)
{
	return v->key != 0;
}

MOCA_TABLE(variants, struct variant, hash_variant, same_variant, used_variant);

static uint64_t hash_touch(const struct touch *t)
{
	return moca_mix(t->page * 0x9e3779b97f4a7c15ull ^ t->pid);
}

static int same_touch(const struct touch *a, const struct touch *b)
{
	return a->page == b->page && a->pid == b->pid;
}

static int used_touch(const struct touch *t)
{
	return t->page != 0;
}

MOCA_TABLE(touches, struct touch, hash_touch, same_touch, used_touch);

struct build {
	struct moca_flame *out;
	const struct moca_flame_options *o;
	size_t room;
	struct moca_index index;
	struct touch *touches;
	size_t touch_count, touch_cap;
	unsigned shift;
	uint32_t pid, task;	/* of the chunk at hand */
	size_t task_index;
	size_t taken;		/* of the task's accesses, before the chunk */
	const struct moca_trace *trace;
	const struct moca_jits *jits;	/* NULL: by_time is not wanted, or none */
	struct variant *variants;
	size_t variant_count, variant_cap;
};

/* A return address belongs to the call before it. */
static uint64_t frame_of(const struct moca_stack *s, uint32_t i)
{
	return s->frames[i] - (i != 0);
}

static int has_changes(const struct build *b, const struct moca_stack *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (moca_jits_changes(b->jits, b->pid, frame_of(s, i)))
			return 1;
	return 0;
}

/* What the addresses of the access' stack mean, where it depends on the time. */
static int find_code(struct build *b, const struct moca_access *a, uint64_t *code)
{
	struct variant key = { .key = ((uint64_t)b->pid << 32 | a->stack) + 1 };
	struct moca_stack s = { .frames = &a->ip, .count = 1 };
	struct variant *v;

	*code = 0;
	if (!b->jits || (!a->stack && !(b->o->by_code && a->ip)))
		return 0;
	if (a->stack) {
		if (variants_fit(&b->variants, &b->variant_cap,
				 b->variant_count))
			return -ENOMEM;
		v = variants_at(b->variants, b->variant_cap, &key);
		if (!v->key) {
			*v = key;
			v->changes = !moca_trace_stack(b->trace, a->stack, &s) &&
				     has_changes(b, &s);
			b->variant_count++;
		}
		if (!v->changes || moca_trace_stack(b->trace, a->stack, &s))
			return 0;
	}
	for (uint32_t i = 0; i < s.count; i++)
		*code = moca_mix(*code + 1 +
				 (uint64_t)moca_jits_find(b->jits, b->pid,
							  frame_of(&s, i),
							  a->time_ns));
	return 0;
}

static int64_t find_stack(struct build *b, const struct moca_access *a)
{
	struct moca_flame *f = b->out;
	uint32_t task = b->o->by_task ? b->task : MOCA_NO_TASK, i;
	uint64_t ip = b->o->by_code && !a->stack ? a->ip : 0;
	uint64_t hash, code;

	if (find_code(b, a, &code))
		return -ENOMEM;
	hash = moca_mix(moca_mix((uint64_t)b->pid << 32 | task) + code +
			(ip ? moca_mix(ip) : a->stack));

	moca_index_each(i, &b->index, hash)
		if (f->stacks[i].pid == b->pid && f->stacks[i].task == task &&
		    f->stacks[i].number == a->stack && f->stacks[i].ip == ip &&
		    f->stacks[i].code == code)
			return i;
	if (moca_vec_fit(f->stacks, b->room, f->count + 1) ||
	    moca_index_add(&b->index, hash, (uint32_t)f->count))
		return -ENOMEM;
	f->stacks[f->count] = (struct moca_flame_stack){
		.pid = b->pid, .task = task, .number = a->stack, .ip = ip,
		.time_ns = a->time_ns, .code = code, .item = f->count,
	};
	return (int64_t)f->count++;
}

/* To what a stack has, of all of the run or of a window. */
static void weigh(uint64_t *counts, const struct moca_access *a)
{
	counts[MOCA_FLAME_ACCESSES] += a->weight;
	if (a->type == MOCA_ACCESS_WRITE)
		counts[MOCA_FLAME_WRITES] += a->weight;
	else if (a->type != MOCA_ACCESS_UNKNOWN)
		counts[MOCA_FLAME_READS] += a->weight;
}

static int count(struct build *b, size_t i, const struct moca_access *a)
{
	struct moca_flame_stack *s = &b->out->stacks[i];
	uint64_t *in_window;

	s->counts[MOCA_FLAME_FAULTS]++;
	weigh(s->counts, a);
	if (!b->o->windows)
		return 0;
	in_window = moca_flame_windows_at(b->o->windows, i, a->time_ns);
	if (!in_window)
		return -ENOMEM;
	weigh(in_window, a);
	return 0;
}

static int add(struct build *b, size_t n, const struct moca_access *a)
{
	struct touch key = { .page = (a->addr >> b->shift) + 1, .pid = b->pid };
	int64_t i = NOT_WANTED;
	struct touch *t;

	if (!b->o->wants || b->o->wants(b->o->arg, b->task_index, n, a)) {
		i = find_stack(b, a);
		if (i < 0 || count(b, (size_t)i, a))
			return -ENOMEM;
	}
	if (touches_fit(&b->touches, &b->touch_cap, b->touch_count))
		return -ENOMEM;
	t = touches_at(b->touches, b->touch_cap, &key);
	if (t->page && t->time_ns <= a->time_ns)
		return 0;
	b->touch_count += !t->page;
	*t = key;
	t->time_ns = a->time_ns;
	t->stack = (uint32_t)i;
	return 0;
}

static void begin_task(struct build *b, const struct moca_trace *t, uint32_t id)
{
	b->task = id;
	b->taken = 0;
	b->task_index = trace_task_index(t, id);
	b->pid = b->task_index == SIZE_MAX ? 0 :
		 moca_trace_task(t, b->task_index)->pid;
}

static int walk(struct build *b, struct moca_trace *t)
{
	const struct moca_chunk *chunk;
	struct moca_cursor *c;
	int ret = moca_cursor_open(&c, t, NULL);

	if (ret)
		return ret;
	b->task = MOCA_NO_TASK;
	while ((ret = moca_cursor_chunk(c, &chunk)) > 0) {
		if (chunk->task != b->task)
			begin_task(b, t, chunk->task);
		for (size_t i = 0; i < chunk->count && ret >= 0; i++)
			ret = add(b, b->taken + i, &chunk->accesses[i]);
		if (ret < 0)
			break;
		b->taken += chunk->count;
	}
	moca_cursor_close(c);
	return ret;
}

static int compare(const void *a, const void *b)
{
	const struct moca_flame_stack *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->ip != y->ip)
		return x->ip < y->ip ? -1 : 1;
	if (x->heap != y->heap)
		return x->heap < y->heap ? -1 : 1;
	/* Of one stack by time. */
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static int add_heap(struct build *b, const struct moca_trace *t)
{
	const struct moca_heap_stack *h;
	struct moca_flame *f = b->out;
	size_t n, i, at;

	h = moca_objects_heap_stacks(b->o->heap, &n);
	if (moca_vec_fit(f->stacks, b->room, f->count + n))
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		at = trace_task_index(t, h[i].task);
		if (at == SIZE_MAX ||
		    (b->o->one_task && h[i].task != b->o->heap_task))
			continue;
		f->stacks[f->count++] = (struct moca_flame_stack){
			.pid = moca_trace_task(t, at)->pid,
			.task = b->o->by_task ? h[i].task : MOCA_NO_TASK,
			.heap = (uint32_t)i + 1, .time_ns = h[i].time_ns,
			.counts = {
				[MOCA_FLAME_BYTES] = h[i].bytes,
				[MOCA_FLAME_ALLOCATIONS] = h[i].allocations,
				[MOCA_FLAME_AT_PEAK] = h[i].at_peak,
				[MOCA_FLAME_AT_END] = h[i].at_end,
			},
		};
	}
	return 0;
}

/* Each page's first touch, when no earlier access can come. */
static void count_touches(struct build *b)
{
	struct moca_flame_windows *w = b->o->windows;
	const struct touch *t;

	for (t = b->touches; t < b->touches + b->touch_cap; t++) {
		if (!t->page || t->stack == NOT_WANTED)
			continue;
		b->out->stacks[t->stack].counts[MOCA_FLAME_TOUCHES]++;
		/* The stack has its windows since its first access. */
		if (w)
			moca_flame_windows_at(w, t->stack, t->time_ns)
				[MOCA_FLAME_TOUCHES]++;
	}
}

int moca_flame_build(struct moca_flame *out, struct moca_trace *t,
		     const struct moca_flame_options *o)
{
	static const struct moca_flame_options all;
	struct build b = { .out = out, .o = o ? o : &all,
			   .shift = trace_page_shift(t), .trace = t };
	int err;

	if (b.o->by_time && moca_trace_jits(t)->count)
		b.jits = moca_trace_jits(t);

	*out = (struct moca_flame){ 0 };
	err = b.o->no_accesses ? 0 : walk(&b, t);
	if (!err && b.o->heap)
		err = add_heap(&b, t);
	if (!err)
		count_touches(&b);
	free(b.touches);
	free(b.variants);
	moca_index_free(&b.index);
	if (err)
		moca_flame_free(out);
	else if (out->count)
		qsort(out->stacks, out->count, sizeof(*out->stacks), compare);
	return err;
}

void moca_flame_free(struct moca_flame *f)
{
	free(f->stacks);
	*f = (struct moca_flame){ 0 };
}
