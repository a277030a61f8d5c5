// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The page of each trace that all its threads share. It stays mapped, also in
 * a fork's child and when the process changes its user.
 */
#include <sys/mman.h>

#include "agent/trace/doorbell.h"
#include "agent/trace/emitter.h"

static struct {
	struct moca_doorbell *page;
	uint64_t session;
	uint32_t base;		/* of the trace; 0: the page is being changed */
} doorbells[MOCA_TRACE_SLOTS];

struct moca_doorbell *agent_doorbell_map(unsigned slot,
					 const struct moca_registry_slot *r,
					 int fd)
{
	struct moca_doorbell *page = doorbells[slot].page;

	if (page && doorbells[slot].session == r->session)
		return page;
	__atomic_store_n(&doorbells[slot].base, 0, __ATOMIC_RELAXED);
	/* In the place of an earlier trace's, which nobody hears any more. */
	page = mmap(page, 4096, PROT_READ | PROT_WRITE,
		    MAP_SHARED | (page ? MAP_FIXED : 0), fd, 0);
	if (page == MAP_FAILED)
		return NULL;
	/* Another thread may be as quick: then a page is mapped twice. */
	doorbells[slot].page = page;
	doorbells[slot].session = r->session;
	/* Pairs with agent_doorbell: the page is this trace's. */
	__atomic_store_n(&doorbells[slot].base, agent_slot_base(r),
			 __ATOMIC_RELEASE);
	return page;
}

struct moca_doorbell *agent_doorbell(unsigned slot, uint32_t base)
{
	uint32_t is = __atomic_load_n(&doorbells[slot].base, __ATOMIC_ACQUIRE);

	return is && (!base || base == is) ? doorbells[slot].page : NULL;
}

uint32_t agent_doorbell_served(unsigned slot, uint32_t base)
{
	struct moca_doorbell *page = agent_doorbell(slot, base);

	return page ? __atomic_load_n(&page->served, __ATOMIC_RELAXED) : 0;
}

struct moca_doorbell *moca_trace_doorbell(const struct moca_trace_event *e)
{
	uint64_t wanted = __atomic_load_n(&e->wanted, __ATOMIC_RELAXED);
	unsigned i;

	for (i = 0; i < MOCA_TRACE_SLOTS; i++)
		if (wanted >> i & 1 && doorbells[i].page)
			return doorbells[i].page;
	return NULL;
}

uint64_t *moca_trace_waited(void)
{
	return &moca_ring_waited_ns;
}
