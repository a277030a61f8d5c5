// SPDX-License-Identifier: LGPL-2.1-or-later
/* What happens to the program's memory, for the collector. */
#include <asm/unistd.h>
#include <linux/time_types.h>

#include "agent/exact/translator.h"

#define NAME_MAX_LEN 4095
#define WAIT_NS 1000000
#define WAIT_TIMES 1000		/* a second in all */

static int has_room(const struct moca_exact_slot *s, size_t size)
{
	uint64_t tail = __atomic_load_n(&s->events_tail, __ATOMIC_ACQUIRE);

	return s->events_head - tail + size <= MOCA_EXACT_EVENTS_SIZE;
}

static int wait_for_room(const struct moca_exact_slot *s, size_t size)
{
	const struct __kernel_timespec pause = { 0, WAIT_NS };

	for (int i = 0; i < WAIT_TIMES; i++) {
		if (has_room(s, size))
			return 1;
		moca_exact_call(__NR_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
	}
	return 0;
}

static void put(struct moca_exact_slot *s, uint64_t at, const void *from,
		size_t n)
{
	uint8_t *ring = (uint8_t *)s + MOCA_EXACT_EVENTS;
	const uint8_t *p = from;

	for (size_t i = 0; i < n; i++)
		ring[(at + i) & (MOCA_EXACT_EVENTS_SIZE - 1)] = p[i];
}

void moca_exact_event(struct context *c, uint32_t type, uint64_t addr,
		      uint64_t len, uint64_t offset, uint32_t flags,
		      uint32_t prot, const char *name)
{
	struct moca_exact_slot *s = c->slot;
	size_t n = strlen(name);
	struct moca_exact_event e = {
		.type = type, .clock = clock_now(), .addr = addr, .len = len,
		.offset = offset, .flags = flags, .prot = prot,
	};

	if (n > NAME_MAX_LEN)
		n = NAME_MAX_LEN;
	e.size = (uint32_t)((sizeof(e) + n + 1 + 7) & -8ul);
	if (!has_room(s, e.size) && !wait_for_room(s, e.size)) {
		s->events_lost++;
		return;
	}
	put(s, s->events_head, &e, sizeof(e));
	put(s, s->events_head + sizeof(e), name, n);
	put(s, s->events_head + sizeof(e) + n, "", 1);
	__atomic_store_n(&s->events_head, s->events_head + e.size,
			 __ATOMIC_RELEASE);
}
