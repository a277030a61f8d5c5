// SPDX-License-Identifier: GPL-2.0-or-later
#include "import/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"
#include "lib/format/meta.h"
#include "lib/format/seal.h"
#include "lib/format/writer.h"

#define TASKS_MAX (1u << 22)
#define CHUNK 65536u			/* records of a chunk, at most */
#define KEPT_MAX ((size_t)1 << 20)	/* accesses beside one of each task: 48 MB */
#define CHANGES_MAX ((size_t)1 << 20)	/* of one task, kept to the end */

int import_trace_begin(struct import_trace *x, int dirfd)
{
	*x = (struct import_trace){ .begin_ns = 0 };
	return moca_writer_create(&x->writer, dirfd);
}

static void free_changes(struct import_task *t)
{
	for (size_t i = 0; i < t->change_count; i++)
		free((char *)t->changes[i].name);
	free(t->changes);
	t->changes = NULL;
	t->change_count = t->change_room = 0;
}

void import_trace_free(struct import_trace *x)
{
	for (size_t i = 0; i < x->count; i++) {
		free_changes(&x->tasks[i]);
		free(x->tasks[i].accesses);
	}
	free(x->tasks);
	moca_writer_destroy(x->writer);
	*x = (struct import_trace){ .begin_ns = 0 };
}

int64_t import_trace_task(struct import_trace *x, uint32_t pid, uint32_t tid)
{
	struct import_task *t;

	if (x->count == TASKS_MAX)
		return -E2BIG;
	t = moca_vec_add(x->tasks, x->count, x->room);
	if (!t)
		return -ENOMEM;
	*t = (struct import_task){ .pid = pid, .tid = tid };
	return (int64_t)x->count - 1;
}

static void note_time(struct import_trace *x, uint64_t ns)
{
	if (ns && (!x->begin_ns || ns < x->begin_ns))
		x->begin_ns = ns;
	if (ns > x->end_ns)
		x->end_ns = ns;
}

int import_trace_change(struct import_trace *x, uint32_t task,
			const struct moca_change *c)
{
	struct import_task *t = &x->tasks[task];
	struct moca_change *e;
	char *name;

	if (t->change_count == CHANGES_MAX)
		return -E2BIG;
	name = strdup(c->name);
	e = name ? moca_vec_add(t->changes, t->change_count, t->change_room) :
		   NULL;
	if (!e) {
		free(name);
		return -ENOMEM;
	}
	*e = *c;
	e->name = name;
	e->pid = t->pid;
	e->tid = t->tid;
	note_time(x, c->time_ns);
	return 0;
}

/*
 * A task with one access or none gives its array back: tasks that are done would keep
 * 3 MB each. Where that fails, the larger array is as good.
 */
static void shrink(struct import_task *t)
{
	struct moca_access *smaller;

	if (!t->access_count) {
		free(t->accesses);
		t->accesses = NULL;
		t->access_room = 0;
		return;
	}
	smaller = realloc(t->accesses, t->access_count * sizeof(*t->accesses));
	if (!smaller)
		return;
	t->accesses = smaller;
	t->access_room = t->access_count;
}

/* Of a task's accesses, those that flush_all() would write. */
static size_t beside_one(const struct import_task *t)
{
	return t->access_count ? t->access_count - 1 : 0;
}

/* The first n of the accesses that a task has kept. */
static int flush(struct import_trace *x, uint32_t task, size_t n, int more)
{
	struct import_task *t = &x->tasks[task];
	struct moca_chunk_info info = {
		.task = task, .interval = t->interval.number, .more = more,
		.begin_ns = t->interval.begin_ns, .end_ns = t->interval.end_ns,
	};
	size_t before = beside_one(t);
	int err;

	if (!n)
		return 0;
	if (!info.end_ns) {
		info.begin_ns = t->accesses[0].time_ns;
		info.end_ns = t->accesses[n - 1].time_ns;
	}
	err = moca_writer_accesses(x->writer, &info, t->accesses, n);
	if (err)
		return err;
	x->records += n;
	x->chunks++;
	t->access_count -= n;
	x->kept -= before - beside_one(t);
	memmove(t->accesses, t->accesses + n,
		t->access_count * sizeof(*t->accesses));
	shrink(t);
	return 0;
}

/* One stays of each task, so that what is written is known to go on. */
static int flush_all(struct import_trace *x)
{
	int err = 0;

	for (size_t i = 0; i < x->count && !err; i++)
		if (x->tasks[i].access_count > 1)
			err = flush(x, (uint32_t)i,
				    x->tasks[i].access_count - 1, 1);
	return err;
}

int import_trace_access(struct import_trace *x, uint32_t task,
			const struct import_interval *interval,
			const struct moca_access *a)
{
	struct import_task *t = &x->tasks[task];
	struct moca_access *to;
	int err = 0;

	if (a->time_ns < t->last_ns || interval->number < t->interval.number)
		return -ESTALE;
	if (interval->number != t->interval.number)
		err = flush(x, task, t->access_count, 0);
	else if (t->access_count == CHUNK)
		err = flush(x, task, CHUNK - 1, 1);
	if (!err && x->kept >= KEPT_MAX)
		err = flush_all(x);
	if (err)
		return err;
	to = moca_vec_add(t->accesses, t->access_count, t->access_room);
	if (!to)
		return -ENOMEM;
	*to = *a;
	x->kept += t->access_count > 1;
	if (!interval->clip)
		note_time(x, interval->end_ns);
	t->interval = *interval;
	t->last_ns = a->time_ns;
	note_time(x, a->time_ns);
	return 0;
}

int import_trace_counts(struct import_trace *x, uint32_t task, uint64_t slice,
			uint64_t begin_ns, uint64_t end_ns,
			const struct moca_count *rows, size_t n)
{
	struct moca_chunk_info info = {
		.task = task, .interval = slice,
		.begin_ns = begin_ns, .end_ns = end_ns,
	};
	uint64_t sum;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		if (__builtin_add_overflow(x->loads, rows[i].loads, &x->loads) ||
		    __builtin_add_overflow(x->stores, rows[i].stores, &x->stores) ||
		    __builtin_add_overflow(x->loads, x->stores, &sum))
			return -EOVERFLOW;
	for (size_t at = 0; at < n && !err; at += CHUNK) {
		size_t len = n - at < CHUNK ? n - at : CHUNK;

		info.more = at + len < n;
		err = moca_writer_counts(x->writer, &info, 12, rows + at, len);
		x->chunks++;
	}
	note_time(x, begin_ns);
	note_time(x, end_ns);
	return err;
}

/* What was at time 0 was before the first that has one. */
static int write_changes(struct import_trace *x, uint32_t task)
{
	struct import_task *t = &x->tasks[task];
	int err;

	for (size_t i = 0; i < t->change_count; i++)
		if (t->changes[i].time_ns < x->begin_ns)
			t->changes[i].time_ns = x->begin_ns;
	err = moca_writer_changes(x->writer, task, t->changes, t->change_count);
	free_changes(t);
	return err;
}

static int write_sums(const struct import_trace *x, struct moca_meta *m)
{
	const struct {
		const char *key;
		uint64_t value;
	} sums[] = {
		{ "start_ns", x->begin_ns }, { "end_ns", x->end_ns },
		{ "certificate.records", x->records },
		{ "certificate.chunks", x->records ? x->chunks : 0 },
		{ "certificate.lost", 0 }, { "certificate.lossy_chunks", 0 },
		{ "certificate.loads", x->loads },
		{ "certificate.stores", x->stores },
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]) && !err; i++)
		err = moca_meta_set(m, sums[i].key, "%" PRIu64, sums[i].value);
	return err;
}

int import_trace_end(struct import_trace *x, int dirfd, struct moca_meta *m,
		     const char *from, const char *reason)
{
	int err = 0;

	for (size_t i = 0; i < x->count && !err; i++) {
		struct import_task *t = &x->tasks[i];

		err = write_changes(x, (uint32_t)i);
		/* The last one ends with the recording. */
		if (t->interval.clip && t->interval.end_ns > x->end_ns)
			t->interval.end_ns = x->end_ns;
		if (!err)
			err = flush(x, (uint32_t)i, t->access_count, 0);
	}
	if (!err)
		err = write_sums(x, m);
	if (!err)
		err = moca_meta_set(m, "version", "%s", MOCA_VERSION);
	if (!err)
		err = moca_meta_set(m, "state", "complete");
	if (!err)
		err = moca_meta_set(m, "import.from", "%s", from);
	if (!err)
		err = moca_meta_set(m, "certificate.reason", "%s", reason);
	if (!err && !moca_meta_get(m, "page_size"))
		err = moca_meta_set(m, "page_size", "4096");
	return err ? err : moca_seal_write(m, dirfd);
}
