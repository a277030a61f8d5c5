// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: granules TRACE [-s]
 *
 * Every count of a trace by libmoca alone: "tid address loads stores" per task
 * and granule, all slices together, sorted. -s: only the sums of all. Fails if a
 * granule has not exactly one first touch by each task that accessed it, per
 * program that the task executed at most, or has it outside of the task's life.
 */
#include <moca/reader.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
	uint32_t task;
	uint32_t firsts;
	struct moca_count c;
};

static int by_place(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	return (x->c.addr > y->c.addr) - (x->c.addr < y->c.addr);
}

/* Tasks are sorted by id, and one may be missing. */
static const struct moca_task *find_task(const struct moca_trace *t,
					 uint32_t task)
{
	for (size_t i = 0; i < moca_trace_task_count(t); i++)
		if (moca_trace_task(t, i)->id == task)
			return moca_trace_task(t, i);
	return NULL;
}

/* How many programs a task executed while it was recorded, at the most. */
static uint32_t programs(struct moca_trace *t, uint32_t task)
{
	struct moca_query q = { .size = sizeof(q), .task = task,
				.one_task = 1 };
	const struct moca_change *e;
	struct moca_cursor *c;
	uint32_t of, n = 1;

	if (moca_cursor_open(&c, t, &q))
		return n;
	while (moca_cursor_change(c, &e, &of) > 0)
		n += e->type == MOCA_CHANGE_EXEC;
	moca_cursor_close(c);
	return n;
}

static int fail(const char *what, int err)
{
	fprintf(stderr, "granules: %s: %s\n", what, strerror(-err));
	return 1;
}

int main(int argc, char **argv)
{
	struct moca_trace *t;
	struct moca_cursor *c;
	struct moca_query q = { .size = sizeof(q) };
	const struct moca_counts *counts;
	struct row *rows = NULL, *r;
	size_t n = 0, room = 0, k = 0;
	uint64_t loads = 0, stores = 0, bad = 0;
	const struct moca_task *task = NULL;
	int err;

	if (argc < 2)
		return 2;
	err = moca_trace_open(&t, argv[1]);
	if (err)
		return fail(argv[1], err);
	err = moca_cursor_open(&c, t, &q);
	if (err)
		return fail("cursor", err);
	while ((err = moca_cursor_counts(c, &counts)) > 0) {
		if (n + counts->count > room) {
			room = 2 * (n + counts->count);
			rows = realloc(rows, room * sizeof(*rows));
			if (!rows)
				return 1;
		}
		for (size_t i = 0; i < counts->count; i++)
			rows[n++] = (struct row){
				counts->task, counts->rows[i].first_ns != 0,
				counts->rows[i] };
	}
	if (err)
		return fail("counts", err);
	qsort(rows, n, sizeof(*rows), by_place);
	for (size_t i = 0; i < n; i++) {
		if (k && !by_place(&rows[k - 1], &rows[i])) {
			rows[k - 1].c.loads += rows[i].c.loads;
			rows[k - 1].c.stores += rows[i].c.stores;
			rows[k - 1].firsts += rows[i].firsts;
			if (rows[i].firsts)
				rows[k - 1].c.first_ns = rows[i].c.first_ns;
			continue;
		}
		rows[k++] = rows[i];
	}
	for (r = rows; r < rows + k; r++) {
		if (!task || task->id != r->task)
			task = find_task(t, r->task);
		if (!task)
			return fail("a task", -ENOENT);
		if (r->firsts < 1 ||
		    (r->firsts > 1 && r->firsts > programs(t, r->task)) ||
		    r->c.first_ns < task->start_ns ||
		    (task->end_ns && r->c.first_ns > task->end_ns)) {
			fprintf(stderr, "granules: thread %u, %lx: %u first "
				"touches, at %lu ns, life %lu to %lu\n",
				task->tid, r->c.addr, r->firsts, r->c.first_ns,
				task->start_ns, task->end_ns);
			bad++;
		}
		if (argc < 3)
			printf("%u %lx %lu %lu\n", task->tid,
			       r->c.addr, r->c.loads, r->c.stores);
		loads += r->c.loads;
		stores += r->c.stores;
	}
	if (argc > 2)
		printf("%lu %lu\n", loads, stores);
	moca_cursor_close(c);
	moca_trace_close(t);
	free(rows);
	return bad ? 3 : 0;
}
