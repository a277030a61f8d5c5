// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hand-made traces of each pattern: what the profile calls it, what is found,
 * and that nothing is found where one thing that matters is otherwise.
 */
#include <hwloc.h>

#include "analysis/overview.h"
#include "tests/unit/advice-trace.h"

/* Threads sweep their own halves, for so many intervals. */
static void halves(unsigned intervals, int type)
{
	unsigned i;

	for (i = 0; i < intervals; i++) {
		next();
		sweep(0, 0, BIG / 2, type);
		sweep(1, BIG / 2, BIG, type);
	}
}

static int serial(void)
{
	const struct moca_finding *f;

	begin(THREADS, BIG);
	sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
	halves(20, MOCA_ACCESS_WRITE);
	CHECK(!look("2x1"));
	CHECK(object()->pages == BIG && object()->accesses == 21 * BIG);
	CHECK(near(remote(MOCA_POLICY_FIRST_TOUCH), 20 * .5 / 21));
	CHECK(near(remote(MOCA_POLICY_INTERLEAVE), .5));
	CHECK(near(remote(MOCA_POLICY_BIND), 20 * .5 / 21));
	CHECK(near(remote(MOCA_POLICY_PARALLEL_INIT), .5 / 21));
	CHECK(object()->first[0] == BIG && !object()->first[1]);
	CHECK(object()->patterns & MOCA_PATTERN_MASTER_WORKER);
	CHECK(object()->patterns & MOCA_PATTERN_STREAMING);
	CHECK(object()->private_pages == BIG / 2);
	CHECK(object()->handed_pages == BIG / 2);
	CHECK(only(MOCA_FINDING_SERIAL_TOUCH));
	f = &advice->findings[0];
	CHECK(f->confidence == MOCA_CONFIDENCE_HIGH && near(f->after, .5 / 21));
	CHECK(near(f->gain, 19.5 / 42) || near(f->gain, 9.5 / 21));
	/* On four nodes with as many threads as before: still half of it. */
	CHECK(!look("4x16"));
	CHECK(near(remote(MOCA_POLICY_FIRST_TOUCH), 20 * .5 / 21));
	CHECK(near(remote(MOCA_POLICY_INTERLEAVE), .75));
	/* With one node there is no remote memory. */
	CHECK(!look("1x2"));
	CHECK(!object()->remote[MOCA_POLICY_FIRST_TOUCH] && !advice->count);
	return 0;
}

static int parallel(void)
{
	begin(THREADS, BIG);
	sweep(0, 0, BIG / 2, MOCA_ACCESS_WRITE);
	sweep(1, BIG / 2, BIG, MOCA_ACCESS_WRITE);
	halves(20, MOCA_ACCESS_WRITE);
	CHECK(!look("2x1"));
	CHECK(!object()->remote[MOCA_POLICY_FIRST_TOUCH]);
	CHECK(object()->patterns & MOCA_PATTERN_PRIVATE);
	CHECK(!(object()->patterns & MOCA_PATTERN_MASTER_WORKER));
	CHECK(!advice->count);
	return 0;
}

/* Interleaved in steps of 128 pages by one, used in halves. */
static int mismatch(void)
{
	unsigned i;

	begin(THREADS, BIG);
	for (i = 0; i < BIG; i += 128)
		sweep(i / 128 & 1, i, i + 128, MOCA_ACCESS_WRITE);
	halves(20, MOCA_ACCESS_WRITE);
	CHECK(!look("2x1"));
	CHECK(only(MOCA_FINDING_OTHER_TOUCH));
	return 0;
}

/* Parts of 64 pages, each time of another thread. */
static int moving(void)
{
	unsigned i, part;

	begin(THREADS, BIG);
	sweep(0, 0, BIG / 2, MOCA_ACCESS_WRITE);
	sweep(1, BIG / 2, BIG, MOCA_ACCESS_WRITE);
	for (i = 0; i < 30; i++) {
		next();
		for (part = 0; part < BIG / 64; part++)
			sweep(rnd() & 1, 64 * part, 64 * part + 64,
			      MOCA_ACCESS_WRITE);
	}
	CHECK(!look("2x1"));
	CHECK(object()->patterns & MOCA_PATTERN_SHARED);
	CHECK(object()->shared_pages > BIG * 9 / 10);
	CHECK(remote(MOCA_POLICY_PARALLEL_INIT) > 0.3);
	/* Two that both walk over all of it would look the same. */
	CHECK(only(MOCA_FINDING_MOVING_PARTS));
	CHECK(advice->findings[0].confidence == MOCA_CONFIDENCE_LOW);
	CHECK(isnan(advice->findings[0].after));
	return 0;
}

/* The same in intervals of a quarter of a round. */
static int moving_seen(void)
{
	unsigned i, part;

	begin(THREADS, BIG);
	sweep(0, 0, BIG / 2, MOCA_ACCESS_WRITE);
	sweep(1, BIG / 2, BIG, MOCA_ACCESS_WRITE);
	for (i = 0; i < 30; i++) {
		for (part = 0; part < BIG / 64; part++) {
			if (!(part % (BIG / 64 / 4)))
				next();
			sweep(rnd() & 1, 64 * part, 64 * part + 64,
			      MOCA_ACCESS_WRITE);
		}
	}
	CHECK(!look("2x1"));
	CHECK(only(MOCA_FINDING_MOVING_PARTS));
	CHECK(advice->findings[0].confidence == MOCA_CONFIDENCE_HIGH);
	CHECK(!advice->findings[0].after);
	return 0;
}

/* Both walk over all of it, in other halves at a time: nothing is dealt out. */
static int both_walk(void)
{
	unsigned i, q, n = BIG / 4;

	begin(THREADS, BIG);
	sweep(0, 0, BIG / 2, MOCA_ACCESS_WRITE);
	sweep(1, BIG / 2, BIG, MOCA_ACCESS_WRITE);
	for (i = 0; i < 15; i++) {
		for (q = 0; q < 8; q++) {
			next();
			sweep(0, q % 4 * n + (q / 4 ? n / 2 : 0),
			      q % 4 * n + n / 2 + (q / 4 ? n / 2 : 0),
			      MOCA_ACCESS_WRITE);
			sweep(1, (q + 2) % 4 * n + (q / 4 ? n / 2 : 0),
			      (q + 2) % 4 * n + n / 2 + (q / 4 ? n / 2 : 0),
			      MOCA_ACCESS_WRITE);
		}
	}
	CHECK(!look("2x1"));
	CHECK(object()->even_pages > BIG * 9 / 10);
	CHECK(!advice->count);
	return 0;
}

/* The same, but nobody writes: all threads may need all of it. */
static int moving_reads(void)
{
	unsigned i, part;

	begin(THREADS, BIG);
	sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
	for (i = 0; i < 30; i++) {
		next();
		for (part = 0; part < BIG / 64; part++)
			sweep(rnd() & 1, 64 * part, 64 * part + 64,
			      MOCA_ACCESS_READ);
	}
	CHECK(!look("2x1"));
	CHECK(object()->patterns & MOCA_PATTERN_WRITE_ONCE);
	CHECK(!advice->count);
	return 0;
}

/* Random accesses of both threads to pages that one has made. */
static int at_random_on(const char *machine, uint64_t pages, int type,
			unsigned intervals)
{
	unsigned i, k;

	begin(THREADS, pages);
	sweep(0, 0, pages, MOCA_ACCESS_WRITE);
	for (i = 0; i < intervals; i++) {
		next();
		for (k = 0; k < pages; k++)
			touch(k & 1, rnd() % pages, type);
	}
	return look(machine);
}

static int at_random(uint64_t pages, int type, unsigned intervals)
{
	return at_random_on("2x1", pages, type, intervals);
}

static int one_node(void)
{
	CHECK(!at_random(BIG, MOCA_ACCESS_WRITE, 20));
	CHECK(object()->patterns & MOCA_PATTERN_RANDOM);
	CHECK(only(MOCA_FINDING_ONE_NODE));
	CHECK(near(advice->findings[0].after, .5));
	return 0;
}

/* Of a machine that hwloc describes so: all read a table of so many pages. */
static int with_caches(const char *synthetic, uint64_t pages)
{
	hwloc_topology_t h;
	char *text;
	int len, failed;

	if (hwloc_topology_init(&h) ||
	    hwloc_topology_set_synthetic(h, synthetic) ||
	    hwloc_topology_load(h) ||
	    hwloc_topology_export_xmlbuffer(h, &text, &len, 0))
		return 1;
	with_xml = text;
	recorded_node = 0;
	failed = at_random_on(NULL, pages, MOCA_ACCESS_READ, 15);
	recorded_node = MOCA_NODE_UNKNOWN;
	with_xml = NULL;
	hwloc_free_xmlbuffer(h, text);
	hwloc_topology_destroy(h);
	return failed;
}

static int table(void)
{
	/* 40 MiB: more than caches hold. */
	CHECK(!at_random(10240, MOCA_ACCESS_READ, 15));
	CHECK(object()->patterns & MOCA_PATTERN_WRITE_ONCE);
	CHECK(only(MOCA_FINDING_REPLICATE));
	/* The module does not tell a write after a read: who knows? */
	via_kernel = 1;
	CHECK(!at_random(10240, MOCA_ACCESS_READ, 15));
	via_kernel = 0;
	CHECK(!advice->count && noted("Writes are at least so many"));
	CHECK(!(object()->patterns & (MOCA_PATTERN_WRITE_ONCE |
				      MOCA_PATTERN_READ_MOSTLY)));
	/* 8 MiB: each node has it in its cache. */
	CHECK(!at_random(BIG, MOCA_ACCESS_READ, 15));
	CHECK(!advice->count);
	/* But not where the machine's caches are told to be smaller. */
	CHECK(!with_caches("numa:2 l3:1(size=6291456) pu:1", BIG));
	CHECK(only(MOCA_FINDING_REPLICATE));
	CHECK(strstr(advice->findings[0].evidence[3], "holds 6.0 MiB"));
	CHECK(!with_caches("numa:2 l3:1(size=62914560) pu:1", 10240));
	CHECK(!advice->count);
	return 0;
}

static int small(void)
{
	unsigned i;

	begin(THREADS, 512);
	sweep(0, 0, 512, MOCA_ACCESS_WRITE);
	for (i = 0; i < 20; i++) {
		next();
		sweep(0, 0, 256, MOCA_ACCESS_WRITE);
		sweep(1, 256, 512, MOCA_ACCESS_WRITE);
	}
	CHECK(!look("2x1"));
	CHECK(near(remote(MOCA_POLICY_FIRST_TOUCH), 20 * .5 / 21));
	/* It fits the caches of the cores that use it. */
	CHECK(!advice->count);
	return 0;
}

static int few_intervals(void)
{
	begin(THREADS, BIG);
	sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
	halves(6, MOCA_ACCESS_WRITE);
	CHECK(!look("2x1"));
	CHECK(!advice->count && advice->note_count == 1);
	CHECK(strstr(advice->notes[0], "7 intervals only"));
	CHECK(!strcmp(advice->undecided, "who uses which page"));
	/* Of one thread nobody asks who. */
	begin(1, BIG);
	sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
	CHECK(!look("2x1"));
	CHECK(!strcmp(advice->undecided, "when which page is used"));
	CHECK(!strstr(advice->notes[0], "who uses"));
	return 0;
}

/* All in one interval: no write is late, and yet it is not read mostly. */
static int one_interval(void)
{
	unsigned i;

	begin(THREADS, 512);
	for (i = 0; i < 3; i++)
		sweep(0, 0, 512, MOCA_ACCESS_WRITE);
	sweep(1, 0, 512, MOCA_ACCESS_READ);
	CHECK(!look("2x1"));
	CHECK(!(object()->patterns & MOCA_PATTERN_READ_MOSTLY));
	CHECK(object()->object->sharing == MOCA_SHARING_ONE_WRITER);
	return 0;
}

/* Written by one thread, then read by the other: handed on, not shared. */
static int handed(void)
{
	unsigned i;

	begin(THREADS, BIG);
	for (i = 0; i < 12; i++) {
		sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
		next();
	}
	for (i = 0; i < 2; i++) {
		sweep(1, 0, BIG, MOCA_ACCESS_READ);
		next();
	}
	CHECK(!look("2x1"));
	CHECK(object()->patterns & MOCA_PATTERN_HANDED);
	CHECK(object()->handed_pages == BIG && !object()->shared_pages);
	CHECK(!advice->count);
	return 0;
}

/* The same buffers again and again: one fills them, another empties them. */
static int ring(void)
{
	unsigned i;

	begin(THREADS, BIG);
	for (i = 0; i < 30; i++) {
		sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
		next();
		sweep(1, 0, BIG, MOCA_ACCESS_READ);
		next();
	}
	CHECK(!look("2x1"));
	CHECK(object()->patterns & MOCA_PATTERN_SHARED);
	CHECK(object()->written[0] == 30 * BIG && !object()->written[1]);
	CHECK(!advice->count);
	return 0;
}

/*
 * A buffer whose parts have, by chance, more records of one thread than of the
 * other. Nothing is found where one writes and the other reads; where both write,
 * each has a part that is placed by the first.
 */
static int in_turn(void)
{
	static const struct {
		unsigned kind;
		int found;
	} cases[] = { { MOCA_ACCESS_READ, 0 }, { MOCA_ACCESS_WRITE, 1 } };
	unsigned i, k;

	for (k = 0; k < 2; k++) {
		begin(THREADS, BIG);
		sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
		next();
		for (i = 0; i < 12; i++) {
			sweep(1, 0, i % 6 ? BIG / 2 : BIG, cases[k].kind);
			next();
			sweep(0, i % 6 ? BIG / 2 : 0, BIG, MOCA_ACCESS_WRITE);
			next();
		}
		CHECK(!look("2x1"));
		CHECK(remote(MOCA_POLICY_FIRST_TOUCH) > .4);
		CHECK(remote(MOCA_POLICY_PARALLEL_INIT) < .2);
		CHECK(cases[k].found ? only(MOCA_FINDING_SERIAL_TOUCH) :
				       !advice->count);
	}
	return 0;
}

/* Buffers that one fills and another empties, all the time. */
static int pipeline(void)
{
	unsigned i, k, part = BIG / 16;

	begin(THREADS, BIG);
	for (i = 0; i < 16; i++) {
		sweep(0, i * part, (i + 1) * part, MOCA_ACCESS_WRITE);
		for (k = 0; k < 6; k++) {
			next();
			sweep(1, i * part, (i + 1) * part, MOCA_ACCESS_WRITE);
		}
	}
	CHECK(!look("2x1"));
	CHECK(remote(MOCA_POLICY_FIRST_TOUCH) > .8);
	CHECK(remote(MOCA_POLICY_PARALLEL_INIT) < .2);
	/* No loop prepares it, but the gap is there, and is said. */
	CHECK(only(MOCA_FINDING_MISPLACED));
	CHECK(advice->findings[0].confidence == MOCA_CONFIDENCE_LOW);
	return 0;
}

/* Parts with borders that both use. */
static int halo(void)
{
	unsigned i;

	begin(THREADS, BIG);
	for (i = 0; i < 20; i++) {
		sweep(0, 0, BIG / 2 + 4, MOCA_ACCESS_WRITE);
		sweep(1, BIG / 2 - 4, BIG, MOCA_ACCESS_WRITE);
		next();
	}
	CHECK(!look("2x1"));
	CHECK(object()->shared_pages == 8);
	CHECK(object()->patterns & MOCA_PATTERN_HALO);
	CHECK(object()->patterns & MOCA_PATTERN_PRIVATE);
	CHECK(!advice->count);
	return 0;
}

/* Three quarters are of one thread; the other one rests meanwhile. */
static void unequal_parts(void)
{
	unsigned i;

	begin(THREADS, BIG);
	for (i = 0; i < 20; i++) {
		sweep(0, 0, BIG / 8, MOCA_ACCESS_WRITE);
		sweep(1, BIG / 8, BIG / 2, MOCA_ACCESS_WRITE);
		next();
		sweep(1, BIG / 2, BIG, MOCA_ACCESS_WRITE);
		next();
	}
}

static int unbalanced(void)
{
	unequal_parts();
	CHECK(!look("2x1"));
	CHECK(object()->patterns & MOCA_PATTERN_UNBALANCED);
	CHECK(only(MOCA_FINDING_UNBALANCED));
	return 0;
}

static void busy_machine(struct moca_meta *m)
{
	if (moca_meta_set(m, "cost.repeated.ns", "100000000") ||
	    moca_meta_set(m, "cost.busy.ns", "80000000"))
		abort();
}

/* The same where threads wait for CPUs: the other one may not rest at all. */
static int unbalanced_by_others(void)
{
	unequal_parts();
	put_more = busy_machine;
	CHECK(!look("2x1"));
	put_more = NULL;
	CHECK(!advice->count);
	return 0;
}

static int huge_pages(void)
{
	unsigned i, k;

	/* 80 MiB, one thread. */
	begin(1, 20480);
	sweep(0, 0, 20480, MOCA_ACCESS_WRITE);
	for (i = 0; i < 12; i++) {
		next();
		for (k = 0; k < 20480; k++)
			touch(0, rnd() % 20480, MOCA_ACCESS_READ);
	}
	CHECK(!look("2x1"));
	CHECK(object()->patterns & MOCA_PATTERN_HUGE);
	CHECK(only(MOCA_FINDING_HUGE_PAGES));
	/* How often a TLB misses is not known. */
	CHECK(advice->findings[0].confidence == MOCA_CONFIDENCE_LOW);
	CHECK(isnan(advice->findings[0].seconds) &&
	      strstr(advice->findings[0].evidence[3], "not predicted"));
	/* In order there are few TLB misses. */
	begin(1, 20480);
	for (i = 0; i < 13; i++) {
		sweep(0, 0, 20480, MOCA_ACCESS_WRITE);
		next();
	}
	CHECK(!look("2x1"));
	CHECK(object()->patterns & MOCA_PATTERN_STREAMING && !advice->count);
	return 0;
}

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

/* A page that both write all the time: noted, and not called false sharing. */
static int hot_spot(void)
{
	unsigned i;

	begin(THREADS, 1);
	for (i = 0; i < 60; i++) {
		touch(i & 1, 0, MOCA_ACCESS_READ);
		touch(i & 1, 0, MOCA_ACCESS_WRITE);
		next();
	}
	CHECK(!look("2x1"));
	CHECK(object()->patterns & MOCA_PATTERN_HOT_SPOT);
	CHECK(!advice->count && advice->note_count == 1);
	CHECK(strstr(advice->notes[0], "exact addresses"));
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

/* Threads that come one after the other are one, as far as places go. */
static int placement(void)
{
	struct moca_change *e;
	unsigned i;

	begin(THREADS, BIG);
	e = put_change(1, MOCA_CHANGE_TASK_END);
	e->time_ns = clock_ns;
	start_task(2, 100, 102, 0, MOCA_TASK_THREAD);
	for (i = 0; i < 12; i++) {
		touch(0, i, MOCA_ACCESS_WRITE);
		touch(1, 100 + i, MOCA_ACCESS_WRITE);
		touch(2, 200 + i, MOCA_ACCESS_WRITE);
		next();
	}
	CHECK(!look("2x4"));
	CHECK(profile->threads == 2 && profile->lanes == 2);
	CHECK(profile->lane_of[0] == 0 && profile->lane_of[1] == 1 &&
	      profile->lane_of[2] == 1);
	/* Spread over the 8 CPUs; who comes later is where there is room. */
	CHECK(profile->cpu_of[0] == 0 && profile->cpu_of[1] == 4 &&
	      profile->cpu_of[2] == 4);
	return 0;
}

/* The recorded machine, by an hwloc file: CPUs and pages as they were. */
static int recorded(void)
{
	static const char xml[] =
		"<topology><object type=\"NUMANode\" cpuset=\"0x1\"/>"
		"<object type=\"NUMANode\" cpuset=\"0x2\"/></topology>";
	char path[] = "/tmp/moca-test-machine-XXXXXX";
	int fd = mkstemp(path), failed;

	CHECK(fd >= 0 && write(fd, xml, sizeof(xml) - 1) > 0);
	close(fd);
	recorded_node = 1;
	begin(THREADS, BIG);
	sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
	halves(20, MOCA_ACCESS_WRITE);
	sweep(0, 0, BIG / 2, MOCA_ACCESS_READ);
	failed = look(path);
	unlink(path);
	recorded_node = MOCA_NODE_UNKNOWN;
	CHECK(!failed && !profile->topology.what_if);
	/* Thread 0 touches first, on node 0; but all pages are on node 1. */
	CHECK(object()->homes[1] == BIG && !object()->homes[0]);
	CHECK(object()->remote[MOCA_POLICY_FIRST_TOUCH] ==
	      object()->use[0]);
	CHECK(object()->use[1] == 10 * BIG);
	return 0;
}

/* All pages on node 4, as the trace tells; who touched them first is no matter. */
static int recorded_nodes(void)
{
	recorded_node = 4;
	begin(THREADS, BIG);
	sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
	halves(20, MOCA_ACCESS_WRITE);
	CHECK(!look(NULL));
	CHECK(!profile->topology.what_if && profile->topology.nodes == 2);
	CHECK(!profile->unknown && object()->homes[1] == BIG);
	CHECK(object()->remote[MOCA_POLICY_FIRST_TOUCH] == object()->use[0]);
	CHECK(only(MOCA_FINDING_SERIAL_TOUCH) &&
	      advice->findings[0].confidence == MOCA_CONFIDENCE_HIGH);
	return 0;
}

/* What is not known is as the rest; the less is, the less is said. */
static int unknown_nodes(void)
{
	static const struct {
		unsigned unknown;
		int found;
		enum moca_confidence confidence;
	} steps[] = {
		{ 1, 1, MOCA_CONFIDENCE_MEDIUM }, { 3, 1, MOCA_CONFIDENCE_LOW },
		{ 6, 0, 0 }, { 10, 0, 0 },
	};
	size_t i;

	recorded_node = 4;
	for (i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		begin(THREADS, BIG);
		sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
		halves(20, MOCA_ACCESS_WRITE);
		unknown_of_10 = steps[i].unknown;
		CHECK(!look(NULL));
		CHECK(near((double)profile->unknown / profile->accesses,
			   steps[i].unknown / 10.));
		CHECK(steps[i].unknown == 10 ||
		      near(remote(MOCA_POLICY_FIRST_TOUCH), 11. / 21));
		CHECK((int)advice->count == steps[i].found);
		CHECK(!advice->count ||
		      advice->findings[0].confidence == steps[i].confidence);
		CHECK(advice->note_count);
	}
	CHECK(!object()->remote[MOCA_POLICY_FIRST_TOUCH]);
	unknown_of_10 = 0;
	recorded_node = MOCA_NODE_UNKNOWN;
	return 0;
}

static int empty(void)
{
	start_program();
	touch_count = 0;
	interval = 0;
	CHECK(!look("2x1"));
	CHECK(!profile->accesses && !advice->count && !phases.count);
	return 0;
}

static int topology(void)
{
	static const char *const bad[] = { "", "x", "4", "4x", "0x4", "65x1",
					   "64x65", "4x16x2", "4x-1" };
	static const char xml[] =
		"<topology><object type=\"Machine\" cpuset=\"0x0000000f\">\n"
		"<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x00000005\"/>\n"
		"<object type=\"NUMANode\" os_index=\"1\" "
		"cpuset=\"0x00000001,0x0000000a\" nodeset=\"0x2\"/>\n"
		"</object></topology>\n";
	struct moca_topology t;
	char path[100];
	size_t i;

	begin(1, 1);
	touch(0, 0, MOCA_ACCESS_READ);
	CHECK(!look("2x1"));
	CHECK(!moca_topology_parse(&t, "4x16", trace));
	CHECK(t.nodes == 4 && t.cpus == 64 && t.what_if && t.node_of[63] == 3 &&
	      t.node_of[15] == 0 && t.node_of[16] == 1);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(moca_topology_parse(&t, bad[i], trace) < 0);
	spill("machine.xml", (const uint8_t *)xml, sizeof(xml) - 1);
	snprintf(path, sizeof(path), "%s/machine.xml", dir);
	CHECK(!moca_topology_parse(&t, path, trace));
	CHECK(t.nodes == 2 && t.cpus == 33 && t.node_of[0] == 0 &&
	      t.node_of[1] == 1 && t.node_of[2] == 0 && t.node_of[32] == 1);
	spill("machine.xml", (const uint8_t *)"<object type=", 13);
	CHECK(moca_topology_parse(&t, path, trace) == -EINVAL);
	/* Nobody asked for one: two halves. */
	moca_topology_of(&t, trace);
	CHECK(t.nodes == 2 && t.what_if && t.assumed);
	return 0;
}

int main(void)
{
	run("serial initialisation", serial);
	run("parallel initialisation", parallel);
	run("initialised in other parts", mismatch);
	run("moving parts", moving);
	run("moving parts, seen in parts", moving_seen);
	run("both walk over all of it", both_walk);
	run("moving parts, read", moving_reads);
	run("random, on one node", one_node);
	run("table", table);
	run("small object", small);
	run("few intervals", few_intervals);
	run("advice: one interval", one_interval);
	run("handed on", handed);
	run("ring of buffers", ring);
	run("in turn", in_turn);
	run("pipeline", pipeline);
	run("halo", halo);
	run("unbalanced", unbalanced);
	run("unbalanced by others", unbalanced_by_others);
	run("huge pages", huge_pages);
	run("abandoned", abandoned);
	run("abandoned-in-part", abandoned_in_part);
	run("grows", grows);
	run("grows, long intervals", grows_unseen);
	run("hot_and_cold", hot_and_cold);
	run("intervals of all lengths", long_intervals);
	run("intervals without accesses", idle_intervals);
	run("hot spot", hot_spot);
	run("freed at the end", freed_late);
	run("two phases", two_phases);
	run("overview", overview);
	run("placement of threads", placement);
	run("recorded machine", recorded);
	run("recorded nodes", recorded_nodes);
	run("unknown nodes", unknown_nodes);
	run("empty trace", empty);
	run("topology", topology);
	done();
	free(touches);
	dir_remove();
	return failures != 0;
}
