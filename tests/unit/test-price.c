// SPDX-License-Identifier: GPL-2.0-or-later
/* What counting took, by made counters. No clock. */
#include <math.h>

#include "collect/exact/price.h"
#include "tests/unit/trace-util.h"

#define PAGE 4096
#define LINE 64
#define SECOND 1000000000ull

static int sums_up(const struct price *p, uint64_t accesses)
{
	return p->count[PRICE_COUNT] + p->count[PRICE_LOOP] +
	       p->count[PRICE_STRING] == accesses;
}

/* 6.7 * 10^9 bytes of rep stosb took 0.1 s: each is not an access by itself. */
static int t_strings(void)
{
	struct moca_exact_apart a = { .strings = 6700000000, .helped = 100000,
				      .granules = 6700000000 / PAGE };
	struct price p, each;

	price_of(a.strings + 1000, &a, 2 * SECOND, &p);
	CHECK(sums_up(&p, a.strings + 1000));
	CHECK(p.count[PRICE_STRING] == a.strings);
	CHECK(p.count[PRICE_COUNT] == 1000);
	CHECK(p.sum_least < 0.01 * SECOND);
	CHECK(p.sum_most < 0.1 * SECOND);
	/* By lines there are more granules. */
	a.granules = a.strings / LINE;
	price_of(a.strings, &a, 10 * SECOND, &each);
	CHECK(each.sum_most > p.sum_most);
	/* What is no string has the price of an access. */
	price_of(a.strings, &(struct moca_exact_apart){ 0 }, 2 * SECOND,
		 &each);
	CHECK(each.count[PRICE_STRING] == 0);
	CHECK(each.sum_least > 0.5 * SECOND);
	CHECK(each.sum_most == 2 * SECOND);
	return 0;
}

/* Each short string is a call of C. */
static int t_helped(void)
{
	struct moca_exact_apart a = { .strings = 240000000, .helped = 30000000 };
	struct price p;

	price_of(a.strings, &a, 2 * SECOND, &p);
	CHECK(p.least[PRICE_HELP] >= 0.1 * SECOND);
	CHECK(p.sum_most >= 1.5 * SECOND);
	return 0;
}

static int t_kinds(void)
{
	struct moca_exact_apart a = { .stretched = 700, .strings = 200,
				      .exits = 5 };
	struct price p;
	double sum = 0;

	price_of(1000, &a, SECOND, &p);
	CHECK(p.count[PRICE_COUNT] == 100 && p.count[PRICE_LOOP] == 700);
	CHECK(p.count[PRICE_EXIT] == 5 && p.count[PRICE_HELP] == 0);
	for (int k = 0; k < PRICE_KINDS; k++) {
		CHECK(p.least[k] >= 0);
		sum += p.least[k];
	}
	CHECK(fabs(sum - p.sum_least) < 1e-6 && sum <= p.sum_most);
	CHECK(price_cost(PRICE_STRING) == COST_STRING);
	CHECK(price_cost(PRICE_EXIT) == COST_LOOKUP);
	return 0;
}

/* The program can write all of it. */
static int t_nonsense(void)
{
	const uint64_t odd[] = { 0, 1, 1ull << 31, INT64_MAX, 1ull << 63,
				 UINT64_MAX };
	const int n = sizeof(odd) / sizeof(*odd);

	for (int i = 0; i < n * n * n * n; i++) {
		struct moca_exact_apart a = {
			.strings = odd[i % n], .stretched = odd[i / n % n],
			.helped = odd[i / n / n % n], .exits = odd[i % n],
			.granules = odd[i / n % n],
		};
		uint64_t accesses = odd[i / n / n / n % n];
		struct price p;

		for (int cpu = 0; cpu < n; cpu++) {
			price_of(accesses, &a, odd[cpu], &p);
			CHECK(sums_up(&p, accesses));
			CHECK(p.sum_least >= 0);
			CHECK(p.sum_least <= (double)odd[cpu]);
			CHECK(p.sum_most <= (double)odd[cpu]);
			CHECK(p.sum_least <= p.sum_most);
		}
	}
	return 0;
}

int main(void)
{
	run("price: strings", t_strings);
	run("price: calls of C", t_helped);
	run("price: kinds", t_kinds);
	run("price: nonsense", t_nonsense);
	return failures != 0;
}
