// SPDX-License-Identifier: LGPL-2.1-or-later
/* A thread's buffers: attached, given back, and what a fork makes of them. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/trace/emitter.h"

struct agent_member *agent_member_fresh(struct agent_slot *s)
{
	struct agent_member *m = s->member;

	if (m && !m->ring.nest) {
		agent_member_detach(m);
		return m;
	}
	if (m) {	/* not under a writer's feet */
		m->closing = 1;
		m->retired = 1;
	}
	m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	s->member = m == MAP_FAILED ? NULL : m;
	return s->member;
}

void agent_member_attached(struct agent_slot *s, uint32_t base)
{
	uint64_t lost;

	s->member->id_base = base;
	lost = agent_lost_of(s, base);
	s->lost = 0;
	__atomic_fetch_add(&s->member->ring.shm->lost, lost, __ATOMIC_RELAXED);
}

void agent_member_detach(struct agent_member *m)
{
	struct moca_ring_header *h = m->ring.shm;
	uint32_t nest = m->ring.nest;

	m->id_base = 0;
	m->closing = 0;
	if (!h)
		return;
	/* Pairs with the collector's load: nothing is written after this. */
	__atomic_store_n(&h->ended, 1, __ATOMIC_RELEASE);
	memset(&m->ring, 0, sizeof(m->ring));
	m->ring.nest = nest;
	munmap(m->map, m->map_len);
	m->map = NULL;
}

void agent_member_close(struct agent_member *m)
{
	int saved_errno = errno;
	uint64_t signals;

	agent_block_signals(&signals);
	if (m->closing && !m->ring.nest) {	/* no handler did it */
		agent_member_detach(m);
		if (m->retired)
			munmap(m, sizeof(*m));
	}
	agent_restore_signals(&signals);
	errno = saved_errno;
}

/*
 * Buffers are not inherited. If this fork was called by a handler that
 * interrupted a writer, that writer goes on in the child as well: it finds
 * memory of its own in the buffer's place, where there is no room for anything
 * new. Members stay where they are: such a writer may just have fetched one.
 */
static __thread struct agent_member *forking[MOCA_TRACE_SLOTS]
	__attribute__((tls_model("initial-exec")));

void agent_member_fork_prepare(void)
{
	struct agent_thread *t = agent_self;
	unsigned i;

	for (i = 0; i < MOCA_TRACE_SLOTS; i++)
		forking[i] = t && t->live ? t->slots[i].member : NULL;
}

void agent_member_fork_child(void)
{
	unsigned i;

	for (i = 0; i < MOCA_TRACE_SLOTS; i++) {
		struct agent_member *m = forking[i];

		if (!m || !m->map)
			continue;
		m->id_base = 0;
		m->ring.doorbell = NULL;
		m->ring.mode = MOCA_RING_DISCARD;
		if (m->ring.nest) {
			mmap(m->map, m->map_len, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			     -1, 0);
			m->closing = 1;
			m->retired = 1;
		} else {
			memset(&m->ring, 0, sizeof(m->ring));
			m->map = NULL;
		}
	}
}
