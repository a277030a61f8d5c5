// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/exact/price.h"

#include <string.h>

/*
 * The least and the most, ns of CPU time, by tests/bench/exact/told. An access that is
 * counted where it is made: 0.3 in sort, 1.5 to 4.4 in bash, which jumps by registers
 * all the time, up to 1.8 in a loop of one load, where nothing hides it; 2.5 on a busy
 * machine; and where the processor waits for memory anyway, nothing.
 */
static const struct {
	enum cost_kind cost;
	double least, most;
} prices[PRICE_KINDS] = {
	[PRICE_COUNT] = { COST_COUNT, 0.10, 6.0 },
	[PRICE_LOOP] = { COST_LOOP, 0, 1.0 },
	/* Of a granule, not of an access. */
	[PRICE_STRING] = { COST_STRING, 0, 12 },
	[PRICE_HELP] = { COST_HELP, 10, 120 },
	[PRICE_EXIT] = { COST_LOOKUP, 20, 1000 },
};
static double least_of(double a, double b)
{
	return a < b ? a : b;
}

/* Of those that are left. What goes back below 0 is nonsense. */
static uint64_t take(uint64_t n, uint64_t *left)
{
	if (n > INT64_MAX)
		n = 0;
	if (n > *left)
		n = *left;
	*left -= n;
	return n;
}

void price_of(uint64_t accesses, const struct moca_exact_apart *apart,
	      uint64_t cpu_ns, struct price *p)
{
	uint64_t left = accesses;

	memset(p, 0, sizeof(*p));
	p->count[PRICE_STRING] = take(apart->strings, &left);
	p->count[PRICE_LOOP] = take(apart->stretched, &left);
	p->count[PRICE_COUNT] = left;
	p->count[PRICE_HELP] = apart->helped;
	p->count[PRICE_EXIT] = apart->exits;
	for (int k = 0; k < PRICE_KINDS; k++) {
		double n = (double)(k == PRICE_STRING ? apart->granules :
							p->count[k]);

		p->least[k] = least_of(n * prices[k].least,
				       (double)cpu_ns - p->sum_least);
		p->sum_least += p->least[k];
		p->sum_most += n * prices[k].most;
	}
	/* Sums of rounded numbers. */
	p->sum_least = least_of(p->sum_least, (double)cpu_ns);
	p->sum_most = least_of(p->sum_most, (double)cpu_ns);
}

enum cost_kind price_cost(enum price_kind kind)
{
	return prices[kind].cost;
}
