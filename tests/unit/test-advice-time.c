// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hand-made traces of programs that use their memory differently as time goes by:
 * what is found of memory that is idle, hot or grows, and which phases there are.
 */
#include "analysis/overview.h"
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
static int tiers(unsigned times, const char *machine)
{
	unsigned i, k;

	begin(1, 512 + 20480);
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

static int tries(const char *what)
{
	char *const *line;
	int n = 0;

	for (line = advice->findings[0].try_; *line; line++)
		n += strstr(*line, what) != NULL;
	return n;
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
	/* More often: slow memory would have to give too much. */
	CHECK(!tiers(6, "2x1"));
	CHECK(object()->hot_pages == 512 && !object()->cold_pages);
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
	run("intervals of all lengths", long_intervals);
	run("intervals without accesses", idle_intervals);
	run("freed at the end", freed_late);
	run("two phases", two_phases);
	run("overview", overview);
	done();
	free(touches);
	dir_remove();
	return failures != 0;
}
