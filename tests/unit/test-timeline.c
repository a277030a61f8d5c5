// SPDX-License-Identifier: GPL-2.0-or-later
/* The timeline: all records of all tasks, by time. */
#include <dirent.h>
#include <sys/resource.h>

#include "analysis/timeline.h"
#include "tests/unit/event-trace.h"

#define MORE_MAX 64		/* runs at a time */
#define INTERVAL 7u
#define TASKS 7
#define ACCESSES 5000
#define MANY 300
#define MANY_CHUNKS 4
#define LARGE 8000
#define LARGE_CHUNKS 4

struct seen {
	uint64_t time_ns;
	uint32_t task;
	int kind;
};

static struct moca_writer *w;

static void begin(void)
{
	dir_new();
	put_meta("complete");
	if (moca_writer_create(&w, dirfd_))
		abort();
}

static void put_change(uint32_t task, uint32_t type, uint64_t time)
{
	struct moca_change e = start_of(100, 100 + task, time);

	e.type = type;
	if (moca_writer_changes(w, task, &e, 1))
		abort();
}

static void put_accesses(uint32_t task, const uint64_t *times, size_t n)
{
	static struct moca_access a[65536];
	struct moca_chunk_info info = { .task = task, .interval = INTERVAL,
					.begin_ns = times[0],
					.end_ns = times[n - 1] };
	size_t i;

	for (i = 0; i < n; i++)
		a[i] = (struct moca_access){ .addr = 4096 * i, .time_ns =
					     times[i], .ip = task, .weight = 1 };
	if (moca_writer_accesses(w, &info, a, n))
		abort();
}

/* Two events a stream, by the thread with that tid. */
static void put_events(uint32_t stream, uint32_t tid, uint64_t t1, uint64_t t2)
{
	struct moca_event_writer *mw;
	struct moca_event_chunk c;
	struct moca_change e = start_of(100, tid, t1);

	if (moca_event_writer_create(&mw, dirfd_) ||
	    moca_event_writer_type(mw, ID, "f", "e", "u8 a\n"))
		abort();
	records_reset(&r);
	payload_int(&r, 1, 1);
	records_event(&r, t1, ID);
	payload_int(&r, 2, 1);
	records_event(&r, t2, ID);
	c = records_chunk(&r, stream);
	c.clock_before = t1;
	if (moca_event_writer_changes(mw, stream, &e, 1) ||
	    moca_event_writer_chunk(mw, &c))
		abort();
	moca_event_writer_destroy(mw);
}

static int compare_seen(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind - y->kind;
	return x->task < y->task ? -1 : x->task > y->task;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Runs behind an item of accesses, `runs` at a time: how many accesses; -1. */
static ssize_t read_more(struct moca_timeline *tl, struct moca_trace *t,
			 struct seen *out, size_t max, size_t runs)
{
	struct moca_timeline_run list[MORE_MAX], *run;
	size_t n = 0, i, k, count;

	while ((count = moca_timeline_more(tl, list, runs)))
		for (k = 0; k < count; k++) {
			uint32_t task;

			run = &list[k];
			task = moca_trace_task(t, run->task_index)->id;
			if (!run->count || run->interval != INTERVAL)
				return -1;
			for (i = 0; i < run->count && n < max; i++) {
				if (run->accesses[i].ip != task)
					return -1;
				out[n++] = (struct seen){
					run->accesses[i].time_ns, task,
					MOCA_TIMELINE_ACCESSES };
			}
		}
	return (ssize_t)n;
}

/* What it returns; the number, or -1. runs: 0, or so many further runs at a time. */
static ssize_t read_with(const struct moca_query *q, struct seen *out,
			 size_t max, size_t runs)
{
	struct moca_timeline_item item;
	struct moca_timeline *tl;
	struct moca_trace *t;
	size_t n = 0, i;
	ssize_t more;
	int ret;

	if (moca_trace_open(&t, dir) || moca_timeline_open(&tl, t, q))
		return -1;
	while ((ret = moca_timeline_next(tl, &item)) > 0) {
		if (item.kind != MOCA_TIMELINE_ACCESSES) {
			if (n < max)
				out[n++] = (struct seen){ item.time_ns,
					item.task->id, (int)item.kind };
			continue;
		}
		if (!item.count ||
		    item.accesses[0].time_ns != item.time_ns)
			ret = -1;
		for (i = 0; i < item.count && n < max; i++) {
			if (item.accesses[i].ip != item.task->id)
				ret = -1;
			out[n++] = (struct seen){ item.accesses[i].time_ns,
				item.task->id, (int)item.kind };
		}
		more = runs ? read_more(tl, t, out + n, max - n, runs) : 0;
		if (ret < 0 || more < 0)
			break;
		n += (size_t)more;
	}
	moca_timeline_close(tl);
	moca_trace_close(t);
	return ret ? -1 : (ssize_t)n;
}

/* The same, which further runs do not change. */
static ssize_t read_all(const struct moca_query *q, struct seen *out, size_t max)
{
	static struct seen other[TASKS * (ACCESSES + 10)];
	static const size_t runs[] = { 1, 3, MORE_MAX };
	ssize_t n = read_with(q, out, max, 0);

	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++)
		if (read_with(q, other, max, runs[i]) != n ||
		    (n > 0 && memcmp(other, out, (size_t)n * sizeof(*out))))
			return -1;
	return n;
}

static struct seen expected[TASKS * (ACCESSES + 10)], got[TASKS * (ACCESSES + 10)];

static int merged_by_time(void)
{
	static uint64_t times[ACCESSES];
	size_t n = 0, i;
	uint32_t task;

	begin();
	for (task = 0; task < TASKS; task++) {
		uint64_t start = 1000 + 500 * task;

		put_change(task, MOCA_CHANGE_TASK_START, start);
		expected[n++] = (struct seen){ start, task,
					       MOCA_TIMELINE_CHANGE };
		/* Few distinct times: many records at one. */
		for (i = 0; i < ACCESSES; i++)
			times[i] = start + rnd() % 3000;
		qsort(times, ACCESSES, sizeof(*times), compare_u64);
		put_accesses(task, times, ACCESSES / 2);
		put_accesses(task, times + ACCESSES / 2, ACCESSES / 2);
		for (i = 0; i < ACCESSES; i++)
			expected[n++] = (struct seen){ times[i], task,
				MOCA_TIMELINE_ACCESSES };
		put_change(task, MOCA_CHANGE_NAME, start + 1234);
		expected[n++] = (struct seen){ start + 1234, task,
					       MOCA_TIMELINE_CHANGE };
	}
	put_events(0, 103, 2600, 3300);
	expected[n++] = (struct seen){ 2600, 3, MOCA_TIMELINE_EVENT };
	expected[n++] = (struct seen){ 3300, 3, MOCA_TIMELINE_EVENT };
	moca_writer_destroy(w);
	qsort(expected, n, sizeof(*expected), compare_seen);
	CHECK(read_all(NULL, got, sizeof(got) / sizeof(*got)) == (ssize_t)n);
	for (i = 0; i < n; i++)
		CHECK(!compare_seen(&expected[i], &got[i]));
	return 0;
}

/* Of the trace of the case before. */
static int query_bounds_accesses(void)
{
	struct moca_query q = { .size = sizeof(q), .begin_ns = 2000,
				.end_ns = 3000, .task = 1, .one_task = 1 };
	ssize_t n = read_all(&q, got, sizeof(got) / sizeof(*got)), i;
	size_t accesses = 0, changes = 0, events = 0;

	CHECK(n > 0);
	for (i = 0; i < n; i++) {
		changes += got[i].kind == MOCA_TIMELINE_CHANGE;
		events += got[i].kind == MOCA_TIMELINE_EVENT;
		if (got[i].kind != MOCA_TIMELINE_ACCESSES)
			continue;
		accesses++;
		CHECK(got[i].task == 1);
		CHECK(got[i].time_ns >= 2000 && got[i].time_ns < 3000);
	}
	CHECK(changes == 2 * TASKS && events == 2 && accesses > 100);
	return 0;
}

static size_t descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Tasks that live one after the other take no more than a few at a time. */
static int few_descriptors(void)
{
	struct moca_timeline_item item;
	struct moca_timeline *tl;
	struct moca_trace *t;
	uint64_t time, last = 0;
	size_t n = 0, max = 0, now_open;
	uint32_t task;
	int ret;

	begin();
	for (task = 0; task < 2000; task++) {
		time = 1000 + 100 * task;
		put_change(task, MOCA_CHANGE_TASK_START, time);
		put_accesses(task, (uint64_t[]){ time + 5, time + 7 }, 2);
		put_change(task, MOCA_CHANGE_TASK_END, time + 9);
	}
	moca_writer_destroy(w);
	CHECK(!moca_trace_open(&t, dir));
	CHECK(!moca_timeline_open(&tl, t, NULL));
	while ((ret = moca_timeline_next(tl, &item)) > 0) {
		CHECK(item.time_ns >= last);
		last = item.time_ns;
		if (n++ % 16 == 0) {
			now_open = descriptors();
			max = now_open > max ? now_open : max;
		}
	}
	CHECK(!ret && n == 3 * 2000);
	CHECK(max < 30);
	moca_timeline_close(tl);
	moca_trace_close(t);
	return 0;
}

static size_t expect(size_t n, uint64_t time, uint32_t task, int kind)
{
	expected[n] = (struct seen){ time, task, kind };
	return n + 1;
}

/* So much that the task gets a file of its own beside task-shared. */
static size_t put_large(size_t n, uint32_t task, uint64_t start)
{
	static uint64_t times[LARGE];
	size_t i, chunk;

	for (chunk = 0; chunk < LARGE_CHUNKS; chunk++) {
		for (i = 0; i < LARGE; i++)
			times[i] = start + (chunk << 50) + rnd() % (1ull << 50);
		qsort(times, LARGE, sizeof(*times), compare_u64);
		put_accesses(task, times, LARGE);
		for (i = 0; i < LARGE; i++)
			n = expect(n, times[i], task, MOCA_TIMELINE_ACCESSES);
	}
	return n;
}

static size_t put_many(void)
{
	uint64_t times[2];
	uint32_t task, i;
	size_t n = 0;

	begin();
	for (task = 0; task < MANY; task++) {
		put_change(task, MOCA_CHANGE_TASK_START, 1000 + task);
		n = expect(n, 1000 + task, task, MOCA_TIMELINE_CHANGE);
		for (i = 0; i < MANY_CHUNKS; i++) {
			times[0] = 5000 + 10000 * i + rnd() % 4000;
			times[1] = times[0] + rnd() % 4000;
			put_accesses(task, times, 2);
			n = expect(n, times[0], task, MOCA_TIMELINE_ACCESSES);
			n = expect(n, times[1], task, MOCA_TIMELINE_ACCESSES);
		}
		put_change(task, MOCA_CHANGE_NAME, 90000 + task);
		n = expect(n, 90000 + task, task, MOCA_TIMELINE_CHANGE);
	}
	n = put_large(n, MANY - 1, 100000);
	put_events(0, 103, 2600, 3300);
	put_events(1, 100 + MANY - 1, 2700, 89000);
	n = expect(n, 2600, 3, MOCA_TIMELINE_EVENT);
	n = expect(n, 3300, 3, MOCA_TIMELINE_EVENT);
	n = expect(n, 2700, MANY - 1, MOCA_TIMELINE_EVENT);
	n = expect(n, 89000, MANY - 1, MOCA_TIMELINE_EVENT);
	moca_writer_destroy(w);
	qsort(expected, n, sizeof(*expected), compare_seen);
	return n;
}

/* Of tasks that all live at one time, too: fewer descriptors than tasks. */
static int many_at_once(void)
{
	struct rlimit was, few;
	size_t n = put_many(), i;
	ssize_t found;
	char own[32];

	snprintf(own, sizeof(own), "task-%d", MANY - 1);
	CHECK(!faccessat(dirfd_, own, R_OK, 0));
	CHECK(!getrlimit(RLIMIT_NOFILE, &was));
	few = was;
	few.rlim_cur = 200;
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	found = read_all(NULL, got, sizeof(got) / sizeof(*got));
	CHECK(!setrlimit(RLIMIT_NOFILE, &was));
	CHECK(found == (ssize_t)n);
	for (i = 0; i < n; i++)
		CHECK(!compare_seen(&expected[i], &got[i]));
	return 0;
}

/* A file that was given back, and is another once it is needed again. */
static int swapped(void)
{
	struct moca_timeline_item item;
	struct moca_timeline *tl;
	struct moca_trace *t;
	int ret;

	put_many();
	CHECK(!moca_trace_open(&t, dir));
	CHECK(!moca_timeline_open(&tl, t, NULL));
	do
		ret = moca_timeline_next(tl, &item);
	while (ret > 0 && item.kind != MOCA_TIMELINE_ACCESSES);
	CHECK(ret == 1);
	CHECK(!linkat(dirfd_, "task-0", dirfd_, "other", 0));
	CHECK(!renameat(dirfd_, "other", dirfd_, "task-shared"));
	while ((ret = moca_timeline_next(tl, &item)) > 0)
		;
	CHECK(ret == -ESTALE);
	moca_timeline_close(tl);
	moca_trace_close(t);
	return 0;
}

static int empty_trace(void)
{
	dir_new();
	put_meta("complete");
	CHECK(read_all(NULL, got, 10) == 0);
	return 0;
}

static int bad_query(void)
{
	struct moca_query q = { .size = sizeof(q), .begin_ns = 5, .end_ns = 4 };
	struct moca_timeline *tl;
	struct moca_trace *t;

	dir_new();
	put_meta("complete");
	CHECK(!moca_trace_open(&t, dir));
	CHECK(moca_timeline_open(&tl, t, &q) == -EINVAL);
	moca_trace_close(t);
	return 0;
}

/* Closed in the middle: nothing is left open. */
static int closed_early(void)
{
	struct moca_timeline_item item;
	struct moca_timeline *tl;
	struct moca_trace *t;
	size_t before;
	uint64_t times[] = { 2000, 2001 };

	begin();
	put_change(0, MOCA_CHANGE_TASK_START, 1000);
	put_accesses(0, times, 2);
	moca_writer_destroy(w);
	before = descriptors();
	CHECK(!moca_trace_open(&t, dir));
	CHECK(!moca_timeline_open(&tl, t, NULL));
	CHECK(moca_timeline_next(tl, &item) == 1);
	CHECK(item.kind == MOCA_TIMELINE_CHANGE);
	moca_timeline_close(tl);
	moca_trace_close(t);
	CHECK(descriptors() == before);
	return 0;
}

int main(void)
{
	run("timeline: all records by time", merged_by_time);
	run("timeline: the query bounds accesses only", query_bounds_accesses);
	run("timeline: few descriptors", few_descriptors);
	run("timeline: many tasks at once", many_at_once);
	run("timeline: a file that is swapped", swapped);
	run("timeline: empty trace", empty_trace);
	run("timeline: bad query", bad_query);
	run("timeline: closed early", closed_early);
	dir_remove();
	return failures != 0;
}
