// SPDX-License-Identifier: LGPL-2.1-or-later
/* Counting out of line: a granule's first access, and all that C counts. */
#include "agent/exact/translator.h"

#define CELL_MASK (MOCA_EXACT_CELLS - 1)

static uint32_t *counter(struct context *c, uint64_t granule, int store)
{
	uint32_t *counts = (uint32_t *)((uint64_t)c + CONTEXT_SIZE);

	return counts + 2 * (granule & CELL_MASK) + store;
}

uint64_t *moca_exact_cell(struct context *c, uint64_t granule)
{
	return (uint64_t *)counter(c, granule, 0);
}

static void log_add(struct context *c, uint64_t entry)
{
	struct moca_exact_slot *s = c->slot;
	uint64_t *log = (uint64_t *)((uint64_t)s + MOCA_EXACT_LOG);

	if (s->log_count >= MOCA_EXACT_LOG_MAX) {
		s->gaps[MOCA_EXACT_GAP_LOG]++;
		return;
	}
	log[s->log_count] = entry;
	__atomic_store_n(&s->log_count, s->log_count + 1, __ATOMIC_RELEASE);
}

/* Entries tell their time from the last TIME entry. */
static uint64_t log_clock(struct context *c)
{
	const uint64_t max = 1ull << MOCA_EXACT_LOG_TIME_BITS;
	uint64_t now = clock_now();
	uint64_t since = (now - c->log_time) >> MOCA_EXACT_LOG_UNIT;

	if (!c->log_time || since >= max) {
		c->log_time = now & -4ull;
		log_add(c, c->log_time | MOCA_EXACT_LOG_TIME);
		since = 0;
	}
	return since;
}

void moca_exact_cold(struct context *c, uint64_t granule, int store)
{
	uint8_t *bits = (uint8_t *)c->slot + MOCA_EXACT_TOUCHED;
	uint64_t cell = granule & CELL_MASK;
	unsigned int shift = cell % 4 * 2, had = bits[cell / 4] >> shift & 3;
	uint64_t kind = MOCA_EXACT_LOG_FIRST;

	bits[cell / 4] |= (uint8_t)((1u << store) << shift);
	if (had & 1u << store)
		kind = MOCA_EXACT_LOG_WRAP;
	else if (had)
		return;
	log_add(c, kind | (store ? MOCA_EXACT_LOG_STORE : 0) |
			   log_clock(c) << MOCA_EXACT_LOG_TIME_SHIFT |
			   granule << MOCA_EXACT_LOG_GRANULE_SHIFT);
}

static void count_granule(struct context *c, uint64_t granule, int store,
			  uint64_t n)
{
	uint32_t *p = counter(c, granule, store);

	for (; n >> 31; n -= 1u << 31)
		count_granule(c, granule, store, 1u << 30),
			count_granule(c, granule, store, 1u << 30);
	if (n && __builtin_sub_overflow(*p, (uint32_t)n, p))
		moca_exact_cold(c, granule, store);
}

void moca_exact_count(struct context *c, uint64_t addr, int store, uint64_t n)
{
	count_granule(c, addr >> moca_exact.shift, store, n);
}

static void uncount_granule(struct context *c, uint64_t granule, int store,
			    uint64_t n)
{
	uint8_t *bits = (uint8_t *)c->slot + MOCA_EXACT_TOUCHED;
	uint64_t cell = granule & CELL_MASK;
	uint32_t *p = counter(c, granule, store);

	*p += (uint32_t)n;
	if (!*p)
		bits[cell / 4] &= (uint8_t)~((1u << store) << cell % 4 * 2);
}

static void range(struct context *c, uint64_t addr, int64_t step, int store,
		  uint64_t n, void (*f)(struct context *, uint64_t, int, uint64_t))
{
	const uint64_t size = 1ull << moca_exact.shift;

	while (n) {
		uint64_t in = addr & (size - 1), here = n;

		if (step > 0)
			here = (size - in + (uint64_t)step - 1) / (uint64_t)step;
		else if (step < 0)
			here = in / (uint64_t)-step + 1;
		if (here > n)
			here = n;
		f(c, addr >> moca_exact.shift, store, here);
		addr += (uint64_t)step * here;
		n -= here;
	}
}

static void count_string(struct context *c, uint64_t granule, int store,
			 uint64_t n)
{
	c->slot->apart.granules++;
	count_granule(c, granule, store, n);
}

void moca_exact_count_range(struct context *c, uint64_t addr, int64_t step,
			    int store, uint64_t n)
{
	range(c, addr, step, store, n, count_string);
}

void moca_exact_uncount_range(struct context *c, uint64_t addr, int64_t step,
			      int store, uint64_t n)
{
	range(c, addr, step, store, n, uncount_granule);
}

/* What is left when none remain is as if there had never been one. */
void moca_exact_uncount(struct context *c, uint64_t addr, int store)
{
	uint64_t granule = addr >> moca_exact.shift, cell = granule & CELL_MASK;
	uint8_t *bits = (uint8_t *)c->slot + MOCA_EXACT_TOUCHED;
	uint32_t *p = counter(c, granule, store);

	if (!++*p)
		bits[cell / 4] &= (uint8_t)~((1u << store) << cell % 4 * 2);
}

void moca_exact_gap(struct context *c, enum moca_exact_gap gap, uint64_t addr)
{
	c->slot->gaps[gap]++;
	if (moca_exact.setup.debug & DEBUG_GAPS)
		moca_exact_say("gap", addr);
}
