// SPDX-License-Identifier: GPL-2.0-or-later
/* Grids of cells: whatever their resolution, the sums are exact. */
#include <stdlib.h>
#include <string.h>

#include "analysis/grid.h"
#include "tests/unit/trace-util.h"

#define BINS_LOG2 6
#define ADDED 40000
#define KEYS 3

static struct moca_grid_cell all[ADDED];
static uint32_t key_of[ADDED];
static uint64_t seed;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Pages in clusters far apart, of few threads. */
static void make(size_t i)
{
	all[i] = (struct moca_grid_cell){
		.group = 0x7f0000000ull + (next() % 7 << 20) + next() % 300,
		.bin = next() % (1u << BINS_LOG2), .thread = next() % 3,
		.node = next() % 2, .flags = next() % 2,
		.first = (uint32_t)next(), .reads = next() % 3,
		.writes = next() % 2, .other = next() % 2,
	};
	key_of[i] = next() % KEYS;
}

/* What cell x of the grid must be, from all that was added. */
static int is_right(const struct moca_grid *g, uint32_t key,
		    const struct moca_grid_cell *x, uint64_t *sum)
{
	uint64_t reads = 0, writes = 0, other = 0;
	uint32_t first = UINT32_MAX;
	size_t i;

	for (i = 0; i < ADDED; i++) {
		const struct moca_grid_cell *a = &all[i];

		if ((key < KEYS && key_of[i] != key) ||
		    a->group >> g->page_shift != x->group ||
		    a->bin >> g->time_shift != x->bin ||
		    a->thread != x->thread || a->node != x->node ||
		    a->flags != x->flags || !(a->reads + a->writes + a->other))
			continue;
		reads += a->reads;
		writes += a->writes;
		other += a->other;
		if (a->first < first)
			first = a->first;
	}
	*sum += reads + writes + other;
	return x->reads == reads && x->writes == writes && x->other == other &&
	       x->first == first && reads + writes + other;
}

static int is_after(const struct moca_grid_cell *a,
		    const struct moca_grid_cell *b)
{
	if (a->group != b->group)
		return a->group > b->group;
	if (a->bin != b->bin)
		return a->bin > b->bin;
	if (a->thread != b->thread)
		return a->thread > b->thread;
	return a->node != b->node ? a->node > b->node : a->flags > b->flags;
}

/* Compare with brute force; key KEYS stands for all of them in grid 0. */
static int compare(const struct moca_grids *s, uint32_t key, uint64_t want)
{
	const struct moca_grid *g = moca_grids_get(s, key < KEYS ? key : 0);
	struct moca_grid_cell *c;
	uint64_t sum = 0;
	size_t i;

	CHECK(g);
	c = moca_grid_sorted(g);
	CHECK(c);
	for (i = 0; i < g->count; i++) {
		CHECK(is_right(g, key, &c[i], &sum));
		CHECK(!i || is_after(&c[i], &c[i - 1]));
	}
	CHECK(sum == want);
	free(c);
	return 0;
}

static uint64_t sum_of(uint32_t key)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < ADDED; i++)
		if (key >= KEYS || key_of[i] == key)
			sum += (uint64_t)all[i].reads + all[i].writes +
			       all[i].other;
	return sum;
}

static int fill(struct moca_grids *s, size_t limit)
{
	size_t i;

	seed = 88172645463325252ull;
	moca_grids_init(s, BINS_LOG2, limit);
	for (i = 0; i < ADDED; i++) {
		make(i);
		CHECK(!moca_grids_add(s, key_of[i], &all[i]));
		CHECK(s->cells <= s->limit + 1);
	}
	return 0;
}

static int fine(void)
{
	struct moca_grids s;
	uint32_t k;

	CHECK(!fill(&s, 1000000));
	for (k = 0; k < KEYS; k++) {
		CHECK(!s.grids[k].page_shift && !s.grids[k].time_shift);
		if (!k)
			CHECK(!compare(&s, k, sum_of(k)));
	}
	moca_grids_free(&s);
	return 0;
}

/* Cells that differ by thread, node or flags alone are as many, in a large table. */
static int by_who(void)
{
	struct moca_grid_cell c = { .group = 7 };
	const struct moca_grid *g;
	struct moca_grids s;
	uint64_t sum = 0;
	size_t i, n = 0;

	moca_grids_init(&s, BINS_LOG2, 1000000);
	for (unsigned again = 0; again < 2; again++)
		for (i = 0; i < 64 * 16 * 2 * 8; i++) {
			c.thread = (uint16_t)(i % 64);
			c.node = (uint8_t)(i / 64 % 16);
			c.flags = (uint8_t)(i / 64 / 16 % 2);
			c.bin = (uint32_t)(i / 64 / 16 / 2);
			c.reads = (uint32_t)i + 1;
			CHECK(!moca_grids_add(&s, 0, &c));
		}
	g = moca_grids_get(&s, 0);
	CHECK(g && g->count == 64 * 16 * 2 * 8 && s.cells == g->count);
	CHECK(g->count * 4 <= g->cap * 3 && g->cap < 2 * g->count + 100);
	for (i = 0; i < g->cap; i++) {
		n += moca_grid_at(g, i)->reads != 0;
		sum += moca_grid_at(g, i)->reads;
	}
	CHECK(n == g->count && sum == n * (n + 1));
	moca_grids_free(&s);
	return 0;
}

static int bounded(void)
{
	struct moca_grids s;
	uint32_t k;

	CHECK(!fill(&s, 3000));
	CHECK(s.limit == 3000);
	for (k = 0; k < KEYS; k++) {
		CHECK(s.grids[k].page_shift || s.grids[k].time_shift);
		CHECK(!compare(&s, k, sum_of(k)));
	}
	moca_grids_free(&s);
	return 0;
}

/* To the end: one group, one bin, and a cell for each thread and node. */
static int coarsest(void)
{
	struct moca_grids s;
	int ret, steps = 0;

	CHECK(!fill(&s, 3000));
	while ((ret = moca_grids_coarsen(&s, 0)) > 0)
		CHECK(++steps < 100);
	CHECK(!ret);
	CHECK(s.grids[0].count == 3 * 2 * 2);
	CHECK(s.cells == s.grids[0].count + s.grids[1].count +
			 s.grids[2].count);
	CHECK(!compare(&s, 0, sum_of(0)));
	moca_grids_free(&s);
	return 0;
}

static int merged(void)
{
	struct moca_grids s;

	CHECK(!fill(&s, 3000));
	CHECK(moca_grids_coarsen(&s, 1) > 0);
	CHECK(!moca_grids_merge(&s, 0, 1));
	CHECK(!moca_grids_merge(&s, 0, 2));
	CHECK(!moca_grids_merge(&s, 0, 77));
	CHECK(!moca_grids_get(&s, 1) && !moca_grids_get(&s, 2));
	CHECK(s.cells == s.grids[0].count);
	CHECK(!compare(&s, KEYS, sum_of(KEYS)));
	moca_grids_drop(&s, 0);
	CHECK(!s.cells && !moca_grids_get(&s, 0));
	moca_grids_free(&s);
	return 0;
}

/* More objects than cells: the limit gives way, nothing is lost. */
static int many_keys(void)
{
	struct moca_grid_cell c = { .group = 1, .reads = 1 };
	struct moca_grids s;
	uint32_t k;

	moca_grids_init(&s, BINS_LOG2, 100);
	for (k = 0; k < 1000; k++)
		CHECK(!moca_grids_add(&s, k, &c));
	CHECK(s.cells == 1000);
	for (k = 0; k < 1000; k++)
		CHECK(moca_grids_get(&s, k)->count == 1);
	moca_grids_free(&s);
	return 0;
}

static int full_count(void)
{
	struct moca_grid_cell c = { .group = 1, .writes = UINT32_MAX - 1 };
	struct moca_grids s;
	int i;

	moca_grids_init(&s, BINS_LOG2, 100);
	for (i = 0; i < 3; i++)
		CHECK(!moca_grids_add(&s, 0, &c));
	CHECK(s.cells == 1);
	for (i = 0; i < (int)s.grids[0].cap; i++)
		CHECK(!moca_grid_at(&s.grids[0], (size_t)i)->writes ||
		      moca_grid_at(&s.grids[0], (size_t)i)->writes == UINT32_MAX);
	moca_grids_free(&s);
	return 0;
}

/* A walk over memory, again and again: cells that stand for several are the same. */
static int joined(void)
{
	struct moca_grid_cell c = { .writes = 1 }, last = { .reads = 0 }, *a, *b;
	struct moca_grids s, t;
	size_t i, n = 0;

	moca_grids_init(&s, BINS_LOG2, 2000);
	moca_grids_init(&t, BINS_LOG2, 2000);
	for (i = 0; i < 100000; i++) {
		c.group = i % 25000;
		c.bin = (uint32_t)(i / 25000);
		c.thread = (uint16_t)(i / 1000 % 2);
		c.first = (uint32_t)i;
		CHECK(!moca_grids_add(&s, 0, &c));
		if (moca_grids_join(&t, 0, &last, &c)) {
			n++;
			continue;
		}
		CHECK(!moca_grids_add(&t, 0, &last));
		last = c;
	}
	CHECK(!moca_grids_add(&t, 0, &last));
	a = moca_grid_sorted(&s.grids[0]);
	b = moca_grid_sorted(&t.grids[0]);
	CHECK(a && b && n > 50000 && s.grids[0].page_shift);
	CHECK(s.cells == t.cells && !memcmp(a, b, s.cells * sizeof(*a)));
	/* Of a grid that is not there yet all pages are cells. */
	c = (struct moca_grid_cell){ .group = 8, .reads = 1 };
	last = c;
	CHECK(moca_grids_join(&t, 7, &last, &c) && last.reads == 2);
	c.group = 9;
	CHECK(!moca_grids_join(&t, 7, &last, &c) && last.reads == 2);
	free(a);
	free(b);
	moca_grids_free(&s);
	moca_grids_free(&t);
	return 0;
}

int main(void)
{
	run("grid: fine enough for all", fine);
	run("grid: who, in a large table", by_who);
	run("grid: bounded, sums exact", bounded);
	run("grid: as coarse as can be", coarsest);
	run("grid: several made one", merged);
	run("grid: more objects than cells", many_keys);
	run("grid: counts stay at their end", full_count);
	run("grid: cells that stand for several", joined);
	return failures != 0;
}
