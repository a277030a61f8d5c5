// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a slot's log and counters to rows: against a model that counts by adding,
 * in random slices, with counters that come round between the log and them.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/exact/collector.h"
#include "lib/ring/layout.h"

#define GRANULES 3000
#define SLICES 40
#define SLOT 2u

static struct exact_arena *arena;
static uint64_t log_count;
static uint64_t granules[GRANULES];
static uint64_t truth[GRANULES][2], told[GRANULES][2];
static unsigned int logged[GRANULES][2];	/* wraps */
static int firsts[GRANULES];	/* 1: logged, 2: told */
static int failed;

static void check(const char *name, int good)
{
	printf("%s %s%s\n", good ? "ok" : "not ok", name,
	       good ? "" : ": it is not so");
	failed |= !good;
}

static uint64_t random64(void)
{
	static uint64_t s = 88172645463325252ull;

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return s;
}

static void put(uint64_t offset, const void *p, size_t len)
{
	if (pwrite(arena->fd, p, len,
		   SLOT * MOCA_EXACT_SLOT_SIZE + offset) != (ssize_t)len)
		abort();
}

static void log_entry(uint64_t e)
{
	put(MOCA_EXACT_LOG + log_count++ * 8, &e, 8);
}

static void log_granule(int i, uint64_t kind, int store)
{
	log_entry(granules[i] << MOCA_EXACT_LOG_GRANULE_SHIFT | kind |
		  (store ? MOCA_EXACT_LOG_STORE : 0));
}

/* n more accesses; late: the last WRAP is not logged yet. */
static void count(int i, int store, uint64_t n, int late)
{
	uint64_t cell = granules[i] & (MOCA_EXACT_CELLS - 1), wraps;
	uint32_t counter;
	uint8_t bits = 0;

	if (!n)
		return;
	if (!firsts[i]) {
		firsts[i] = 1;
		log_granule(i, MOCA_EXACT_LOG_FIRST, store);
	}
	truth[i][store] += n;
	counter = (uint32_t)-truth[i][store];
	put(MOCA_EXACT_COUNTS + cell * 8 + store * 4, &counter, 4);
	exact_arena_read(arena, SLOT, MOCA_EXACT_TOUCHED + cell / 4, &bits, 1);
	bits |= 1 << (cell % 4 * 2 + store);
	put(MOCA_EXACT_TOUCHED + cell / 4, &bits, 1);
	wraps = (truth[i][store] - 1) >> 32;
	while (logged[i][store] + late < wraps) {
		logged[i][store]++;
		log_granule(i, MOCA_EXACT_LOG_WRAP, store);
	}
}

static int find(uint64_t granule)
{
	for (int i = 0; i < GRANULES; i++)
		if (granules[i] == granule)
			return i;
	return -1;
}

static uint64_t last_addr;
static int in_order, first_once;

static int take(void *arg, const struct moca_count *rows, size_t n, int more)
{
	for (size_t k = 0; k < n; k++) {
		int i = find(rows[k].addr >> moca_exact_recording.shift);

		if (i < 0 || (last_addr && rows[k].addr <= last_addr) ||
		    !(rows[k].loads | rows[k].stores)) {
			in_order = 0;
			continue;
		}
		last_addr = rows[k].addr;
		told[i][0] += rows[k].loads;
		told[i][1] += rows[k].stores;
		if (!rows[k].first_ns)
			continue;
		if (firsts[i] != 1)
			first_once = 0;
		firsts[i] = 2;
	}
	return 0;
}

static void prepare(void)
{
	int fd = memfd_create("test-exact-rows", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, MOCA_EXACT_ARENA_SIZE))
		abort();
	arena = exact_arena_new(fd);
	moca_exact_recording.shift = 12;
	log_count = 0;
	memset(truth, 0, sizeof(truth));
	memset(told, 0, sizeof(told));
	memset(logged, 0, sizeof(logged));
	memset(firsts, 0, sizeof(firsts));
	in_order = first_once = 1;
	/* Neighbours, and some far away; no two share a cell. */
	for (int i = 0; i < GRANULES; i++)
		granules[i] = i < 1000 ? 0x10000 + (uint64_t)i * 3 :
			      i < 2000 ? (7ull << 29) + 0x20000 + i :
					 (3ull << 29) + 0x100000 +
						 (uint64_t)(i - 2000) * 70001;
	log_entry((1000ull & ~3ull) | MOCA_EXACT_LOG_TIME);
}

static uint64_t some(int late)
{
	uint64_t r = random64();

	switch (r % 8) {
	case 0:
		/* Nearly all of a round would look as if it was taken back. */
		return late ? (1ull << 32) - (2 << 20) - r % 3 : 1ull << 32;
	case 1:
		return late ? 1ull << 31 : (3ull << 32) + r % 5;
	case 2:
		return 0;
	default:
		return r % 100000;
	}
}

static void run(int slices, const char *name)
{
	struct tracer_clock clock = { .kind = MOCA_CLOCK_MONOTONIC };
	struct tally *t = exact_tally_new();
	int good = 1;

	prepare();
	for (int s = 0; s < slices; s++) {
		struct exact_slice slice = { 0 };
		int late = s % 3 == 1 && s + 1 < slices;

		for (int k = 0; k < 2000; k++)
			count(random64() % GRANULES, random64() & 1,
			      some(0), 0);
		/* Between the look at the log and that at the counters. */
		for (int i = 0; late && i < GRANULES; i += 7)
			if (truth[i][0] && told[i][0] == truth[i][0])
				count(i, 0, some(1), 1);
		slice.log_count = log_count;
		slice.begin_ns = 1000 + s * 10;
		slice.end_ns = 1010 + s * 10;
		slice.last = s + 1 == slices;
		last_addr = 0;
		if (exact_tally_rows(t, arena, SLOT, &slice, &clock, take,
				     NULL))
			good = 0;
		if (memcmp(truth, told, sizeof(truth)))
			good = 0;
		/* What was late is logged by then. */
		for (int i = 0; i < GRANULES; i++)
			while (truth[i][0] &&
			       logged[i][0] < (truth[i][0] - 1) >> 32) {
				logged[i][0]++;
				log_granule(i, MOCA_EXACT_LOG_WRAP, 0);
			}
	}
	for (int i = 0; i < GRANULES; i++)
		if (firsts[i] == 1)
			first_once = 0;
	check(name, good && in_order && first_once);
	exact_tally_free(t);
	exact_arena_free(arena);
}

/* n accesses did not happen, of which the last slice may have been told. */
static void take_back(int i, int store, uint64_t n)
{
	uint64_t cell = granules[i] & (MOCA_EXACT_CELLS - 1);
	uint32_t counter;
	uint8_t bits;

	truth[i][store] -= n;
	counter = (uint32_t)-truth[i][store];
	put(MOCA_EXACT_COUNTS + cell * 8 + store * 4, &counter, 4);
	if (truth[i][store])
		return;
	exact_arena_read(arena, SLOT, MOCA_EXACT_TOUCHED + cell / 4, &bits, 1);
	bits &= (uint8_t)~(1 << (cell % 4 * 2 + store));
	put(MOCA_EXACT_TOUCHED + cell / 4, &bits, 1);
}

/* A fault takes back what a block has counted ahead, and a slice was told. */
static void run_back(void)
{
	struct tracer_clock clock = { .kind = MOCA_CLOCK_MONOTONIC };
	struct tally *t = exact_tally_new();
	int good = 1;

	prepare();
	for (int s = 0; s < SLICES; s++) {
		struct exact_slice slice = { 0 };

		for (int i = 0; i < GRANULES; i++) {
			if (s % 2)
				take_back(i, 1, 1 + (uint64_t)i % 100);
			else
				count(i, 1, 100 + random64() % 1000, 0);
		}
		slice.log_count = log_count;
		slice.begin_ns = 1000 + s * 10;
		slice.end_ns = 1010 + s * 10;
		slice.last = s + 1 == SLICES;
		last_addr = 0;
		if (exact_tally_rows(t, arena, SLOT, &slice, &clock, take,
				     NULL))
			good = 0;
		/* What was told stays; what comes then is less by that. */
		for (int i = 0; i < GRANULES; i++)
			if (told[i][1] - truth[i][1] !=
			    (s % 2 ? 1 + (uint64_t)i % 100 : 0))
				good = 0;
	}
	check("what a fault takes back", good && in_order);
	exact_tally_free(t);
	exact_arena_free(arena);
}

int main(void)
{
	run_back();
	run(1, "one slice");
	run(SLICES, "many slices, and counters ahead of the log");
	return failed;
}
