// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The log of first touches. Signal handlers may come in between and log as
 * well; no other thread does.
 */
#include <stddef.h>

#include "agent/count/counters.h"
#include "include/abi/count.h"

/* What an interrupting handler must see written stays in this order. */
#define ORDERED() atomic_signal_fence(memory_order_seq_cst)

static void gap_in(struct moca_exact_slot *s, unsigned int gap)
{
	__atomic_fetch_add(&s->gaps[gap], 1, __ATOMIC_RELAXED);
}

/* entry at n, unless a handler put something there meanwhile. */
static bool publish(struct moca_exact_slot *s, uint64_t n, uint64_t entry)
{
	uint64_t *log = (uint64_t *)((char *)s + MOCA_EXACT_LOG);

	__atomic_store_n(&log[n], entry, __ATOMIC_RELAXED);
	/* The collector reads log_count, then the entries. */
	return __atomic_compare_exchange_n(&s->log_count, &n, n + 1, false,
					   __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static void append(struct count_context *c, uint64_t entry)
{
	struct moca_exact_slot *s = c->slot;
	bool outer = !c->busy, told = !outer, ok;
	uint64_t n, now, delta;

	c->busy = true;
	ORDERED();
	for (;;) {
		n = __atomic_load_n(&s->log_count, __ATOMIC_RELAXED);
		if (n + 2 > MOCA_EXACT_LOG_MAX) {
			gap_in(s, MOCA_EXACT_GAP_LOG);
			break;
		}
		now = count_clock();
		delta = (now - c->time) >> MOCA_EXACT_LOG_UNIT;
		/*
		 * After an interruption, or as one, c->time may not be the
		 * last TIME that the log has.
		 */
		if (!n || told || delta >> MOCA_EXACT_LOG_TIME_BITS) {
			c->time = now & ~3ull;
			ORDERED();
			ok = publish(s, n, c->time | MOCA_EXACT_LOG_TIME);
			told = !ok;
			continue;
		}
		if (publish(s, n, entry | delta << MOCA_EXACT_LOG_TIME_SHIFT))
			break;
		told = true;
	}
	ORDERED();
	if (outer)
		c->busy = false;
}

void moca_count_first(uint64_t addr, int store)
{
	struct count_context *c = count_context();
	uint64_t granule, cell, entry;
	uint8_t *touched, old, bit;

	if (!c->slot)
		return;
	granule = addr >> moca_count_recording.shift;
	cell = granule & (MOCA_EXACT_CELLS - 1);
	touched = (uint8_t *)c->slot + MOCA_EXACT_TOUCHED + cell / 4;
	bit = (uint8_t)(1u << (cell % 4 * 2 + store));
	/* In one step: a handler may touch the neighbour. */
	old = __atomic_fetch_or(touched, bit, __ATOMIC_RELAXED);
	if (old & bit)
		entry = MOCA_EXACT_LOG_WRAP;
	else if (old & (3u << (cell % 4 * 2)))
		return;
	else
		entry = MOCA_EXACT_LOG_FIRST;
	if (entry == MOCA_EXACT_LOG_FIRST)
		count_mapping(addr);
	entry |= granule << MOCA_EXACT_LOG_GRANULE_SHIFT;
	append(c, store ? entry | MOCA_EXACT_LOG_STORE : entry);
}

static void count_one(struct count_context *c, uint64_t addr, uint32_t n,
		      int store)
{
	uint64_t cell = (addr >> moca_count_recording.shift) &
			(MOCA_EXACT_CELLS - 1);
	uint32_t *counter = (uint32_t *)((char *)c->slot + MOCA_EXACT_COUNTS) +
			    cell * 2 + store;
	unsigned char borrow;

	__asm__ volatile("subl %2, %0" : "+m"(*counter), "=@ccc"(borrow)
			 : "r"(n));
	if (borrow)
		moca_count_first(addr, store);
}

/* n elements of size bytes from addr, downwards when down. */
static void count_range(struct count_context *c, uint64_t addr, uint64_t n,
			uint64_t size, bool down, int store)
{
	uint64_t granule = 1ull << moca_count_recording.shift, here, left;

	while (n) {
		left = down ? addr & (granule - 1) :
			      granule - 1 - (addr & (granule - 1));
		here = left / size + 1;
		if (here > n)
			here = n;
		count_one(c, addr, (uint32_t)here, store);
		c->slot->apart.granules++;
		c->slot->apart.strings += here;
		addr = down ? addr - here * size : addr + here * size;
		n -= here;
	}
}

void moca_count_elements(uint64_t rdi, uint64_t rsi, uint64_t rcx,
			 uint64_t flags, uint64_t what, const uint64_t *before)
{
	struct count_context *c = count_context();
	uint64_t size = what >> MOCA_COUNT_STRING_SIZE_SHIFT, n = rcx;
	bool down = flags >> 10 & 1;

	if (!c->slot)
		return;
	if (what & MOCA_COUNT_STRING_AFTER) {
		n = before[2] - rcx;
		rsi = before[1];
		rdi = before[0];
	}
	if (what & MOCA_COUNT_STRING_RSI)
		count_range(c, rsi, n, size, down, 0);
	if (what & MOCA_COUNT_STRING_RDI)
		count_range(c, rdi, n, size, down, 0);
	if (what & MOCA_COUNT_STRING_TO_RDI)
		count_range(c, rdi, n, size, down, 1);
}
