// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The call stacks of accesses and allocations as a tree, as a blob of its own, of two runs one
 * each: doc/design/report.md says what is in it. Without stacks there is none.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/flame-tree.h"
#include "analysis/trace.h"
#include "lib/base/strings.h"
#include "report/html/report.h"

#define NODES 30000u		/* and as many leaves of single threads */
#define NAME_BYTES 400u
#define TIMES 100000u		/* leaves in windows */

static void put_strings(struct json *j, const char *key,
			const struct moca_strings *s)
{
	json_open(j, key, '[');
	for (size_t i = 0; i < s->count; i++)
		json_cut(j, NULL, s->items[i], NAME_BYTES);
	json_close(j, ']');
}

/* A column of nodes: on one line, since there are many. */
enum column { PARENT, NAME, FILE_NAME, LINE };

static uint64_t node_value(const struct moca_flame_node *n, enum column c,
			   const uint32_t *files, size_t i)
{
	switch (c) {
	case PARENT:
		return n->parent;
	case NAME:
		return n->function;
	case FILE_NAME:
		return files[i];
	default:
		return n->line;
	}
}

static void put_nodes(struct json *j, const struct moca_flame_tree *x,
		      const uint32_t *files)
{
	static const char *const keys[] = { "parent", "name", "file", "line" };

	json_open(j, "nodes", '{');
	for (int c = PARENT; c <= LINE; c++) {
		json_open(j, keys[c], '[');
		for (size_t i = 0; i < x->node_count; i++)
			fprintf(j->f, "%s%" PRIu64, i ? "," : "",
				node_value(&x->nodes[i], (enum column)c, files,
					   i));
		json_close(j, ']');
	}
	json_close(j, '}');
}

static void put_counts(struct json *j, const char *key,
		       const struct moca_flame_tree *x, int count)
{
	json_open(j, key, '[');
	for (size_t i = 0; i < x->leaf_count; i++)
		fprintf(j->f, "%s%" PRIu64, i ? "," : "",
			x->leaves[i].counts[count]);
	json_close(j, ']');
}

/*
 * thread: a task's number in the trace; -1: none alone. stacks: has the trace any of
 * accesses?
 */
static void put_leaves(struct json *j, const struct moca_flame_tree *x,
		       int stacks)
{
	json_open(j, "leaves", '{');
	json_open(j, "node", '[');
	for (size_t i = 0; i < x->leaf_count; i++)
		fprintf(j->f, "%s%" PRIu32, i ? "," : "", x->leaves[i].node);
	json_close(j, ']');
	json_open(j, "thread", '[');
	for (size_t i = 0; i < x->leaf_count; i++)
		fprintf(j->f, "%s%" PRId64, i ? "," : "",
			x->leaves[i].task == MOCA_NO_TASK ?
				(int64_t)-1 : (int64_t)x->leaves[i].task);
	json_close(j, ']');
	if (stacks) {
		put_counts(j, "reads", x, MOCA_FLAME_READS);
		put_counts(j, "writes", x, MOCA_FLAME_WRITES);
		put_counts(j, "accesses", x, MOCA_FLAME_ACCESSES);
		put_counts(j, "first_touches", x, MOCA_FLAME_TOUCHES);
	}
	if (x->all[MOCA_FLAME_ALLOCATIONS]) {
		put_counts(j, "allocated", x, MOCA_FLAME_BYTES);
		put_counts(j, "allocations", x, MOCA_FLAME_ALLOCATIONS);
		put_counts(j, "at_peak", x, MOCA_FLAME_AT_PEAK);
		put_counts(j, "at_end", x, MOCA_FLAME_AT_END);
	}
	json_close(j, '}');
}

static int is_empty(const uint64_t *sums)
{
	return !sums[MOCA_FLAME_ACCESSES] && !sums[MOCA_FLAME_TOUCHES];
}

/* How many leaves are in how many windows; then these are as few as the page has room for. */
static size_t fit_windows(struct moca_flame_windows *x)
{
	size_t n;

	for (;;) {
		n = 0;
		for (size_t i = 0; i < x->items * x->count; i++)
			n += !is_empty(x->sums[i]);
		if (n <= TIMES || x->count < 2)
			return n;
		moca_flame_windows_join(x);
	}
}

enum timed { LEAF, WINDOW, SUM };

/* One column of leaves in windows; which: of the sums. */
static void put_timed(struct json *j, const char *key,
		      const struct moca_flame_windows *x, enum timed c, int which)
{
	const char *comma = "";

	json_open(j, key, '[');
	for (size_t i = 0; i < x->items * x->count; i++) {
		if (is_empty(x->sums[i]))
			continue;
		fprintf(j->f, "%s%" PRIu64, comma,
			c == LEAF	? i / x->count :
			c == WINDOW	? i % x->count : x->sums[i][which]);
		comma = ",";
	}
	json_close(j, ']');
}

/* What leaves have in parts of the run; null: nothing is known of that. */
static void put_over_time(struct json *j, const struct report *of,
			  struct moca_flame_tree *tree)
{
	struct moca_flame_windows *x = &tree->over_time;

	if (!x->items || !fit_windows(x)) {
		json_null(j, "over_time");
		return;
	}
	json_open(j, "over_time", '{');
	json_int(j, "begin_ns", (int64_t)(x->begin_ns - of->origin));
	json_uint(j, "window_ns", x->window_ns);
	json_uint(j, "windows", x->count);
	put_timed(j, "leaf", x, LEAF, 0);
	put_timed(j, "window", x, WINDOW, 0);
	put_timed(j, "reads", x, SUM, MOCA_FLAME_READS);
	put_timed(j, "writes", x, SUM, MOCA_FLAME_WRITES);
	put_timed(j, "accesses", x, SUM, MOCA_FLAME_ACCESSES);
	put_timed(j, "first_touches", x, SUM, MOCA_FLAME_TOUCHES);
	json_close(j, '}');
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The threads that have leaves, once each. */
static int put_threads(struct json *j, const struct moca_trace *t,
		       const struct moca_flame_tree *x)
{
	uint32_t *ids = calloc(x->leaf_count + 1, sizeof(*ids));
	const struct moca_task *task;
	size_t at;

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < x->leaf_count; i++)
		ids[i] = x->leaves[i].task;
	qsort(ids, x->leaf_count, sizeof(*ids), compare);
	json_open(j, "threads", '[');
	for (size_t i = 0; i < x->leaf_count; i++) {
		at = trace_task_index(t, ids[i]);
		if (at == SIZE_MAX || (i && ids[i] == ids[i - 1]))
			continue;
		task = moca_trace_task(t, at);
		json_open(j, NULL, '{');
		json_uint(j, "id", task->id);
		json_uint(j, "tid", task->tid);
		json_cut(j, "name", task->name, NAME_BYTES);
		json_close(j, '}');
	}
	json_close(j, ']');
	free(ids);
	return 0;
}

/* Files by number: 0 is not known. 0 or -ENOMEM. */
static int number_files(const struct moca_flame_tree *x, uint32_t *files,
			struct moca_strings *names)
{
	for (size_t i = 0; i < x->node_count; i++) {
		const char *file = x->nodes[i].file;
		int64_t n = moca_strings_number(names, file ? file : "");

		if (n < 0)
			return -ENOMEM;
		files[i] = (uint32_t)n;
	}
	return 0;
}

/* What is to be known of the bytes; null: there are none. */
static void put_heap(struct json *j, const struct report *of,
		     const struct moca_flame_tree *x)
{
	struct moca_heap_totals t;

	if (!x->all[MOCA_FLAME_ALLOCATIONS]) {
		json_null(j, "heap");
		return;
	}
	moca_objects_heap_totals(of->objects, &t);
	json_open(j, "heap", '{');
	json_uint(j, "without", x->bytes.without);
	json_uint(j, "cut", x->bytes.cut);
	json_uint(j, "shortened", x->bytes.shortened);
	json_uint(j, "estimated", t.estimated);
	json_uint(j, "without_lives", t.without_lives);
	json_int(j, "peak_ns", t.peak ? (int64_t)(t.peak_ns - of->origin) : 0);
	json_close(j, '}');
}

static int put(struct json *j, const struct report *of,
	       struct moca_flame_tree *x)
{
	const struct moca_trace *t = of->trace;
	uint32_t *files = calloc(x->node_count + 1, sizeof(*files));
	struct moca_strings names = { 0 };
	int err = files ? number_files(x, files, &names) : -ENOMEM;

	if (!err) {
		json_open(j, NULL, '{');
		json_uint(j, "without", x->without);
		json_uint(j, "cut", x->cut);
		json_uint(j, "shortened", x->shortened);
		put_heap(j, of, x);
		err = put_threads(j, t, x);
		put_strings(j, "names", &x->functions);
		put_strings(j, "files", &names);
		put_nodes(j, x, files);
		put_leaves(j, x, moca_trace_stack_count(t) != 0);
		put_over_time(j, of, x);
		json_close(j, '}');
	}
	moca_strings_free(&names);
	free(files);
	return err;
}

/* Has it stacks of accesses, or of allocations? */
static int has_stacks(const struct report *of)
{
	size_t n = 0;

	if (of->objects)
		moca_objects_heap_stacks(of->objects, &n);
	return n || moca_trace_stack_count(of->trace);
}

/* Of a trace with stacks: a blob. of: what has the trace. */
static int add(struct report *r, const struct report *of, const char *name)
{
	struct moca_flame_tree tree;
	struct moca_callers *c;
	struct report_json x;
	int err = moca_callers_open(&c, of->trace,
				    of->objects ?
				    moca_objects_symbols(of->objects) : NULL);

	if (err)
		return err;
	/* What is selected in the page is of the time of its own run. */
	if (of == r)
		err = moca_flame_tree_over_time(&tree, of->trace, c, of->objects,
						NODES, of->begin_ns, of->end_ns);
	else
		err = moca_flame_tree_build(&tree, of->trace, c, of->objects,
					    NODES, 1);
	if (err)
		goto out_callers;
	err = report_json_begin(&x);
	if (!err)
		err = report_json_end(r, &x, name, put(&x.j, of, &tree));
	moca_flame_tree_free(&tree);
out_callers:
	moca_callers_close(c);
	return err;
}

int report_flame(struct report *r)
{
	const struct report *before = r->compare ? r->compare->before : NULL;
	int err = 0;

	if (has_stacks(r))
		err = add(r, r, "flame");
	if (!err && before && has_stacks(before))
		err = add(r, before, "flame-before");
	return err;
}
