// SPDX-License-Identifier: LGPL-2.1-or-later
/* Also called amid anything: no library call, which may use vectors. */
#include <moca/types.h>

#include "agent/count/counters.h"

#define RING (MOCA_EXACT_EVENTS_SIZE - 1)

static void copy_in(char *ring, uint64_t at, const void *p, uint64_t len)
{
	const char *from = p;
	uint64_t i;

	for (i = 0; i < len; i++)
		ring[(at + i) & RING] = from[i];
}

static uint64_t length(const char *s)
{
	uint64_t n = 0;

	while (s && n < 4095 && s[n])
		n++;
	return n;
}

void count_event(uint32_t type, uint64_t addr, uint64_t len, uint64_t offset,
		 uint32_t flags, uint32_t prot, const char *name)
{
	struct count_context *c = count_context();
	struct moca_exact_slot *s = c->slot;
	struct moca_exact_event e = {
		.type = type, .clock = count_clock(), .addr = addr,
		.len = len, .offset = offset, .flags = flags, .prot = prot,
	};
	static const char zeros[8];
	uint64_t head, used, n = length(name);
	char *ring;

	if (!s)
		return;
	/* A handler's: what it interrupted is half written. */
	if (c->telling) {
		s->events_lost++;
		return;
	}
	c->telling = true;
	atomic_signal_fence(memory_order_seq_cst);
	ring = (char *)s + MOCA_EXACT_EVENTS;
	e.size = (uint32_t)((sizeof(e) + n + 1 + 7) & ~7ull);
	head = s->events_head;
	/* Pairs with the collector's when it has read what is below. */
	used = head - __atomic_load_n(&s->events_tail, __ATOMIC_ACQUIRE);
	if (used + e.size > MOCA_EXACT_EVENTS_SIZE) {
		s->events_lost++;
		c->telling = false;
		return;
	}
	copy_in(ring, head, &e, sizeof(e));
	copy_in(ring, head + sizeof(e), name, n);
	copy_in(ring, head + sizeof(e) + n, zeros, e.size - sizeof(e) - n);
	/* Pairs with the collector's before it reads. */
	__atomic_store_n(&s->events_head, head + e.size, __ATOMIC_RELEASE);
	atomic_signal_fence(memory_order_seq_cst);
	c->telling = false;
}

void count_gap(unsigned int gap, uint64_t n, const char *name)
{
	struct moca_exact_slot *s = count_context()->slot;

	if (!s)
		return;
	__atomic_fetch_add(&s->gaps[gap], n, __ATOMIC_RELAXED);
	count_event(MOCA_CHANGE_GAP, 0, 0, 0, 0, 0, name);
}
