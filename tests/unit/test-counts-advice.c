// SPDX-License-Identifier: GPL-2.0-or-later
/* What is found in counts; and that nothing is where one thing is otherwise. */
#include "analysis/advice/advice.h"
#include "analysis/counts/counts.h"
#include "analysis/counts/profile.h"
#include "tests/unit/objects-trace.h"

#define MS 1000000ull
#define PAGES 2048u

static struct moca_profile *profile;
static struct moca_advice *advice;
static uint64_t start;

static void begin(unsigned threads)
{
	unsigned i;

	start_program();
	for (i = 1; i < threads; i++)
		start_task(i, 100, 100 + i, 0, MOCA_TASK_THREAD);
	put_stack(0, 1, 1);
	put_alloc(0, HEAP, PAGES * PAGE, 1, MOCA_ALLOC_MALLOC);
	start = clock_ns + 1000;
}

static void slice(uint32_t task, unsigned k, unsigned shift)
{
	put_slice(task, k, shift, start + k * 100 * MS,
		    start + (k + 1) * 100 * MS - 1);
}

static int found(void)
{
	struct moca_topology two;

	clock_ns = start + 5000 * MS;
	put_change(0, MOCA_CHANGE_TASK_END);
	trace_end();
	moca_advice_free(advice);
	moca_profile_free(profile);
	moca_trace_close(trace);
	advice = NULL;
	profile = NULL;
	trace = NULL;
	if (moca_trace_open(&trace, dir) ||
	    moca_topology_parse(&two, "2x1", trace) ||
	    moca_profile_compute(&profile, trace, &two) ||
	    moca_advice_compute(&advice, trace, profile))
		return -1;
	return (int)advice->count;
}

static int noted(const char *text)
{
	size_t i;

	for (i = 0; i < advice->note_count; i++)
		if (strstr(advice->notes[i], text))
			return 1;
	return 0;
}

/* Line 1 in `slices` slices: by task 0, by task 1: loads, stores. */
static void line(unsigned slices, uint64_t l0, uint64_t s0, uint64_t l1,
		 uint64_t s1, int neighbours)
{
	unsigned k;

	begin(2);
	for (k = 0; k < slices; k++) {
		slice(0, k, 6);
		if (neighbours)
			put_count(0, HEAP, 1000, 0, 0);
		if (l0 | s0)
			put_count(0, HEAP + 64, l0, s0, 0);
		slice(1, k, 6);
		if (l1 | s1)
			put_count(1, HEAP + 64, l1, s1, 0);
		if (neighbours)
			put_count(1, HEAP + 128, 1000, 0, 0);
	}
}

static int t_lines(void)
{
	line(20, 0, 200000, 0, 200000, 0);
	CHECK(found() == 1);
	CHECK(advice->findings[0].kind == MOCA_FINDING_SHARED_LINES);
	CHECK(advice->findings[0].confidence == MOCA_CONFIDENCE_LOW);
	CHECK(strstr(advice->findings[0].title, "true or false sharing"));
	CHECK(profile->counts->line_count == 1);
	CHECK(profile->counts->lines[0].contended == 20 * 200000);
	CHECK(profile->counts->lines[0].slices == 20);
	/* one writes, one reads: as much as is written */
	line(20, 0, 90000, 500000, 0, 0);
	CHECK(found() == 1);
	CHECK(profile->counts->lines[0].contended == 20 * 90000);
	CHECK(profile->counts->lines[0].writers == 1);
	/* where two parts meet */
	line(20, 0, 200000, 0, 200000, 1);
	CHECK(found() == 1);
	CHECK(advice->findings[0].confidence == MOCA_CONFIDENCE_HIGH);
	CHECK(strstr(advice->findings[0].title, "(false sharing)"));
	return 0;
}

/*
 * Two threads count in neighbouring bytes; the main thread clears these at first
 * and adds them up at the end, in the only slices where it comes near. It has
 * least of the blame, and is a number beside the two.
 */
static int t_blame(void)
{
	const struct moca_counts_user *u;
	char *const *e;
	const char *a, *b;
	unsigned k, named = 0;
	size_t n;

	begin(3);
	for (k = 0; k < 20; k++) {
		slice(0, k, 6);
		if (!k || k > 17)
			put_count(0, HEAP + 64, 10, 10, 0);
		slice(1, k, 6);
		put_count(1, HEAP + 64, 0, 200000, 0);
		slice(2, k, 6);
		put_count(2, HEAP + 64, 0, 100000, 0);
	}
	CHECK(found() == 1);
	u = moca_counts_users(profile->counts, &profile->counts->lines[0], &n);
	CHECK(n == 3 && u[0].task == 1 && u[0].stores == 20 * 200000);
	CHECK(u[1].task == 2 && u[1].stores == 20 * 100000);
	CHECK(u[2].task == 0 && u[2].loads == 30 && u[2].stores == 30);
	for (e = advice->findings[0].evidence; *e; e++) {
		if (strncmp(*e, "accesses to these lines", 23))
			continue;
		a = strstr(*e, "thread #1 (");
		b = strstr(*e, "thread #2 (");
		named = a && b && a < b && strstr(*e, " 66.7 % (4000000 stores)") &&
			!strstr(*e, "thread #0 (") &&
			strstr(*e, "; 1 other less than 0.1 % each");
	}
	CHECK(named == 1);
	/* Not more than all of the time of those who are there. */
	CHECK(strstr(advice->findings[0].evidence[0], "at most"));
	CHECK(!strstr(advice->findings[0].try_[1], "pragma"));
	return 0;
}

/* A slice of one thread ends after the next one of another has begun. */
static int t_skewed(void)
{
	unsigned k;

	begin(3);
	for (k = 0; k < 20; k++) {
		slice(0, k, 6);
		put_count(0, HEAP + 64, 0, 200000, 0);
		put_slice(1, k, 6, start + (k * 100 + 70) * MS,
			    start + (k * 100 + 170) * MS - 1);
		put_count(1, HEAP + 64, 0, 200000, 0);
		slice(2, k, 6);
		put_count(2, HEAP + 64, 2, 0, 0);
	}
	CHECK(found() == 1);
	CHECK(profile->counts->lines[0].slices == 20);
	CHECK(profile->counts->lines[0].contended == 20 * 200002);
	return 0;
}

static int t_quiet_lines(void)
{
	unsigned k, i;

	/* nobody writes */
	line(20, 500000, 0, 500000, 0, 1);
	CHECK(found() == 0 && !profile->counts->lines[1].contended);
	CHECK(!advice->undecided);
	/* hardly anybody */
	line(20, 500000, 10, 500000, 10, 1);
	CHECK(found() == 0);
	/* alone */
	line(20, 500000, 500000, 0, 0, 1);
	CHECK(found() == 0);
	/* in one slice: perhaps one after the other */
	line(1, 0, 4000000, 0, 4000000, 0);
	slice(0, 1, 6);
	put_count(0, HEAP + 64, 1, 1, 0);
	CHECK(found() == 0 && profile->counts->slices == 2);
	/* one after the other, in slices of their own */
	begin(2);
	for (k = 0; k < 20; k++) {
		slice(k & 1, k, 6);
		put_count(k & 1, HEAP, 500000, 500000, 0);
	}
	CHECK(found() == 0 && !profile->counts->lines[0].contended);
	/* data that is handed over, line by line */
	begin(2);
	for (k = 0; k < 20; k++) {
		slice(0, k, 6);
		for (i = 0; i < 5000; i++)
			put_count(0, HEAP + 64 * i, 0, 64, 0);
		slice(1, k, 6);
		for (i = 0; i < 5000; i++)
			put_count(1, HEAP + 64 * i, 64, 0, 0);
	}
	CHECK(found() == 0);
	/* granules that are no lines */
	begin(2);
	for (k = 0; k < 20; k++)
		for (i = 0; i < 2; i++) {
			slice(i, k, 7);
			put_count(i, HEAP, 500000, 500000, 0);
		}
	CHECK(found() == 0 && noted("granules of 128 bytes"));
	return 0;
}

/*
 * All of the run is one slice: threads that live at one time and have most of a
 * line each are told, with low confidence.
 */
static int t_unsliced(void)
{
	const struct moca_finding *f;

	begin(3);
	slice(1, 0, 6);
	put_count(1, HEAP + 64, 0, 4000000, 0);
	slice(2, 0, 6);
	put_count(2, HEAP + 64, 0, 4000000, 0);
	CHECK(found() == 1 && noted("whether at the same time was not"));
	f = &advice->findings[0];
	CHECK(f->kind == MOCA_FINDING_SHARED_LINES &&
	      f->confidence == MOCA_CONFIDENCE_LOW);
	CHECK(strstr(f->evidence[1], "--slice 100ms tells"));
	/* The same with std::thread: in words of C++, without OpenMP. */
	begin(3);
	put_map(0, CODE + (16 << 20), PAGE, "/lib/libstdc++.so.6");
	slice(1, 0, 6);
	put_count(1, HEAP + 64, 0, 4000000, 0);
	slice(2, 0, 6);
	put_count(2, HEAP + 64, 0, 4000000, 0);
	CHECK(found() == 1);
	CHECK(strstr(advice->findings[0].try_[0], "struct alignas(64)"));
	CHECK(!strstr(advice->findings[0].try_[1], "omp"));
	/* The first thread may have prepared it, and waits. */
	line(1, 0, 4000000, 0, 4000000, 0);
	CHECK(found() == 0 && noted("whether at the same time was not"));
	CHECK(advice->undecided);
	/* One came when the other had ended. */
	begin(2);
	slice(1, 0, 6);
	put_count(1, HEAP + 64, 0, 4000000, 0);
	clock_ns = start + 100 * MS;
	put_change(1, MOCA_CHANGE_TASK_END);
	start_task(2, 100, 102, 0, MOCA_TASK_THREAD);
	put_slice(2, 0, 6, start + 101 * MS, start + 200 * MS);
	put_count(2, HEAP + 64, 0, 4000000, 0);
	CHECK(found() == 0);
	/* One hardly comes near. */
	begin(3);
	slice(1, 0, 6);
	put_count(1, HEAP + 64, 0, 4000000, 0);
	slice(2, 0, 6);
	put_count(2, HEAP + 64, 100000, 0, 0);
	CHECK(found() == 0);
	return 0;
}

/* A line that comes when there is no room for more is not lost from sight. */
static int t_no_room(void)
{
	struct moca_counted x = { .granularity = 64, .loads = 1 };
	struct moca_counts_table t;
	uint64_t all = 0, most = 0;
	unsigned i;

	moca_counts_init(&t, NULL);
	for (i = 0; i < 1600000; i++) {
		x.addr = 64ull * i;
		moca_counts_add(&t, &x);
		all += x.loads;
	}
	x.addr = HEAP;
	x.loads = 200;
	for (i = 0; i < 256; i++) {
		moca_counts_add(&t, &x);
		all += x.loads;
	}
	CHECK(!t.err && t.lines_left_out && t.heavy);
	for (i = 0; i < MOCA_COUNTS_HEAVY; i++)
		if (t.heavy[i].granule == HEAP / 64)
			most = t.heavy[i].accesses;
	CHECK(100 * most >= 3 * all);
	moca_counts_free(&t);
	return 0;
}

/* Three threads, of which 1 and 2 use a half each, from `when` ms on. */
static void halves(uint64_t when, uint32_t init, uint64_t uses)
{
	uint32_t task;
	unsigned i;

	begin(3);
	for (task = 0; task < 3; task++) {
		put_slice(task, 0, 12, start, start + 2000 * MS);
		for (i = 0; i < PAGES; i++) {
			uint32_t user = 1 + i / (PAGES / 2);
			uint32_t first = init == 3 ? user : init;
			int64_t at = (int64_t)(start + MS / 4 * i);

			if (task == first)
				put_count(task, HEAP + PAGE * i,
					  task == user ? uses : 0, 512, -at);
			else if (task == user)
				put_count(task, HEAP + PAGE * i, uses, 0,
					  at + (int64_t)(when * MS));
		}
	}
}

static int t_first_touch(void)
{
	halves(1000, 1, 50000);
	CHECK(found() == 1);
	CHECK(advice->findings[0].kind == MOCA_FINDING_SERIAL_TOUCH);
	CHECK(advice->findings[0].after < 0.01);
	CHECK(advice->findings[0].remote[MOCA_POLICY_FIRST_TOUCH] > 0.49);
	CHECK(profile->rows[0].pages == PAGES);
	CHECK(profile->rows[0].private_pages == PAGES / 2);
	/* each its own */
	halves(1000, 3, 50000);
	CHECK(found() == 0);
	CHECK(!profile->rows[0].remote[MOCA_POLICY_FIRST_TOUCH]);
	CHECK(profile->rows[0].private_pages == PAGES);
	/* passed on page by page */
	halves(1, 1, 50000);
	CHECK(found() == 0);
	/* hardly used */
	halves(1000, 1, 20);
	CHECK(found() == 0);
	return 0;
}

/* In slices: one thread works on, the other waits. */
static void parts(unsigned work1, unsigned work2)
{
	unsigned k, i, each;
	uint32_t task;

	begin(2);
	for (k = 0; k < 40; k++)
		for (task = 0; task < 2; task++) {
			each = k % 10 < (task ? work2 : work1) ? 1000 : 0;
			slice(task, k, 12);
			for (i = 0; each && i < PAGES / 2; i++)
				put_count(task, HEAP + PAGE *
					  (i + task * (PAGES / 2)), each, each,
					  0);
		}
}

static int t_unbalanced(void)
{
	parts(10, 3);
	CHECK(found() == 1);
	CHECK(advice->findings[0].kind == MOCA_FINDING_UNBALANCED);
	parts(10, 10);
	CHECK(found() == 0);
	return 0;
}

/* The table: exact at any resolution, all slices joined. */
static int t_table(void)
{
	const struct moca_counts_cell *c;
	uint64_t loads = 0;
	unsigned k, bin;
	size_t n, i;

	begin(2);
	for (k = 0; k < 60; k++) {
		/* numbers that make bins of 64 slices */
		put_slice(k & 1, 512ull * k, 12, start + k * MS,
			    start + (k + 1) * MS - 1);
		put_count(k & 1, HEAP + PAGE * (k % 7), k + 1, 1,
			  k < 7 ? (int64_t)(start + k * MS) : 0);
	}
	CHECK(found() == 0);
	CHECK(profile->counts->slices == 59 * 512 + 1);
	CHECK(profile->counts->joined == 64);
	for (bin = 0; bin < MOCA_COUNTS_BINS; bin++)
		for (k = 0; k < 2; k++)
			loads += profile->counts->tasks[k]->loads[bin];
	CHECK(loads == 60 * 61 / 2);
	c = moca_counts_of(profile->counts, profile->rows[0].object->id, &n);
	CHECK(n == 14);
	for (i = loads = 0; i < n; i++) {
		loads += c[i].loads;
		CHECK(!i || c[i].group > c[i - 1].group ||
		      c[i].task > c[i - 1].task);
		CHECK((c[i].first_ns != 0) == (c[i].task == c[i].group % 2));
	}
	CHECK(loads == 60 * 61 / 2);
	return 0;
}

int main(void)
{
	run("counts/advice: shared lines", t_lines);
	run("counts/advice: who shares a line", t_blame);
	run("counts/advice: slices out of step", t_skewed);
	run("counts/advice: lines that are not", t_quiet_lines);
	run("counts/advice: lines, no slices", t_unsliced);
	run("counts/advice: lines, no room", t_no_room);
	run("counts/advice: first touch", t_first_touch);
	run("counts/advice: unbalanced", t_unbalanced);
	run("counts/advice: table", t_table);
	moca_advice_free(advice);
	moca_profile_free(profile);
	moca_trace_close(trace);
	dir_remove();
	return failures != 0;
}
