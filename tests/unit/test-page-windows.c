// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * page_windows keeps in which windows of time each page was used. The tests use random
 * pages and windows, and compare it with an array that has one entry for each of both.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/passes.h"
#include "tests/unit/trace-util.h"

#define PAGES 30000u
#define KEYS 3u
#define SPACES 2u
#define USES 400000u
#define WINDOWS 100u

static uint64_t seed;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Of each, a bit for each window that it was used in. */
static unsigned __int128 used[SPACES][KEYS][PAGES];

static int use(struct page_windows *p, struct page_place x, unsigned window)
{
	page_windows_prefetch(p, &x);
	return page_windows_use(p, &x, window);
}

/* Windows go on with the uses, and each use is up to `late` windows late. */
static int as_an_array(unsigned late, uint64_t apart)
{
	for (uint64_t round = 1; round <= 4; round++) {
		struct page_windows p = { .limit = SIZE_MAX };
		size_t pages = 0;

		seed = round * 0x9e3779b97f4a7c15ull;
		memset(used, 0, sizeof(used));
		for (size_t i = 0; i < USES; i++) {
			unsigned window = (unsigned)(i * WINDOWS / USES);
			unsigned before = (unsigned)(next() % (late + 1));
			uint32_t page = (uint32_t)(next() % PAGES);
			struct page_place x = {
				.page = page * apart,
				.key = (uint32_t)(next() % KEYS),
				.space = (uint32_t)(next() % SPACES),
			};
			unsigned __int128 *at = &used[x.space][x.key][page];
			unsigned __int128 bit;

			window -= before < window ? before : window;
			bit = (unsigned __int128)1 << window;
			pages += !*at;
			CHECK(use(&p, x, window) == !(*at & bit));
			*at |= bit;
		}
		CHECK(p.count == pages);
		CHECK(pages > PAGES * KEYS * SPACES / 2);
		page_windows_free(&p);
	}
	return 0;
}

static int neighbours(void)
{
	return as_an_array(0, 1) || as_an_array(24, 1);
}

/* Most leaves would have one page: they are not made. */
static int far_apart(void)
{
	struct page_windows p = { .limit = SIZE_MAX };

	for (uint32_t i = 0; i < 3 * PAGES; i++)
		CHECK(use(&p, (struct page_place){ .page = i * 1000ull }, 0) ==
		      1);
	CHECK(p.leaf_count < PAGES && p.more_count > PAGES);
	page_windows_free(&p);
	return as_an_array(3, 1000);
}

static int beyond_the_limit(void)
{
	struct page_windows p = { .limit = 10 };

	for (unsigned round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 100; i++) {
			struct page_place x = { .page = i };

			CHECK(use(&p, x, round) ==
			      (i < 10 ? 1 : PAGE_LEFT_OUT));
		}
	page_windows_free(&p);
	return 0;
}

int main(void)
{
	run("page windows: as an array of all pages has them", neighbours);
	run("page windows: pages that have no neighbours", far_apart);
	run("page windows: beyond the limit pages are left out", beyond_the_limit);
	return failures != 0;
}
