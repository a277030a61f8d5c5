// SPDX-License-Identifier: LGPL-2.1-or-later
#include "agent/exact/chart.h"

/* Of an instruction of either translation: it, what it pushes, and counters. */
#define STRETCHES_MAX (REGION_INSNS * 2 * 2 * (1 + X86_ACCESSES))

static struct moca_exact_chart *chart;
static uint32_t childs;	/* number + 1 of the one for a child; 0: there is none */
static struct {
	const uint8_t *from, *to;
	unsigned int what;
} told[STRETCHES_MAX];
static int told_count;

static struct moca_exact_chart *chart_at(uint32_t n)
{
	return (struct moca_exact_chart *)(moca_exact.arena +
					   n * MOCA_EXACT_SLOT_SIZE +
					   MOCA_EXACT_CHART);
}

static int take(uint32_t n)
{
	uint32_t from = MOCA_EXACT_FREE;

	return __atomic_compare_exchange_n(&chart_at(n)->state, &from,
					   MOCA_EXACT_LIVE, 0,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* One that was free, as find_slot of thread.c: its number + 1, or 0. */
static uint32_t find(void)
{
	uint32_t *used = &moca_exact.shared->charts;

	for (;;) {
		uint32_t n = __atomic_load_n(used, __ATOMIC_ACQUIRE);

		if (n > MOCA_EXACT_SLOTS)
			return 0;
		for (uint32_t i = 0; i < n; i++)
			if (take(i))
				return i + 1;
		if (n == MOCA_EXACT_SLOTS)
			return 0;
		if (__atomic_compare_exchange_n(used, &n, n + 1, 0,
						__ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED) &&
		    take(n))
			return n + 1;
	}
}

static void use(uint32_t number)
{
	moca_exact.chart = number;
	chart = number ? chart_at(number - 1) : NULL;
}

static uint8_t *bits_of(struct moca_exact_chart *c, int number)
{
	return (uint8_t *)c + MOCA_EXACT_CHART_BITS((uint64_t)number);
}

static void describe(struct moca_exact_chart *c)
{
	c->agent = moca_exact.setup.agent;
	c->agent_end = moca_exact.setup.zydis_end;
	c->call = (uint64_t)moca_exact_before_syscall;
	c->call_end = (uint64_t)moca_exact_after_syscall;
}

void moca_exact_chart_begin(void)
{
	use(find());
	if (chart)
		describe(chart);
}

static void add_cache(struct moca_exact_chart *c, const struct cache *k)
{
	if ((unsigned int)k->number >= MOCA_EXACT_CHART_CACHES)
		return;
	c->base[k->number] = (uint64_t)k->base;
	/* Pairs with the collector's: that base is there. */
	__atomic_store_n(&c->caches, (uint32_t)k->number + 1, __ATOMIC_RELEASE);
}

void moca_exact_chart_fork(const struct cache *caches, int count)
{
	struct moca_exact_chart *c;

	childs = chart ? find() : 0;
	if (!childs)
		return;
	c = chart_at(childs - 1);
	describe(c);
	c->parent = moca_exact.chart;
	for (int i = 0; i < count && i < (int)MOCA_EXACT_CHART_CACHES; i++) {
		c->parents[i] = (uint64_t)(caches[i].at - caches[i].base);
		add_cache(c, &caches[i]);
	}
}

void moca_exact_chart_child(void)
{
	use(childs);
	childs = 0;
}

void moca_exact_chart_parent(int made)
{
	struct moca_exact_chart *c;

	if (childs && !made) {
		c = chart_at(childs - 1);
		memset((uint8_t *)c + sizeof(c->state), 0,
		       sizeof(*c) - sizeof(c->state));
		__atomic_store_n(&c->state, MOCA_EXACT_FREE, __ATOMIC_RELEASE);
	}
	childs = 0;
}

void moca_exact_chart_cache(const struct cache *k)
{
	if (chart)
		add_cache(chart, k);
}

void moca_exact_chart_touch(const struct cache *k, const uint8_t *from,
			    const uint8_t *to)
{
	if (chart && (unsigned int)k->number < MOCA_EXACT_CHART_CACHES)
		moca_exact_touch(bits_of(chart, k->number) +
				 (from - k->base) / 4, (size_t)(to - from) / 4);
}

void moca_exact_chart_new(void)
{
	told_count = 0;
}

void moca_exact_chart_tell(const uint8_t *from, const uint8_t *to,
			   unsigned int what)
{
	if (from == to || told_count == STRETCHES_MAX)
		return;
	told[told_count].from = from;
	told[told_count].to = to;
	told[told_count++].what = what;
}

void moca_exact_chart_put(const struct cache *k)
{
	uint8_t *bits;

	if (!chart || (unsigned int)k->number >= MOCA_EXACT_CHART_CACHES)
		return;
	bits = bits_of(chart, k->number);
	for (int i = 0; i < told_count; i++) {
		uint64_t at = (uint64_t)(told[i].from - k->base);
		uint64_t end = (uint64_t)(told[i].to - k->base);

		/* Up to four at once, two bits each. */
		for (uint64_t next; at < end; at = next) {
			next = (at | 3) + 1 < end ? (at | 3) + 1 : end;
			bits[at / 4] |= (uint8_t)(told[i].what * 0x55u >>
						  (4 - (next - at)) * 2
						  << at % 4 * 2);
		}
	}
}

void moca_exact_chart_leave(void)
{
	if (chart)
		chart->left = 1;
	chart = NULL;
}
