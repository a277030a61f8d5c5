// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples of page faults and CPU time: written, and read back as sums. */
#include "analysis/rates.h"
#include "lib/format/rate-writer.h"
#include "tests/unit/trace-util.h"

#define S 1000000000ull
#define PERIOD (S / 20)
#define T0 (100 * S)

static struct moca_rate_writer *w;

static void begin(uint32_t stream)
{
	if (moca_rate_writer_create(&w, dirfd_, stream) ||
	    moca_rate_writer_start(w, 100, "a", T0))
		abort();
}

static void begin_trace(void)
{
	dir_new();
	put_meta("complete");
	if (moca_rate_describe(dirfd_))
		abort();
	begin(MOCA_RATE_STREAM);
	moca_rate_settings(w, T0, PERIOD, "proc");
	moca_rate_task(w, T0, 0, 100, MOCA_RATE_PROCESS, "a");
}

static void sample(uint64_t ns, uint32_t task, uint64_t minor, uint64_t major,
		   uint64_t cpu_ns)
{
	const struct moca_rate_counts c = { minor, major, cpu_ns, PERIOD };

	moca_rate_sample(w, ns, task, &c);
}

/* 0: as moca_rates_compute, of what was written. */
static int compute(struct moca_rates **r, size_t bins)
{
	struct moca_trace *t;
	struct moca_damage d;
	int err = moca_trace_open(&t, dir);

	if (err)
		return err;
	err = moca_rates_compute(r, t, bins);
	moca_trace_damage(t, &d);
	if (!err && (d.files | d.chunks | d.tail_bytes))
		err = -EBADMSG;
	moca_trace_close(t);
	return err;
}

static struct moca_rate_sums sum(const struct moca_rate_sums *b, size_t n)
{
	struct moca_rate_sums s = { 0 };

	for (size_t i = 0; i < n; i++) {
		s.minor += b[i].minor;
		s.own += b[i].own;
		s.major += b[i].major;
		s.cpu_ns += b[i].cpu_ns;
	}
	return s;
}

static int test_none(void)
{
	struct moca_rates *r = (void *)1;

	dir_new();
	put_meta("complete");
	CHECK(!compute(&r, 10));
	CHECK(!r);
	return 0;
}

/* Threads are in their process; children that ended are not. */
static int test_sums(void)
{
	struct moca_rates *r;
	struct moca_rate_sums s;
	uint64_t k;

	begin_trace();
	moca_rate_tick(w, T0, 0, 1, 1);
	moca_rate_task(w, T0 + 1, 1, 100, 101, "thread");
	moca_rate_task(w, T0 + 1, 2, 100, MOCA_RATE_REAPED, "a");
	moca_rate_task(w, T0 + 1, 0, 100, MOCA_RATE_PROCESS, "renamed");
	for (k = 1; k <= 40; k++) {
		sample(T0 + k * PERIOD, 0, 10, 1, PERIOD / 2);
		sample(T0 + k * PERIOD, 1, 4, 0, PERIOD / 4);
		if (k == 20)
			sample(T0 + k * PERIOD, 2, 1000, 0, 0);
		moca_rate_tick(w, T0 + k * PERIOD, PERIOD, 1, 2);
	}
	moca_rate_end(w, T0 + 41 * PERIOD, 0, 1);
	moca_rate_writer_end(w, T0 + 41 * PERIOD);
	CHECK(!moca_rate_writer_close(w));
	CHECK(!compute(&r, 8));
	CHECK(r && r->bin_count == 8 && r->rounds == 41);
	CHECK(r->period_ns == PERIOD && !strcmp(r->source, "proc"));
	CHECK(r->total.minor == 1400 && r->total.major == 40);
	CHECK(r->total.cpu_ns == 20 * PERIOD && !r->has_own);
	s = sum(r->bins, r->bin_count);
	CHECK(!memcmp(&s, &r->total, sizeof(s)));
	CHECK(r->task_count == 3 && r->threads == 2 && r->processes == 1);
	CHECK(!strcmp(r->tasks[0].name, "renamed") && r->tasks[0].seen);
	CHECK(r->tasks[1].total.minor == 160 && !r->tasks[1].end_ns);
	s = sum(r->tasks[1].bins, r->bin_count);
	CHECK(s.minor == 160 && s.cpu_ns == 10 * PERIOD);
	for (k = 0; k < 8; k++)
		CHECK(r->bins[k].minor == (k == 3 ? 1050u : 50u) &&
		      r->covered_ns[k] == 5 * PERIOD);
	moca_rates_free(r);
	return 0;
}

/* Page tracing's own faults: never more than there were, none forgotten. */
static int test_own(void)
{
	struct moca_rates *r;
	struct moca_rate_sums s;
	uint64_t k;

	begin_trace();
	moca_rate_tick(w, T0, 0, 1, 1);
	for (k = 1; k <= 20; k++) {
		sample(T0 + k * PERIOD, 0, k == 11 ? 500 : 10, 0, 0);
		moca_rate_tick(w, T0 + k * PERIOD, PERIOD, 1, 1);
	}
	moca_rate_writer_end(w, T0 + 20 * PERIOD);
	CHECK(!moca_rate_writer_close(w));
	begin(MOCA_RATE_STREAM_OWN);
	/* Those that the sample after the next counted, and at the end. */
	moca_rate_own(w, T0 + 30 * PERIOD, 100, 100, T0 + 8 * PERIOD, 450);
	moca_rate_own(w, T0 + 30 * PERIOD, 100, 100, T0 + 19 * PERIOD, 30);
	/* Of a process that was not sampled. */
	moca_rate_own(w, T0 + 30 * PERIOD, 7, 7, T0 + 3 * PERIOD, 5);
	moca_rate_writer_end(w, T0 + 31 * PERIOD);
	CHECK(!moca_rate_writer_close(w));
	CHECK(!compute(&r, 10));
	CHECK(r && r->has_own && r->bin_count == 10);
	CHECK(r->total.minor == 690 && r->total.own == 485);
	s = sum(r->bins, r->bin_count);
	CHECK(s.own == 485 && s.minor == 690);
	for (k = 0; k < 10; k++)
		CHECK(r->bins[k].own <= r->bins[k].minor);
	CHECK(r->bins[5].own >= 400);
	CHECK(r->tasks[0].total.own == 480);
	moca_rates_free(r);
	/* More than there were of all. */
	begin(MOCA_RATE_STREAM_OWN);
	moca_rate_own(w, T0 + 40 * PERIOD, 100, 100, T0 + 8 * PERIOD, 10000);
	CHECK(!moca_rate_writer_close(w));
	CHECK(!compute(&r, 10));
	CHECK(r->total.own == r->total.minor && r->total.minor == 690);
	CHECK(r->tasks[0].total.own == r->tasks[0].total.minor);
	moca_rates_free(r);
	return 0;
}

/* A short last round: its ticks were of the time before. */
static int test_cpus(void)
{
	struct moca_meta *m = moca_meta_new();
	struct moca_rates *r;
	uint64_t k, end = T0 + 20 * PERIOD + PERIOD / 10, sum_ns = 0;

	begin_trace();
	CHECK(m && !moca_meta_set(m, "state", "complete") &&
	      !moca_meta_set(m, "cpus", "2") && !moca_meta_write(m, dirfd_));
	moca_meta_free(m);
	moca_rate_tick(w, T0, 0, 1, 1);
	for (k = 1; k <= 20; k++) {
		sample(T0 + k * PERIOD, 0, 1, 0, PERIOD);
		moca_rate_tick(w, T0 + k * PERIOD, PERIOD, 1, 1);
	}
	sample(end, 0, 1, 0, 9 * PERIOD);
	moca_rate_tick(w, end, PERIOD / 10, 1, 1);
	CHECK(!moca_rate_writer_close(w));
	CHECK(!compute(&r, 10));
	CHECK(r && r->total.cpu_ns == 29 * PERIOD);
	for (k = 0; k < r->bin_count; k++) {
		CHECK(r->bins[k].cpu_ns <= 2 * r->covered_ns[k]);
		sum_ns += r->bins[k].cpu_ns;
	}
	CHECK(sum_ns == 29 * PERIOD);
	moca_rates_free(r);
	return 0;
}

/* One that is not looked at in each round: its counts are of all the time. */
static int test_long(void)
{
	const struct moca_rate_counts c = { 1003, 7, 40 * PERIOD,
					    20 * PERIOD };
	struct moca_rates *r;
	uint64_t k;

	begin_trace();
	moca_rate_tick(w, T0, 0, 1, 1);
	moca_rate_task(w, T0 + 1, 1, 100, 101, "thread");
	for (k = 1; k <= 40; k++) {
		if (k == 30)
			moca_rate_sample(w, T0 + k * PERIOD, 1, &c);
		moca_rate_tick(w, T0 + k * PERIOD, PERIOD, 1, 2);
	}
	CHECK(!moca_rate_writer_close(w));
	CHECK(!compute(&r, 20));
	CHECK(r->bin_count == 20 && !r->total.minor);
	CHECK(r->tasks[1].total.minor == 1003);
	/* From round 10 to 30: bins 5 to 14. */
	for (k = 0; k < 20; k++) {
		const struct moca_rate_sums *b = &r->tasks[1].bins[k];
		int in = k >= 5 && k < 15;

		CHECK(b->cpu_ns == (in ? 4 * PERIOD : 0));
		CHECK(in ? b->minor == 100 || b->minor == 101 : !b->minor);
	}
	CHECK(sum(r->tasks[1].bins, 20).minor == 1003 &&
	      sum(r->tasks[1].bins, 20).major == 7);
	moca_rates_free(r);
	return 0;
}

/* Only the low bits of a time are stored: silence must not lose the rest. */
static int test_silence(void)
{
	struct moca_rates *r;

	begin_trace();
	moca_rate_tick(w, T0, 0, 1, 1);
	sample(T0 + 1000 * S, 0, 3, 0, 0);
	moca_rate_tick(w, T0 + 1000 * S, 1000 * S, 1, 1);
	sample(T0 + 1030 * S, 0, 4, 0, 0);
	moca_rate_tick(w, T0 + 1030 * S, 30 * S, 1, 1);
	CHECK(!moca_rate_writer_close(w));
	CHECK(!compute(&r, 100));
	CHECK(r->begin_ns == T0 && r->end_ns == T0 + 1030 * S);
	CHECK(r->longest_ns == 1000 * S && r->total.minor == 7);
	CHECK(r->bin_count == 1);
	moca_rates_free(r);
	return 0;
}

/* More than a buffer, more tasks than have bins. */
static int test_many(void)
{
	const uint32_t tasks = MOCA_RATES_SERIES + 500;
	struct moca_rates *r;
	uint32_t i, k;

	begin_trace();
	moca_rate_tick(w, T0, 0, 1, 1);
	for (i = 1; i < tasks; i++)
		moca_rate_task(w, T0 + 1, i, 1000 + i, MOCA_RATE_PROCESS, "x");
	for (k = 1; k <= 6; k++) {
		for (i = 0; i < tasks; i++)
			sample(T0 + k * PERIOD, i, i, 0, 1);
		moca_rate_tick(w, T0 + k * PERIOD, PERIOD, tasks, tasks);
	}
	CHECK(!moca_rate_writer_close(w));
	CHECK(!compute(&r, 1000));
	CHECK(r->task_count == tasks && r->bin_count == 3);
	CHECK(r->total.minor == 6ull * tasks * (tasks - 1) / 2);
	CHECK(r->tasks[tasks - 1].total.minor == 6 * (tasks - 1));
	CHECK(r->tasks[MOCA_RATES_SERIES - 1].bins &&
	      !r->tasks[MOCA_RATES_SERIES].bins);
	moca_rates_free(r);
	return 0;
}

/* What no sampler writes: tasks that were not told, huge numbers. */
static int test_odd(void)
{
	struct moca_rates *r;

	begin_trace();
	sample(T0, 77, 5, 5, 5);
	moca_rate_task(w, T0, UINT32_MAX, 1, 1, "far");
	sample(T0, UINT32_MAX, 5, 5, 5);
	moca_rate_end(w, T0, 12345, 1);
	moca_rate_tick(w, T0, UINT64_MAX, 0, 0);
	sample(T0 + 1, 0, UINT64_MAX, UINT64_MAX, UINT64_MAX);
	moca_rate_tick(w, T0 + 1, UINT64_MAX, UINT32_MAX, UINT32_MAX);
	CHECK(!moca_rate_writer_close(w));
	CHECK(!compute(&r, 4));
	CHECK(r->task_count == 1 && r->bin_count == 1);
	CHECK(r->total.minor == UINT64_MAX);
	moca_rates_free(r);
	return 0;
}

int main(void)
{
	run("rates: a trace without samples", test_none);
	run("rates: sums of tasks and bins", test_sums);
	run("rates: faults of page tracing", test_own);
	run("rates: no more CPUs than there are", test_cpus);
	run("rates: samples of a long time", test_long);
	run("rates: silence", test_silence);
	run("rates: many tasks", test_many);
	run("rates: what no sampler writes", test_odd);
	dir_remove();
	return failures ? 1 : 0;
}
