// SPDX-License-Identifier: GPL-2.0-or-later
/* Chunks that a thread unpacks ahead are those that a cursor unpacks itself. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "analysis/timeline.h"
#include "lib/base/proc.h"
#include "lib/format/trace.h"
#include "tests/unit/trace-util.h"

#define TASKS 3
#define CHUNKS 6
#define RECORDS 5000		/* fewer are not worth a thread */
#define CHUNK_NS (10ull * RECORDS)
#define BASE 0x7f0000000000ull
#define RARE 0x10000ull		/* one access of each second chunk */

/* Its tasks take turns; one chunk in four is small. */
static void write_trace(void)
{
	static struct moca_access a[RECORDS];
	struct moca_writer *w;
	unsigned n, i;

	dir_new();
	put_meta("complete");
	if (moca_writer_create(&w, dirfd_))
		abort();
	for (n = 0; n < TASKS * CHUNKS; n++) {
		struct moca_chunk_info info = {
			.task = n % TASKS, .interval = n,
			.begin_ns = n * CHUNK_NS, .end_ns = (n + 1) * CHUNK_NS,
		};

		for (i = 0; i < RECORDS; i++)
			a[i] = (struct moca_access){
				.addr = i || !(n & 1) ? BASE + rnd() % 0x1000000 :
							RARE,
				.ip = 0x400000 + rnd() % 512, .weight = 1,
				.time_ns = info.begin_ns + 10u * i,
				.type = 1 + rnd() % 2,
			};
		if (moca_writer_accesses(w, &info, a, n % 4 ? RECORDS : 100))
			abort();
	}
	moca_writer_destroy(w);
}

/* Damage the payload of the task's chunk of that number. */
static void damage(const char *name, unsigned number)
{
	size_t len, at;
	uint8_t *p = slurp(name, &len);

	for (at = 0; at + MOCA_HEADER_MIN < len; at++)
		if (!memcmp(p + at, MOCA_MAGIC, MOCA_MAGIC_LEN) && !number--)
			p[at + 300] ^= 1;
	spill(name, p, len);
	free(p);
}

static uint64_t damaged(const struct moca_trace *t)
{
	struct moca_damage d;

	moca_trace_damage(t, &d);
	return d.chunks;
}

static int may_use_two_cpus(void)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) ||
	       CPU_COUNT(&cpus) > 1;
}

/* Has the chunk RECORDS, whatever a query leaves of them? Then the next is put. */
static int is_large(const struct moca_chunk *c)
{
	return c->bytes > RECORDS;
}

static int same(const struct moca_chunk *x, const struct moca_chunk *y)
{
	return x->task == y->task && x->number == y->number &&
	       x->count == y->count && x->reads == y->reads &&
	       x->writes == y->writes && x->bytes == y->bytes &&
	       !memcmp(x->accesses, y->accesses,
		       x->count * sizeof(*x->accesses));
}

/* Until the thread has done n jobs. */
static void wait_done(struct moca_ahead *a, uint64_t n)
{
	while (moca_ahead_done(a) < n)
		sched_yield();
}

/*
 * Two walks side by side, one with chunks unpacked ahead: by the thread each time
 * (waits), or by whom it may be; all told is the same at each step.
 */
static int walk_both(const struct moca_query *q, int waits, int parks,
		     unsigned chunks)
{
	const struct moca_chunk *x = NULL, *y = NULL;
	struct moca_ahead *a = moca_ahead_new();
	struct moca_cursor *plain, *ahead;
	struct moca_trace *t, *u;
	unsigned n = 0, put = 0;
	int ret;

	CHECK(a && !moca_trace_open(&t, dir) && !moca_trace_open(&u, dir));
	CHECK(!moca_cursor_open(&plain, t, q));
	CHECK(!moca_cursor_open(&ahead, u, q));
	moca_cursor_ahead(ahead, a);
	do {
		ret = moca_cursor_chunk(plain, &x);
		CHECK(moca_cursor_chunk(ahead, &y) == ret);
		CHECK(ret <= 0 || same(x, y));
		CHECK(damaged(t) == damaged(u));
		n += ret > 0;
		/* What is at hand stays as it is meanwhile. */
		if (ret > 0 && waits && is_large(y))
			wait_done(a, ++put);
		if (parks)
			moca_cursor_park(ahead);
		CHECK(ret <= 0 || same(x, y));
	} while (ret > 0);
	CHECK(!ret && n == chunks);
	CHECK(!waits || moca_ahead_done(a) == put);
	moca_cursor_close(plain);
	moca_cursor_close(ahead);
	moca_ahead_free(a);
	moca_trace_close(t);
	moca_trace_close(u);
	return 0;
}

static int t_same(void)
{
	const struct moca_query late = {
		.size = sizeof(late), .begin_ns = 4 * CHUNK_NS + 777,
		.end_ns = 13 * CHUNK_NS + 777,
	}, narrow = {
		.size = sizeof(narrow), .addr_begin = RARE,
		.addr_end = RARE + 1, .task = 1, .one_task = 1,
	};
	int waits;

	write_trace();
	for (waits = 0; waits <= may_use_two_cpus(); waits++) {
		if (walk_both(NULL, waits, 0, TASKS * CHUNKS) ||
		    walk_both(NULL, waits, 1, TASKS * CHUNKS) ||
		    walk_both(&late, waits, 0, 10))
			return 1;
	}
	/* Chunks that it leaves empty are stepped over. */
	return walk_both(&narrow, 0, 0, CHUNKS / 2);
}

static int t_damaged(void)
{
	int waits;

	write_trace();
	damage("task-0", 1);
	damage("task-0", 2);
	damage("task-1", CHUNKS - 1);
	damage("task-2", 0);
	for (waits = 0; waits <= may_use_two_cpus(); waits++)
		if (walk_both(NULL, waits, 0, TASKS * CHUNKS - 4))
			return 1;
	return 0;
}

/* What was unpacked ahead, and nobody asked for, is no damage. */
static int t_stopped(void)
{
	struct moca_ahead *a = moca_ahead_new();
	const struct moca_chunk *c;
	struct moca_cursor *cursor;
	struct moca_trace *t;
	unsigned put = 0;

	if (!may_use_two_cpus()) {
		strcpy(why, "one CPU");
		return 2;
	}
	write_trace();
	damage("task-1", 1);
	CHECK(!moca_trace_open(&t, dir));
	CHECK(!moca_cursor_open(&cursor, t, NULL));
	moca_cursor_ahead(cursor, a);
	do {
		CHECK(moca_cursor_chunk(cursor, &c) == 1);
		put += (unsigned)is_large(c);
		wait_done(a, put);
	} while (c->task != 1);
	CHECK(is_large(c));
	moca_cursor_close(cursor);
	CHECK(!damaged(t));
	moca_ahead_free(a);
	moca_trace_close(t);
	return 0;
}

/* Of more cursors than have a place all tell the same; places are given back. */
static int t_many(void)
{
	struct moca_cursor *cursors[MOCA_AHEAD_CURSORS_MAX + 2];
	const unsigned count = sizeof(cursors) / sizeof(*cursors);
	struct moca_ahead *a = moca_ahead_new();
	const struct moca_chunk *c;
	struct moca_trace *t;
	unsigned i, n;

	write_trace();
	CHECK(!moca_trace_open(&t, dir));
	for (i = 0; i < count; i++) {
		CHECK(!moca_cursor_open(&cursors[i], t, NULL));
		moca_cursor_ahead(cursors[i], a);
	}
	for (n = 0; n < TASKS * CHUNKS; n++)
		for (i = 0; i < count; i++)
			CHECK(moca_cursor_chunk(cursors[i], &c) == 1 &&
			      c->number == n % CHUNKS);
	CHECK(!moca_ahead_join(a));
	for (i = 0; i < count; i++)
		moca_cursor_close(cursors[i]);
	for (i = 0; i < MOCA_AHEAD_CURSORS_MAX; i++)
		CHECK(moca_ahead_join(a));
	CHECK(!moca_ahead_join(a));
	moca_ahead_free(a);
	moca_trace_close(t);
	return 0;
}

static unsigned jobs_run;

static void count_job(struct moca_ahead_job *job)
{
	jobs_run++;
}

/* The signals that the one other thread of this process blocks; 0: there is none. */
static uint64_t blocked_by_other(void)
{
	char mask[64];
	uint64_t blocked = 0;
	struct dirent *e;
	DIR *d = opendir("/proc/self/task");

	while (d && (e = readdir(d)))
		if (atoi(e->d_name) && atoi(e->d_name) != getpid() &&
		    !moca_proc_status(mask, sizeof(mask), atoi(e->d_name),
				      "SigBlk:"))
			blocked = strtoull(mask, NULL, 16);
	closedir(d);
	return blocked;
}

static int t_thread(void)
{
	const uint64_t usual = 1ull << (SIGINT - 1) | 1ull << (SIGTERM - 1) |
			       1ull << (SIGPIPE - 1) | 1ull << (SIGCHLD - 1);
	struct moca_ahead_job job = { .work = count_job };
	struct moca_ahead *a = moca_ahead_new();
	cpu_set_t one, all;
	unsigned cpu = 0;

	CHECK(!blocked_by_other());
	if (may_use_two_cpus()) {
		CHECK(moca_ahead_join(a));
		moca_ahead_put(a, &job);
		wait_done(a, 1);
		CHECK((blocked_by_other() & usual) == usual);
		CHECK(moca_ahead_take(a, &job) && jobs_run == 1);
		moca_ahead_leave(a);
	}
	moca_ahead_free(a);
	/* The kernel shows it until a moment after it has ended. */
	while (blocked_by_other())
		sched_yield();
	CHECK(!sched_getaffinity(0, sizeof(all), &all));
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK(!sched_setaffinity(0, sizeof(one), &one));
	a = moca_ahead_new();
	CHECK(!moca_ahead_join(a) && !blocked_by_other());
	moca_ahead_free(a);
	CHECK(!sched_setaffinity(0, sizeof(all), &all));
	return 0;
}

/* What the tool reads by time has the thread, for as long as it reads. */
static int t_timeline(void)
{
	struct moca_timeline_item x;
	struct moca_timeline *tl;
	struct moca_trace *t;
	uint64_t last = 0, n = 0, told = 0;
	int threads = 0, ret;
	size_t i;

	write_trace();
	CHECK(!moca_trace_open(&t, dir));
	for (i = 0; i < moca_trace_task_count(t); i++)
		told += moca_trace_task(t, i)->accesses;
	CHECK(!moca_timeline_open(&tl, t, NULL));
	while ((ret = moca_timeline_next(tl, &x)) > 0) {
		CHECK(x.time_ns >= last);
		last = x.time_ns;
		n += x.count;
		threads |= blocked_by_other() != 0;
	}
	CHECK(!ret && n == told);
	CHECK(threads == may_use_two_cpus());
	moca_timeline_close(tl);
	moca_trace_close(t);
	while (blocked_by_other())
		sched_yield();
	return 0;
}

int main(void)
{
	run("ahead/same", t_same);
	run("ahead/damaged", t_damaged);
	run("ahead/stopped", t_stopped);
	run("ahead/many", t_many);
	run("ahead/thread", t_thread);
	run("ahead/timeline", t_timeline);
	dir_remove();
	return failures != 0;
}
