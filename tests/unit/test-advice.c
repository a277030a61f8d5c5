// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hand-made traces of each pattern: what the profile calls it, what is found,
 * and that nothing is found where one thing that matters is otherwise.
 */
#include <hwloc.h>

#include "tests/unit/advice-trace.h"

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
	CHECK(object()->migratory_pages == BIG / 2);
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

/* Of 21 touches of a page the first has stack 1, of the others a few have none. */
static uint32_t by_interval(const struct touch *t)
{
	return !t->interval ? 1 : t->interval == 1 ? 0 : t->interval < 4 ? 3 : 2;
}

/* A finding names the functions that call what accesses its object. */
static int called_by(void)
{
	static const uint64_t frames[][3] = {
		{ CODE + 0x10, CODE + 0x101, CODE + 0x201 },
		{ CODE + 0x10, CODE + 0x301, CODE + 0x201 },
		{ CODE + 0x20 },
	};
	static const struct moca_stack list[] = {
		{ frames[0], 3, 0 }, { frames[1], 3, 0 }, { frames[2], 1, 0 },
	};
	const struct moca_finding *f;
	const char *line = NULL;

	begin(THREADS, BIG);
	put_map(0, CODE, 1 << 20, "/nowhere/prog");
	sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
	halves(20, MOCA_ACCESS_WRITE);
	stacks = list;
	stack_count = 3;
	stack_of = by_interval;
	CHECK(!look("2x1") && advice->count == 1);
	stack_count = 0;
	stack_of = NULL;
	f = &advice->findings[0];
	for (int i = 0; i < MOCA_FINDING_LINES && f->evidence[i]; i++)
		if (!strncmp(f->evidence[i], "called by ", 10))
			line = f->evidence[i];
	/* 17, 1, and of 2 the caller is not known. */
	CHECK(line && !strcmp(line, "called by prog+0x300 (81 %)"));
	CHECK(!look("2x1") && advice->count == 1);
	f = &advice->findings[0];
	for (int i = 0; i < MOCA_FINDING_LINES && f->evidence[i]; i++)
		CHECK(strncmp(f->evidence[i], "called by ", 10));
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

static void chosen_lengths(struct moca_meta *m)
{
	if (moca_meta_set(m, "credit_ns", "200000000"))
		abort();
}

/*
 * Who came to a part in the few intervals that are long seems to be its user: the
 * gap is chance, and no second finding.
 */
static int moving_seldom(void)
{
	unsigned i, part;

	begin(THREADS, BIG);
	sweep(0, 0, BIG / 2, MOCA_ACCESS_WRITE);
	sweep(1, BIG / 2, BIG, MOCA_ACCESS_WRITE);
	for (i = 0; i < 12; i++) {
		next();
		for (part = 0; part < BIG / 64; part++)
			sweep(rnd() & 1, 64 * part, 64 * part + 64,
			      MOCA_ACCESS_WRITE);
	}
	long_from = 12;
	long_times = 10;
	put_more = chosen_lengths;
	CHECK(!look("2x1"));
	long_from = 0;
	put_more = NULL;
	CHECK(remote(MOCA_POLICY_FIRST_TOUCH) -
	      remote(MOCA_POLICY_PARALLEL_INIT) > 0.15);
	CHECK(only(MOCA_FINDING_MOVING_PARTS));
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

/*
 * The threads come to all of it in turn. The one touches memory first that could be
 * an object which it is about to be given: what it does later waits for that, but not
 * until the other one has done all.
 */
static int turns_wait(void)
{
	unsigned i;

	begin(THREADS, BIG);
	touch(0, 3 * BIG, MOCA_ACCESS_WRITE);
	for (i = 0; i < 24; i++) {
		sweep(i & 1, 0, BIG, MOCA_ACCESS_WRITE);
		next();
	}
	CHECK(!look("2x1"));
	CHECK(object()->pages == BIG && object()->shared_pages == BIG);
	CHECK(!object()->migratory_pages);
	return 0;
}

/* Four intervals or less have records of a page, and the last weighs most: chance. */
static int by_chance(void)
{
	unsigned i, k;

	begin(THREADS, BIG);
	sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
	for (i = 0; i < 12; i++) {
		next();
		for (k = 0; k < BIG; k++)
			if (i == 11 || (k + i) % 6 == 0)
				touch(rnd() & 1, k, MOCA_ACCESS_READ);
	}
	long_from = 12;
	long_times = 20;
	put_more = chosen_lengths;
	CHECK(!look("2x1"));
	long_from = 0;
	put_more = NULL;
	CHECK(remote(MOCA_POLICY_FIRST_TOUCH) > 0.4);
	CHECK(remote(MOCA_POLICY_PARALLEL_INIT) < 0.1);
	CHECK(object()->visits < 5 * BIG && !advice->count);
	return 0;
}

/*
 * calloc takes ten intervals to fill what it then tells: all that is of the object. A
 * thread that comes back to where it was is in no such call, and does not wait.
 */
static int filled_slowly(void)
{
	unsigned i;

	begin(1, 16);
	for (i = 0; i < 10; i++, next())
		sweep(0, BIG + i * 64, BIG + i * 64 + 64, MOCA_ACCESS_WRITE);
	first_ns = clock_ns + 1000;
	clock_ns = first_ns + 10 * INTERVAL_NS;
	put_alloc(0, HEAP + BIG * PAGE, 640 * PAGE, 1, MOCA_ALLOC_CALLOC);
	CHECK(!look("2x1"));
	CHECK(object()->object->kind == MOCA_OBJECT_HEAP);
	CHECK(object()->pages == 640 && object()->accesses == 640);

	begin(1, 16);
	for (i = 0; i < 10; i++, next())
		sweep(0, BIG, BIG + 64, MOCA_ACCESS_WRITE);
	first_ns = clock_ns + 1000;
	clock_ns = first_ns + 10 * INTERVAL_NS;
	put_alloc(0, HEAP + BIG * PAGE, 640 * PAGE, 1, MOCA_ALLOC_CALLOC);
	CHECK(!look("2x1"));
	CHECK(object()->object->kind != MOCA_OBJECT_HEAP);
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

/* Two read a table of 40 MiB after the first filled it; or one after the other. */
static int few_reads(unsigned n, int apart, int written)
{
	unsigned i;
	uint64_t k;

	begin(THREADS, 10240);
	sweep(0, 0, 10240, MOCA_ACCESS_WRITE);
	for (i = 0; i < n; i++) {
		next();
		for (k = 0; k < 10240; k++)
			touch(apart ? 2 * i >= n : (i + k / 7) % 2, k,
			      MOCA_ACCESS_READ);
		if (i == 2 && written)
			touch(1, 7, MOCA_ACCESS_WRITE);
	}
	return look("2x1");
}

static int table_of_few(void)
{
	CHECK(!few_reads(7, 0, 0));
	CHECK(only(MOCA_FINDING_REPLICATE));
	CHECK(advice->findings[0].confidence == MOCA_CONFIDENCE_LOW);
	CHECK(strstr(advice->notes[0], "8 intervals only"));
	/* In as few one write is not seldom. */
	CHECK(!few_reads(7, 0, 1));
	CHECK(!advice->count);
	CHECK(!few_reads(7, 1, 0));
	CHECK(!advice->count);
	CHECK(!few_reads(3, 0, 0));
	CHECK(!advice->count);
	return 0;
}

static void failed(struct moca_meta *m)
{
	if (moca_meta_set(m, "state", "failed") ||
	    moca_meta_set(m, "failure", "%d", ENOSPC) ||
	    moca_meta_set(m, "failed_ns", "%llu",
			  (unsigned long long)clock_ns))
		abort();
}

/* Of a full disk: room is the answer, and not other intervals. */
static int failed_recording(void)
{
	begin(THREADS, BIG);
	sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
	put_more = failed;
	CHECK(!look("2x1"));
	put_more = NULL;
	CHECK(advice->note_count == 1 && advice->failed && advice->again);
	CHECK(strstr(advice->failed, strerror(ENOSPC)));
	CHECK(strstr(advice->notes[0], "more room"));
	CHECK(!strstr(advice->notes[0], "--interval"));
	CHECK(strstr(advice->undecided, "failed"));
	return 0;
}

/* 512 pages are written three times, read in so many intervals; one is written late. */
static int filled_and_read(unsigned intervals)
{
	unsigned i;

	begin(THREADS, 512);
	for (i = 0; i < 3; i++)
		sweep(0, 0, 512, MOCA_ACCESS_WRITE);
	for (i = 0; i < intervals; i++) {
		next();
		sweep(1, 0, 512, MOCA_ACCESS_READ);
	}
	sweep(1, 0, 1, MOCA_ACCESS_WRITE);
	return look("2x1");
}

static int read_mostly(void)
{
	/* Few writes are late, and yet most accesses are writes. */
	CHECK(!filled_and_read(1));
	CHECK(object()->writes > object()->reads);
	CHECK(!(object()->patterns & MOCA_PATTERN_READ_MOSTLY));
	CHECK(!filled_and_read(10));
	CHECK(!(object()->patterns & MOCA_PATTERN_READ_MOSTLY));
	CHECK(!filled_and_read(15));
	CHECK(object()->patterns & MOCA_PATTERN_READ_MOSTLY);
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

/* Written by one thread, then read by the other: migratory, not shared. */
static int migratory(void)
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
	CHECK(object()->patterns & MOCA_PATTERN_MIGRATORY);
	CHECK(object()->migratory_pages == BIG && !object()->shared_pages);
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

static void unequal_parts_of(uint64_t allocated)
{
	begin(THREADS, allocated);
	unequal_parts_written();
}

static void unequal_parts(void)
{
	unequal_parts_of(BIG);
}

/* What the JVM divides among all structures of a program is none by itself. */
static int unbalanced_runtime(void)
{
	unequal_parts_of(1);
	CHECK(!look("2x1"));
	CHECK(only(MOCA_FINDING_UNBALANCED));
	CHECK(object()->object->kind == MOCA_OBJECT_ALLOCATOR);
	program_path = "/usr/bin/java";
	unequal_parts_of(1);
	program_path = "/bin/prog";
	CHECK(!look("2x1"));
	CHECK(object()->object->kind == MOCA_OBJECT_ALLOCATOR);
	CHECK(!advice->count);
	return 0;
}

static int unbalanced(void)
{
	unequal_parts();
	CHECK(!look("2x1"));
	CHECK(object()->patterns & MOCA_PATTERN_UNBALANCED);
	CHECK(only(MOCA_FINDING_UNBALANCED));
	return 0;
}

/* One thread works three times as long as the other, but never beside it. */
static int unequal_in_turn(void)
{
	unsigned i;

	begin(THREADS, BIG);
	for (i = 0; i < 40; i++) {
		if (i % 4)
			sweep(1, BIG / 8, BIG, MOCA_ACCESS_WRITE);
		else
			sweep(0, 0, BIG / 8, MOCA_ACCESS_WRITE);
		next();
	}
	CHECK(!look("2x1"));
	CHECK(!advice->count);
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

static int empty(void)
{
	start_program();
	touch_count = 0;
	interval = 0;
	CHECK(!look("2x1"));
	CHECK(!profile->accesses && !advice->count && !phases.count);
	return 0;
}

int main(void)
{
	run("serial initialisation", serial);
	run("who calls what accesses an object", called_by);
	run("parallel initialisation", parallel);
	run("initialised in other parts", mismatch);
	run("moving parts", moving);
	run("moving parts, seen seldom", moving_seldom);
	run("moving parts, seen in parts", moving_seen);
	run("both walk over all of it", both_walk);
	run("filled slowly", filled_slowly);
	run("moving parts, read", moving_reads);
	run("in turn, behind what waits", turns_wait);
	run("users by chance", by_chance);
	run("random, on one node", one_node);
	run("table", table);
	run("small object", small);
	run("few intervals", few_intervals);
	run("a table that is read, in few intervals", table_of_few);
	run("failed recording", failed_recording);
	run("advice: read-mostly", read_mostly);
	run("advice: one interval", one_interval);
	run("migratory", migratory);
	run("ring of buffers", ring);
	run("in turn", in_turn);
	run("pipeline", pipeline);
	run("halo", halo);
	run("unbalanced", unbalanced);
	run("unequal, in turn", unequal_in_turn);
	run("unbalanced by others", unbalanced_by_others);
	run("unbalanced, of a runtime", unbalanced_runtime);
	run("huge pages", huge_pages);
	run("hot spot", hot_spot);
	run("empty trace", empty);
	done();
	free(touches);
	dir_remove();
	return failures != 0;
}
