// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/flame-tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/table.h"
#include "lib/base/vec.h"

struct build {
	struct moca_flame_tree *out;
	struct moca_callers *callers;
	const struct moca_heap_stack *heap;
	size_t most;		/* nodes, and leaves of threads */
	size_t of_threads;	/* leaves */
	struct moca_flame_windows windows;	/* of stacks */
	struct moca_index nodes, leaves;
};

/* The node of a function that parent calls; the parent where no more fit. */
static int64_t find_node(struct build *b, uint32_t parent,
			 const struct moca_caller *c)
{
	struct moca_flame_tree *x = b->out;
	int64_t function = moca_strings_number(&x->functions, c->name);
	uint64_t hash;
	uint32_t i;

	if (function < 0)
		return function;
	hash = moca_mix((uint64_t)parent << 32 | (uint64_t)function);
	moca_index_each(i, &b->nodes, hash)
		if (x->nodes[i].parent == parent &&
		    x->nodes[i].function == function)
			return i;
	if (x->node_count >= b->most)
		return parent;
	if (moca_vec_fit(x->nodes, x->node_room, x->node_count + 1) ||
	    moca_index_add(&b->nodes, hash, (uint32_t)x->node_count))
		return -ENOMEM;
	x->nodes[x->node_count] = (struct moca_flame_node){
		.parent = parent, .function = (uint32_t)function,
		.file = c->file, .line = c->line,
	};
	return (int64_t)x->node_count++;
}

static int64_t find_leaf(struct build *b, uint32_t node, uint32_t task)
{
	struct moca_flame_tree *x = b->out;
	uint64_t hash;
	uint32_t i;

	for (;;) {
		hash = moca_mix((uint64_t)node << 32 | task);
		moca_index_each(i, &b->leaves, hash)
			if (x->leaves[i].node == node &&
			    x->leaves[i].task == task)
				return i;
		if (task == MOCA_NO_TASK || b->of_threads < b->most)
			break;
		task = MOCA_NO_TASK;
	}
	if (moca_vec_fit(x->leaves, x->leaf_room, x->leaf_count + 1) ||
	    moca_index_add(&b->leaves, hash, (uint32_t)x->leaf_count))
		return -ENOMEM;
	b->of_threads += task != MOCA_NO_TASK;
	x->leaves[x->leaf_count] = (struct moca_flame_leaf){
		.node = node, .task = task,
	};
	return (int64_t)x->leaf_count++;
}

/* What a stack has in each window, to what its leaf has. */
static int add_windows(struct build *b, const struct moca_flame_stack *s,
		       size_t leaf)
{
	struct moca_flame_windows *to = &b->out->over_time, *from = &b->windows;
	const uint64_t *sums;
	uint64_t *x;

	sums = s->heap ? NULL : moca_flame_windows_of(from, s->item);
	for (unsigned w = 0; sums && w < from->count;
	     w++, sums += MOCA_FLAME_TIMED) {
		if (!sums[MOCA_FLAME_ACCESSES] && !sums[MOCA_FLAME_TOUCHES])
			continue;
		x = moca_flame_windows_at(to, leaf,
					  from->begin_ns + w * from->window_ns);
		if (!x)
			return -ENOMEM;
		for (int k = 0; k < MOCA_FLAME_TIMED; k++)
			x[k] += sums[k];
	}
	return 0;
}

static int add(struct build *b, const struct moca_flame_stack *s)
{
	static const struct moca_caller none = { .name = "[no stack]" },
					cut_off = { .name = "[cut off]" };
	struct moca_flame_tree *x = b->out;
	uint64_t accesses = s->counts[MOCA_FLAME_ACCESSES];
	uint64_t bytes = s->counts[MOCA_FLAME_BYTES];
	const struct moca_caller *c;
	int64_t at = MOCA_FLAME_ROOT, next;
	int cut = 0, n;

	if (s->heap)
		n = moca_callers_heap(b->callers, s->pid, &b->heap[s->heap - 1],
				      &c, &cut);
	else
		n = moca_callers_stack(b->callers, s->pid, s->time_ns,
				       s->number, &c, &cut);
	if (n < 0)
		return n;
	x->without += n ? 0 : accesses;
	x->cut += cut ? accesses : 0;
	x->bytes.without += n ? 0 : bytes;
	x->bytes.cut += cut ? bytes : 0;
	if (!n || cut)
		at = find_node(b, MOCA_FLAME_ROOT, n ? &cut_off : &none);
	while (n-- > 0 && at >= 0) {
		next = find_node(b, (uint32_t)at, &c[n]);
		if (next == at) {
			x->shortened += accesses;
			x->bytes.shortened += bytes;
			break;
		}
		at = next;
	}
	if (at >= 0)
		at = find_leaf(b, (uint32_t)at, s->task);
	for (int i = 0; at >= 0 && i < MOCA_FLAME_COUNTS; i++) {
		x->leaves[at].counts[i] += s->counts[i];
		x->all[i] += s->counts[i];
	}
	return at < 0 ? (int)at : add_windows(b, s, (size_t)at);
}

/* Of all accesses, or of all that was allocated: a stack is of either. */
static double share(const struct moca_flame_stack *s, const double *all)
{
	int by = s->heap ? MOCA_FLAME_BYTES : MOCA_FLAME_ACCESSES;

	return all[by] > 0 ? (double)s->counts[by] / all[by] : 0;
}

static int by_share(const void *a, const void *b, void *all)
{
	const struct moca_flame_stack *x = a, *y = b;
	double m = share(x, all), n = share(y, all);

	if (m != n)
		return m > n ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->heap != y->heap)
		return x->heap < y->heap ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static int add_all(struct build *b, struct moca_flame *f)
{
	struct moca_flame_tree *x = b->out;
	double all[MOCA_FLAME_COUNTS] = { 0 };
	int64_t name = moca_strings_number(&x->functions, "");
	int err = name < 0 ? -ENOMEM :
			     moca_vec_fit(x->nodes, x->node_room, 1);

	if (err)
		return err;
	x->nodes[x->node_count++] = (struct moca_flame_node){
		.parent = MOCA_FLAME_ROOT, .function = (uint32_t)name,
	};
	for (size_t i = 0; i < f->count; i++)
		for (int k = 0; k < MOCA_FLAME_COUNTS; k++)
			all[k] += (double)f->stacks[i].counts[k];
	if (f->count)
		qsort_r(f->stacks, f->count, sizeof(*f->stacks), by_share, all);
	for (size_t i = 0; i < f->count && !err; i++)
		err = add(b, &f->stacks[i]);
	return err;
}

/* b->windows: those of stacks, empty; or of none */
static int build(struct build *b, struct moca_trace *t,
		 const struct moca_objects *heap, int by_task)
{
	const struct moca_flame_options o = {
		.by_task = by_task, .by_time = 1, .heap = heap,
		.no_accesses = heap && !moca_trace_stack_count(t),
		.windows = b->windows.count ? &b->windows : NULL,
	};
	struct moca_flame f;
	size_t n;
	int err;

	*b->out = (struct moca_flame_tree){ 0 };
	if (heap)
		b->heap = moca_objects_heap_stacks(heap, &n);
	err = moca_flame_build(&f, t, &o);
	if (err)
		goto out;
	/* As long as those of stacks are by now; there are no more leaves than these. */
	b->out->over_time = (struct moca_flame_windows){
		.begin_ns = b->windows.begin_ns, .count = b->windows.count,
		.window_ns = b->windows.window_ns,
	};
	err = add_all(b, &f);
	moca_flame_free(&f);
	if (err)
		moca_flame_tree_free(b->out);
out:
	moca_flame_windows_free(&b->windows);
	moca_index_free(&b->nodes);
	moca_index_free(&b->leaves);
	return err;
}

int moca_flame_tree_build(struct moca_flame_tree *out, struct moca_trace *t,
			  struct moca_callers *c,
			  const struct moca_objects *heap, size_t nodes,
			  int by_task)
{
	struct build b = { .out = out, .callers = c, .most = nodes };

	return build(&b, t, heap, by_task);
}

int moca_flame_tree_over_time(struct moca_flame_tree *out, struct moca_trace *t,
			      struct moca_callers *c,
			      const struct moca_objects *heap, size_t nodes,
			      uint64_t begin_ns, uint64_t end_ns)
{
	struct build b = { .out = out, .callers = c, .most = nodes };

	moca_flame_windows_init(&b.windows, begin_ns, end_ns);
	return build(&b, t, heap, 1);
}

void moca_flame_tree_free(struct moca_flame_tree *x)
{
	free(x->nodes);
	free(x->leaves);
	moca_strings_free(&x->functions);
	moca_flame_windows_free(&x->over_time);
	*x = (struct moca_flame_tree){ 0 };
}

/* Is a function of that name among those that called node i? */
static int is_recursive(const struct moca_flame_tree *x, size_t i)
{
	uint32_t function = x->nodes[i].function;

	while (i != MOCA_FLAME_ROOT) {
		i = x->nodes[i].parent;
		if (i != MOCA_FLAME_ROOT && x->nodes[i].function == function)
			return 1;
	}
	return 0;
}

struct moca_flame_function *
moca_flame_functions(const struct moca_flame_tree *x)
{
	struct moca_flame_function *out, *f;
	uint64_t (*below)[MOCA_FLAME_COUNTS], *to;

	out = calloc(x->functions.count + 1, sizeof(*out));
	below = calloc(x->node_count + 1, sizeof(*below));
	if (!out || !below) {
		free(out);
		free(below);
		return NULL;
	}
	for (size_t i = 0; i < x->functions.count; i++)
		out[i].name = x->functions.items[i];
	for (size_t i = 0; i < x->leaf_count; i++) {
		const struct moca_flame_leaf *l = &x->leaves[i];

		f = &out[x->nodes[l->node].function];
		for (int n = 0; n < MOCA_FLAME_COUNTS; n++) {
			f->self[n] += l->counts[n];
			below[l->node][n] += l->counts[n];
		}
	}
	/* Callers have lower numbers than what they call. */
	for (size_t i = x->node_count; i-- > 0;) {
		int again = is_recursive(x, i);

		f = &out[x->nodes[i].function];
		to = below[x->nodes[i].parent];
		for (int n = 0; n < MOCA_FLAME_COUNTS; n++) {
			f->total[n] += again ? 0 : below[i][n];
			to[n] += i == MOCA_FLAME_ROOT ? 0 : below[i][n];
		}
	}
	free(below);
	return out;
}
