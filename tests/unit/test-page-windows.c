// SPDX-License-Identifier: GPL-2.0-or-later
/* The windows in which pages were used, beside an array of all; the table grows. */
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

/* The last window of each, and 1; 0: none yet. */
static uint8_t last[SPACES][KEYS][PAGES];

static int as_an_array(void)
{
	for (uint64_t round = 1; round <= 4; round++) {
		struct page_windows p = { .limit = SIZE_MAX };
		size_t pages = 0;

		seed = round * 0x9e3779b97f4a7c15ull;
		memset(last, 0, sizeof(last));
		for (size_t i = 0; i < USES; i++) {
			unsigned window = (unsigned)(next() % WINDOWS);
			uint32_t page = (uint32_t)(next() % PAGES);
			struct moca_observed x = {
				.addr = (uint64_t)page << PAGE_SHIFT | 8,
				.key = (uint32_t)(next() % KEYS),
				.space = (uint32_t)(next() % SPACES),
			};
			uint8_t *at = &last[x.space][x.key][page];
			uint64_t hash = page_windows_prefetch(&p, &x);

			pages += !*at;
			CHECK(page_windows_use(&p, &x, hash, window) ==
			      (*at != window + 1));
			*at = (uint8_t)(window + 1);
		}
		CHECK(p.count == pages);
		CHECK(pages > PAGES * KEYS * SPACES / 2);
		CHECK(10 * p.count < 8 * p.cap);
		free(p.entries);
	}
	return 0;
}

static int beyond_the_limit(void)
{
	struct page_windows p = { .limit = 10 };

	for (unsigned round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 100; i++) {
			struct moca_observed x = { .addr = (uint64_t)i << PAGE_SHIFT };
			uint64_t hash = page_windows_prefetch(&p, &x);

			CHECK(page_windows_use(&p, &x, hash, round) ==
			      (i < 10 ? 1 : PAGE_LEFT_OUT));
		}
	free(p.entries);
	return 0;
}

int main(void)
{
	run("page windows: as an array of all pages has them", as_an_array);
	run("page windows: beyond the limit pages are left out", beyond_the_limit);
	return failures != 0;
}
