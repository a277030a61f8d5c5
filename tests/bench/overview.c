// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the overview of a report costs at its largest: as many groups of pages
 * and slices of time as it may have, of few and of many objects, with noise (all
 * cells differ: the worst case) and with phases. make bench-overview.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "analysis/space.h"

#define BINS_LOG2 11
#define PAGES 20000u		/* of all objects together */

static uint64_t seed = 88172645463325252ull;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* CPU time of this process, s */
static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint32_t one_process(const void *arg, const struct moca_grid_cell *c)
{
	return 1;
}

static void fill(struct moca_grids *grids, uint32_t objects, int noise)
{
	struct moca_grid_cell c = { .thread = 0 };
	uint32_t i, s;

	for (i = 0; i < PAGES; i++)
		for (s = 0; s < 32; s++) {
			c.group = i;
			c.bin = s * 64;
			c.reads = noise ? (uint32_t)(next() % 100) :
					  (s / 8 + i / 3000) % 3 * 10 + 1;
			c.writes = noise ? (uint32_t)(next() % 100) :
					   (s / 5 + i / 777) % 2 * 7;
			if (moca_grids_add(grids, i * objects / PAGES, &c))
				abort();
		}
}

static void bench(uint32_t objects, int noise)
{
	const struct moca_grid *list[MOCA_SPACE_OBJECTS];
	struct moca_space_input in = {
		.objects = objects, .grids = list, .bins_log2 = BINS_LOG2,
		.slices_log2 = MOCA_SPACE_SLICES_LOG2, .process = one_process,
	};
	struct moca_grids grids;
	struct moca_space x;
	struct rusage r;
	double begin, counted, divided;
	uint32_t i;

	moca_grids_init(&grids, BINS_LOG2, 3000000);
	fill(&grids, objects, noise);
	for (i = 0; i < objects; i++)
		list[i] = moca_grids_get(&grids, i);
	begin = used();
	if (moca_space_count(&x, &in, MOCA_SPACE_LEAVES))
		abort();
	counted = used();
	if (moca_space_divide(&x))
		abort();
	divided = used();
	getrusage(RUSAGE_SELF, &r);
	printf("  %2u objects, %-6s: %zu nodes, %zu leaves x %zu slices, %6zu partitions, %zu levels; count %.2f s, divide %.2f s CPU; peak %ld MiB\n",
	       objects, noise ? "noise" : "phases", x.nodes, x.leaves,
	       x.slices, x.levels.quality_count, x.levels.level_count,
	       counted - begin, divided - counted, r.ru_maxrss / 1024);
	fflush(stdout);
	moca_space_free(&x);
	moca_grids_free(&grids);
}

int main(int argc, char **argv)
{
	/* One by one, as peaks do not fall. */
	if (argc == 3) {
		bench((uint32_t)atoi(argv[1]), atoi(argv[2]));
		return 0;
	}
	fprintf(stderr, "usage: %s OBJECTS NOISE\n", argv[0]);
	return 2;
}
