// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hand-made traces of programs that use their memory differently as time goes by:
 * what is found of memory that is idle, hot or grows, and which phases there are.
 */
#include "analysis/overview.h"
#include "lib/format/rate-writer.h"
#include "tests/unit/advice-trace.h"

/* kept: so many pages of the structure are used to the end. */
static int abandoned_but(unsigned kept)
{
	unsigned i;

	begin(1, 5000);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP + 5000 * PAGE, 100 * PAGE, 2, MOCA_ALLOC_MALLOC);
	for (i = 0; i < 60; i++) {
		if (i < 20)
			sweep(0, 0, 5000, MOCA_ACCESS_WRITE);
		else
			sweep(0, 0, kept, MOCA_ACCESS_WRITE);
		sweep(0, 5000, 5100, MOCA_ACCESS_WRITE);
		next();
	}
	return look("2x1");
}

static int abandoned(void)
{
	CHECK(!abandoned_but(0));
	CHECK(object()->patterns & MOCA_PATTERN_ABANDONED);
	CHECK(only(MOCA_FINDING_ABANDONED));
	return 0;
}

/* A small part is used to the end: nothing that can be freed. */
static int abandoned_in_part(void)
{
	CHECK(!abandoned_but(150));
	CHECK(!advice->count);
	return 0;
}

/*
 * 64 buffers of 100 pages of one site, one in each interval; reused: so many of
 * them are used in each, from the last one on.
 */
static int growing(unsigned buffers, unsigned reused)
{
	unsigned i, k;

	begin(1, 100);
	for (i = 1; i < buffers; i++)
		put_alloc(0, HEAP + 100 * i * PAGE, 100 * PAGE, 1,
			  MOCA_ALLOC_MALLOC);
	for (i = 0; i < 64; i++) {
		for (k = 0; k < reused && k <= i; k++)
			sweep(0, (i - k) % buffers * 100,
			      (i - k) % buffers * 100 + 100, MOCA_ACCESS_WRITE);
		next();
	}
	return look("2x1");
}

static int grows(void)
{
	CHECK(!growing(64, 1));
	CHECK(only(MOCA_FINDING_GROWING));
	CHECK(object()->brief_pages >= 4700 && object()->brief_pages <= 4900);
	CHECK(strstr(advice->findings[0].title, "19.2 MiB a second"));
	/* A table that grows and is used, and a ring. */
	CHECK(!growing(64, 64));
	CHECK(!advice->count);
	CHECK(!growing(48, 1));
	CHECK(!advice->count);
	return 0;
}

/*
 * A buffer in each of 24 intervals of 20 ms, then eight in each of six of
 * 1.6 s: these may well be used until the next one begins.
 */
static int grows_unseen(void)
{
	unsigned i, used = 0, more;

	begin(1, 100);
	for (i = 1; i < 72; i++)
		put_alloc(0, HEAP + 100 * i * PAGE, 100 * PAGE, 1,
			  MOCA_ALLOC_MALLOC);
	long_from = 24;
	long_times = 80;
	for (i = 0; i < 30; i++) {
		more = i < 24 ? 100 : 800;
		sweep(0, used, used + more, MOCA_ACCESS_WRITE);
		used += more;
		if (i < 29)
			next();
	}
	CHECK(!look("2x1"));
	long_from = 0;
	CHECK(!advice->count);
	CHECK(object()->brief_pages < object()->pages / 2);
	return 0;
}

/*
 * 2 MiB in each interval, 80 MiB of the same object a part in each: each page of
 * it 3 times in 60 intervals, or `times` as often.
 */
static unsigned tiers_again;	/* that often its block was freed and allocated */

static int tiers(unsigned times, const char *machine)
{
	unsigned i, k;

	begin(1, 512 + 20480);
	for (i = 0; i < tiers_again; i++) {
		put_free(0, HEAP, MOCA_ALLOC_MALLOC);
		put_alloc(0, HEAP, (512 + 20480) * PAGE, 1, MOCA_ALLOC_MALLOC);
	}
	for (i = 0; i < 60; i++) {
		sweep(0, 0, 512, i ? MOCA_ACCESS_READ : MOCA_ACCESS_WRITE);
		for (k = 0; k < times; k++) {
			unsigned from = 512 + (i + 7 * k) % 20 * 1024;

			sweep(0, from, from + 1024, MOCA_ACCESS_READ);
		}
		next();
	}
	return look(machine);
}

static int hot_and_cold(void)
{
	/* One node has no slow one beside it. */
	CHECK(!tiers(1, "one"));
	CHECK(only(MOCA_FINDING_TIERS));
	CHECK(tries("MemoryHigh=") == 1 && !tries("mbind"));
	CHECK(!tiers(1, "2x1"));
	CHECK(tries("MemoryHigh=") == 1 && tries("mbind") == 1);
	CHECK(only(MOCA_FINDING_TIERS));
	CHECK(object()->hot_pages == 512 && object()->hot_first == 0 &&
	      object()->hot_last == 511);
	CHECK(object()->cold_pages == 20480);
	CHECK(strstr(advice->findings[0].evidence[0],
		     "from 0.0 to 2.0 of the 82.0 MiB"));
	CHECK(near((double)profile->hot_ns / INTERVAL_NS, 1.443));
	CHECK(near((double)profile->cold_ns / INTERVAL_NS, 3.476));
	CHECK(strstr(advice->findings[0].evidence[0],
		     "used once in 28.9 ms or more often: "));
	CHECK(strstr(advice->findings[0].evidence[1],
		     "used once in 69.5 ms or less often: "));
	/* Grown once by a copy, or of blocks that come and go. */
	tiers_again = 1;
	CHECK(!tiers(1, "2x1") && only(MOCA_FINDING_TIERS));
	tiers_again = 3;
	CHECK(!tiers(1, "2x1") && !finding(MOCA_FINDING_TIERS));
	CHECK(strstr(check(MOCA_FINDING_TIERS)->missed, "blocks that come and go"));
	tiers_again = 0;
	/* More often: it is not used seldom. */
	CHECK(!tiers(6, "2x1"));
	CHECK(object()->hot_pages == 512 && !object()->cold_pages);
	CHECK(!advice->count);
	return 0;
}

/* So many pages in each interval, others in the next four. */
static int passes(unsigned pages)
{
	unsigned i, from;

	begin(1, 512 + 5 * pages);
	for (i = 0; i < 60; i++) {
		from = 512 + i % 5 * pages;
		sweep(0, 0, 512, i ? MOCA_ACCESS_READ : MOCA_ACCESS_WRITE);
		sweep(0, from, from + pages, MOCA_ACCESS_READ);
		next();
	}
	return look("2x1");
}

/* 1.6 GB/s come from what is used seldom, or 2.2: slow memory is not for that. */
static int cold_but_dear(void)
{
	CHECK(!passes(8000));
	CHECK(only(MOCA_FINDING_TIERS) && object()->cold_pages == 40000);
	CHECK(!passes(11000));
	CHECK(object()->cold_pages == 55000);
	CHECK(!advice->count);
	return 0;
}

/* As abandoned, freed when `done` of 100 intervals are over. */
static int freed_at(unsigned done)
{
	unsigned i;

	begin(1, 5200);
	first_ns = clock_ns + 1000;
	for (i = 0; i < 100; i++) {
		if (i < 20)
			sweep(0, 0, 5000, MOCA_ACCESS_WRITE);
		sweep(0, 6000, 6100, MOCA_ACCESS_WRITE);
		next();
	}
	clock_ns = first_ns + done * INTERVAL_NS;
	put_free(0, HEAP, MOCA_ALLOC_MALLOC);
	return look("2x1");
}

static int freed_late(void)
{
	CHECK(!freed_at(97));
	CHECK(only(MOCA_FINDING_ABANDONED));
	CHECK(!freed_at(60));
	CHECK(!advice->count);
	return 0;
}

/*
 * Intervals of 20 ms, then of 2 s, in which all of it is used: that shows at
 * their begins, and the last one begins in the first half of the time.
 */
static int long_intervals(void)
{
	unsigned i;

	begin(1, 5000);
	long_from = 30;
	long_times = 100;
	for (i = 0; i < 31; i++) {
		sweep(0, 0, 5000, MOCA_ACCESS_WRITE);
		if (i < 30)
			next();
	}
	CHECK(!look("2x1"));
	CHECK(profile->windows * profile->window_ns > 100 * INTERVAL_NS);
	CHECK(!advice->count && !object()->idle_pages);
	/* Nor is there a phase in which nothing is used. */
	CHECK(phases.count == 1 && phases.phases[0].accesses);
	/* What is not used in the first of the long ones is idle. */
	begin(1, 5000);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP + 5000 * PAGE, 100 * PAGE, 2, MOCA_ALLOC_MALLOC);
	for (i = 0; i < 33; i++) {
		if (i < 30)
			sweep(0, 0, 5000, MOCA_ACCESS_WRITE);
		sweep(0, 5000, 5100, MOCA_ACCESS_WRITE);
		if (i < 32)
			next();
	}
	CHECK(!look("2x1"));
	CHECK(only(MOCA_FINDING_ABANDONED) && object()->idle_pages == 5000);
	long_from = 0;
	return 0;
}

/* Where there were intervals, and nothing was used in them, that is a phase. */
static int idle_intervals(void)
{
	unsigned i;

	begin(1, 5000);
	for (i = 0; i < 60; i++) {
		if (i < 20 || i >= 40)
			sweep(0, 0, 5000, MOCA_ACCESS_WRITE);
		if (i < 59)
			next();
	}
	CHECK(!look("2x1"));
	CHECK(phases.count == 3 && !phases.phases[1].accesses);
	return 0;
}

/* --- who works, by CPU time --------------------------------------------------- */

static unsigned cpu_ms[THREADS], process_ms;
static uint64_t period_ns = INTERVAL_NS;
static struct moca_rate_writer *rates;

static void begin_rates(uint64_t ns)
{
	if (moca_rate_describe(dirfd_) ||
	    moca_rate_writer_create(&rates, dirfd_, MOCA_RATE_STREAM_OWN) ||
	    moca_rate_writer_start(rates, 100, "prog", ns))
		abort();
	moca_rate_settings(rates, ns, period_ns, "proc");
	moca_rate_task(rates, ns, 0, 100, MOCA_RATE_PROCESS, "prog");
	moca_rate_tick(rates, ns, 0, 1, THREADS);
}

static void put_cpu(uint64_t ns, uint64_t wall_ns, uint32_t task, unsigned ms)
{
	const struct moca_rate_counts c = { .cpu_ns = ms * 1000000ull,
					    .wall_ns = wall_ns };

	moca_rate_sample(rates, ns, task, &c);
}

/* Task 1 ends, and what it had since its last sample is not known. */
static int loses_end;

static void end_rates(uint64_t ns)
{
	if (moca_rate_writer_end(rates, ns) || moca_rate_writer_close(rates))
		abort();
}

/* When the sampler saw the threads; 0: at the end. They began at a millisecond. */
static uint64_t seen_ns;

/* A sample of each thread, and one of the process. */
static void put_cpu_times(void)
{
	uint64_t ns = seen_ns ? seen_ns : clock_ns + 1000;
	uint32_t i;

	begin_rates(ns);
	for (i = 0; i < THREADS; i++)
		moca_rate_task(rates, ns, 1 + i, 100, 100 + i, "prog");
	for (i = 0; i <= THREADS; i++)
		put_cpu(ns + 1000, 1000, i, i ? cpu_ms[i - 1] : process_ms);
	moca_rate_tick(rates, ns + 1000, 1000, 1, THREADS);
	if (loses_end)
		moca_rate_end(rates, ns + 1500, 1, 0);
	end_rates(ns + 2000);
}

/*
 * The first `cut` pages of 2,048 are thread 0's; both use all of theirs in each
 * interval, however long they rest in it. Their CPU time, and that of all.
 */
static int parts(unsigned cut, unsigned ms0, unsigned ms1, unsigned all)
{
	unsigned i;
	int err;

	begin(THREADS, BIG);
	for (i = 0; i < 12; i++) {
		sweep(0, 0, cut, MOCA_ACCESS_WRITE);
		sweep(1, cut, BIG, MOCA_ACCESS_WRITE);
		next();
	}
	cpu_ms[0] = ms0;
	cpu_ms[1] = ms1;
	process_ms = all;
	put_files = put_cpu_times;
	err = look("2x1");
	put_files = NULL;
	return err;
}

static int rests(void)
{
	const struct moca_finding *f;

	/* Three quarters, but for a page: all of them are used all the time. */
	CHECK(!parts(BIG / 4 + 1, 1000, 3000, 4000));
	CHECK(only(MOCA_FINDING_UNBALANCED));
	f = &advice->findings[0];
	CHECK(f->gain > 0.66 && f->gain < 0.67);
	CHECK(strstr(f->evidence[3], "it had 3.00 s of CPU time, the others 1.00 s"));
	return 0;
}

/* Threads that the sampler saw first are the same; what was seen long before is not. */
static int seen_sooner(void)
{
	seen_ns = 700000;
	CHECK(!parts(BIG / 4 + 1, 1000, 3000, 4000));
	CHECK(only(MOCA_FINDING_UNBALANCED));
	period_ns = 200000;
	CHECK(!parts(BIG / 4 + 1, 1000, 3000, 4000));
	CHECK(!advice->count);
	period_ns = INTERVAL_NS;
	seen_ns = 0;
	return 0;
}

/* Within the time between two samples, both may have worked as long. */
static int ends_between_samples(void)
{
	const struct moca_finding *f;

	/* Samples are INTERVAL_NS apart. */
	CHECK(!parts(BIG / 4 + 1, 65, 100, 165));
	CHECK(only(MOCA_FINDING_UNBALANCED));
	loses_end = 1;
	CHECK(!parts(BIG / 4 + 1, 65, 100, 165));
	CHECK(!advice->count);
	/* Of a longer run it does not matter. */
	CHECK(!parts(BIG / 4 + 1, 1000, 3000, 4000));
	loses_end = 0;
	CHECK(only(MOCA_FINDING_UNBALANCED));
	f = &advice->findings[0];
	CHECK(f->gain > 0.65 && f->gain < 0.67);
	return 0;
}

/* What a thread that ended had behind its last sample is not other threads'. */
static int ends_unsampled(void)
{
	CHECK(!parts(BIG / 4 + 1, 200, 440, 720));
	CHECK(!advice->count);
	loses_end = 1;
	CHECK(!parts(BIG / 4 + 1, 200, 440, 720));
	CHECK(only(MOCA_FINDING_UNBALANCED));
	/* But half of all is more than that. */
	CHECK(!parts(BIG / 4 + 1, 100, 260, 720));
	CHECK(!advice->count);
	loses_end = 0;
	return 0;
}

/*
 * One thread has half of the pages, and works on them in the first interval alone;
 * whole: it is first in all pages, the other's as well.
 */
static int helper(unsigned whole)
{
	unsigned i;
	int err;

	begin(THREADS, BIG);
	sweep(0, 0, whole ? BIG : BIG / 2, MOCA_ACCESS_WRITE);
	for (i = 0; i < 30; i++) {
		sweep(1, whole ? 0 : BIG / 2, BIG, MOCA_ACCESS_WRITE);
		next();
	}
	cpu_ms[0] = 40;
	cpu_ms[1] = 1000;
	process_ms = 1040;
	put_files = put_cpu_times;
	err = look("2x1");
	put_files = NULL;
	return err;
}

static int hardly_works(void)
{
	size_t i;

	CHECK(!helper(0));
	CHECK(only(MOCA_FINDING_UNBALANCED));
	CHECK(advice->findings[0].gain > 0.9);
	/* Who prepared all of it for the other has no part of it. */
	CHECK(!helper(1));
	for (i = 0; i < advice->count; i++)
		CHECK(advice->findings[i].kind != MOCA_FINDING_UNBALANCED);
	return 0;
}

static void many_faults(struct moca_meta *m)
{
	if (moca_meta_set(m, "cost.repeated.ns", "1700000000"))
		abort();
}

static int only_seems_to_rest(void)
{
	/* Two fifths of the CPU time, and more, are the recording's own faults. */
	put_more = many_faults;
	CHECK(!parts(BIG / 4 + 1, 1000, 3000, 4000));
	put_more = NULL;
	CHECK(!advice->count);
	/* As unequal, but the smaller part takes as much time. */
	CHECK(!parts(BIG / 4, 3000, 3000, 6000));
	CHECK(!advice->count);
	/* Or more: the other one waits for this. */
	CHECK(!parts(BIG / 4, 3000, 1000, 4000));
	CHECK(!advice->count);
	/* Equal parts, of which one takes longer, or its thread does something else. */
	CHECK(!parts(BIG / 2, 1000, 3000, 4000));
	CHECK(!advice->count);
	/* A quarter of the program's CPU time is of threads that were not seen. */
	CHECK(!parts(BIG / 4, 750, 2250, 4000));
	CHECK(!advice->count);
	/* Too little to have been sampled. */
	CHECK(!parts(BIG / 4, 20, 60, 80));
	CHECK(!advice->count);
	return 0;
}

/* It touches nothing in half of the time, and has CPU time as the other. */
static int works_without_memory(void)
{
	unsigned k;

	for (k = 0; k < 2; k++) {
		unsigned i;

		begin(THREADS, BIG);
		for (i = 0; i < 40; i++) {
			if (i % 2)
				sweep(0, 0, BIG / 8, MOCA_ACCESS_WRITE);
			sweep(1, BIG / 8, BIG, MOCA_ACCESS_WRITE);
			next();
		}
		cpu_ms[0] = k ? 1000 : 100;
		cpu_ms[1] = 1010;
		process_ms = cpu_ms[0] + cpu_ms[1];
		put_files = put_cpu_times;
		CHECK(!look("2x1"));
		put_files = NULL;
		if (k)
			CHECK(!advice->count);
		else
			CHECK(only(MOCA_FINDING_UNBALANCED));
	}
	return 0;
}

static unsigned works_until;

/* 10 ms of CPU time in each interval, but next to none from that one on. */
static void put_working_time(void)
{
	uint64_t ns = first_ns;
	unsigned i;

	begin_rates(ns);
	for (i = 0; i < 64; i++) {
		ns += INTERVAL_NS;
		put_cpu(ns, INTERVAL_NS, 0, i < works_until ? 10 : 0);
		moca_rate_tick(rates, ns, INTERVAL_NS, 1, 1);
	}
	end_rates(ns + 1);
}

/* 48 buffers of 100 pages in as many intervals, none in 16 more. */
static int grows_then_rests(unsigned until)
{
	unsigned i;
	int err;

	begin(1, 100);
	for (i = 1; i < 48; i++)
		put_alloc(0, HEAP + 100 * i * PAGE, 100 * PAGE, 1,
			  MOCA_ALLOC_MALLOC);
	first_ns = clock_ns + 1000;
	for (i = 0; i < 64; i++) {
		if (i < 48)
			sweep(0, 100 * i, 100 * i + 100, MOCA_ACCESS_WRITE);
		touch(0, 10000, MOCA_ACCESS_WRITE);
		next();
	}
	works_until = until;
	put_files = put_working_time;
	err = look("2x1");
	put_files = NULL;
	return err;
}

static int grows_while_it_works(void)
{
	/* It has no CPU, or nothing to do, in the last quarter of the time. */
	CHECK(!grows_then_rests(48));
	CHECK(only(MOCA_FINDING_GROWING));
	CHECK(strstr(advice->findings[0].evidence[2], "quarter of the CPU time: 2"));
	/* It works on, and nothing grows. */
	CHECK(!grows_then_rests(64));
	CHECK(!finding(MOCA_FINDING_GROWING));
	return 0;
}

/* Two phases: one object, then the other. */
static int two_phases(void)
{
	const struct moca_phase *last;
	unsigned i;

	begin(1, 100);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP + 100 * PAGE, 100 * PAGE, 2, MOCA_ALLOC_MALLOC);
	for (i = 0; i < 40; i++) {
		if (i < 20)
			sweep(0, 0, 100, MOCA_ACCESS_WRITE);
		else
			sweep(0, 100, 200, MOCA_ACCESS_READ);
		if (i < 39)
			next();
	}
	CHECK(!look("2x1"));
	CHECK(phases.count >= 2 && phases.count <= 4);
	last = &phases.phases[phases.count - 1];
	/* Behind the last access there may be some time. */
	last -= !last->accesses;
	CHECK(phases.phases[0].top[0].writes &&
	      !phases.phases[0].top[0].reads);
	CHECK(last->top[0].reads && !last->top[0].writes);
	CHECK(phases.phases[0].top[0].object != last->top[0].object);
	return 0;
}

/* One object has two phases, the other none: only the first is divided. */
static int overview(void)
{
	struct moca_overview x;
	uint64_t accesses = 0;
	unsigned i, own = 0;

	begin(1, 100);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP + 100 * PAGE, 100 * PAGE, 2, MOCA_ALLOC_MALLOC);
	for (i = 0; i < 64; i++) {
		sweep(0, 0, 100, i < 32 ? MOCA_ACCESS_WRITE :
					  MOCA_ACCESS_READ);
		sweep(0, 100, 150, MOCA_ACCESS_READ);
		next();
	}
	CHECK(!look("2x1") && !moca_overview_compute(&x, profile, 0));
	CHECK(x.objects == 2 && x.quality_count > 1);
	for (i = 0; i < x.count; i++) {
		accesses += x.areas[i].reads + x.areas[i].writes;
		own += x.areas[i].object &&
		       x.areas[i].object->object->addr != HEAP;
	}
	CHECK(accesses == profile->accesses);
	/* Both ends may have a slice of their own. */
	CHECK(own >= 1 && own <= 3);
	moca_overview_free(&x);
	CHECK(!moca_overview_compute(&x, profile, 1));
	CHECK(x.count && x.count <= 8);
	moca_overview_free(&x);
	return 0;
}

int main(void)
{
	run("abandoned", abandoned);
	run("abandoned-in-part", abandoned_in_part);
	run("grows", grows);
	run("grows, long intervals", grows_unseen);
	run("hot_and_cold", hot_and_cold);
	run("cold, but dear", cold_but_dear);
	run("intervals of all lengths", long_intervals);
	run("intervals without accesses", idle_intervals);
	run("freed at the end", freed_late);
	run("who rests by CPU time", rests);
	run("rests, seen before the tracer was told", seen_sooner);
	run("rests, as samples leave open", ends_between_samples);
	run("rests, but for its last samples", ends_unsampled);
	run("has a part, and hardly works", hardly_works);
	run("who only seems to rest", only_seems_to_rest);
	run("who works without memory", works_without_memory);
	run("grows while it works", grows_while_it_works);
	run("two phases", two_phases);
	run("overview", overview);
	done();
	free(touches);
	dir_remove();
	return failures != 0;
}
