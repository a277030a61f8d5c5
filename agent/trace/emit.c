// SPDX-License-Identifier: LGPL-2.1-or-later
/* What MOCA_EVENT calls: which traces want the event, and room in each. */
#include <errno.h>

#include "agent/trace/internal.h"

#define RETRY_NS 1000000000ull

/*
 * Look the event up in all traces, as the registry changed. Threads may do
 * this at the same time: what the slower one stores is of its generation, so
 * an old answer is never taken for a new one.
 */
static uint32_t look_up(struct moca_trace_event *e)
{
	uint32_t mask = 0, known = 1, i, base;
	uint32_t gen = __atomic_load_n(moca_trace_generation, __ATOMIC_ACQUIRE);
	unsigned bit = moca_facility_bit(e->facility);
	struct moca_registry_slot s;

	for (i = 0; agent_registry && i < MOCA_TRACE_SLOTS; i++) {
		if (moca_registry_read_slot(agent_registry, i, &s)) {
			known = 0;	/* being written: ask again */
			continue;
		}
		if (!agent_slot_ours(&s) || !(s.mask >> bit & 1) ||
		    !moca_filter_match(s.filter, e->facility, e->name))
			continue;
		base = agent_slot_base(&s);
		if ((e->id[i] & ~ID_MASK) != base)
			__atomic_store_n(&e->id[i], 0, __ATOMIC_RELAXED);
		mask |= 1u << i;
	}
	if (known) {
		__atomic_store_n(&e->wanted, (uint64_t)gen << 32 | mask,
				 __ATOMIC_RELEASE);
		__atomic_store_n(&e->off, mask ? 0 : gen, __ATOMIC_RELEASE);
	}
	return mask;
}

static uint32_t wanted_by(struct moca_trace_event *e)
{
	uint64_t wanted = __atomic_load_n(&e->wanted, __ATOMIC_ACQUIRE);
	struct agent_thread *t = agent_self;
	int saved_errno;
	uint32_t mask;

	if (__builtin_expect(wanted >> 32 ==
				     __atomic_load_n(moca_trace_generation,
						     __ATOMIC_RELAXED), 1))
		return wanted;
	saved_errno = errno;
	mask = look_up(e);
	if (t && t->live)
		agent_thread_sweep(t);
	errno = saved_errno;
	return mask;
}

static void count_lost(struct agent_slot *s)
{
	if (s->id_base)
		moca_ring_drop(&s->ring);
	else
		__atomic_fetch_add(&s->lost, 1, __ATOMIC_RELAXED);
}

/* Join the trace, learn the event's id. 1: both are there. */
static int get_ready(struct agent_slot *s, unsigned slot,
		     struct moca_trace_event *e)
{
	struct moca_registry_slot r;
	uint32_t base, id;
	int ret;

	if (moca_registry_read_slot(agent_registry, slot, &r) ||
	    !agent_slot_ours(&r))
		return 0;	/* gone meanwhile */
	base = agent_slot_base(&r);
	if (s->retry_base == base && moca_clock_ns() < s->retry_ns)
		goto lost;
	if (s->id_base != base) {
		if (s->ring.nest > 1) {		/* not under a writer's feet */
			s->closing = 1;
			goto lost;
		}
		agent_slot_detach(s);
		ret = agent_join(s, slot, &r);
		if (ret == -ECHILD)	/* its parent may ask at once */
			goto lost;
		if (ret)
			goto refused;
		agent_slot_attached(s, base);
	}
	id = __atomic_load_n(&e->id[slot], __ATOMIC_RELAXED);
	if ((id & ~ID_MASK) != base || !(id & ID_MASK)) {
		if (agent_request_id(e, &r, &id))
			goto refused;
		__atomic_store_n(&e->id[slot], base | id, __ATOMIC_RELAXED);
	}
	return 1;
refused:
	s->retry_base = base;
	s->retry_ns = moca_clock_ns() + RETRY_NS;
lost:
	count_lost(s);
	return 0;
}

static __attribute__((noinline)) int prepare_slot(struct agent_slot *s,
						  struct moca_trace_record *rec)
{
	int saved_errno = errno, ready;
	uint64_t signals;

	agent_block_signals(&signals);
	ready = get_ready(s, rec->slot, rec->event);
	agent_restore_signals(&signals);
	errno = saved_errno;
	if (ready && rec->len > s->ring.max_len) {
		moca_ring_drop(&s->ring);
		ready = 0;
	}
	return ready;
}

/* Leave the ring. The last one out of a trace that is gone unmaps it. */
static inline void leave(struct agent_slot *s)
{
	if (__builtin_expect(s->ring.nest == 0, 0))
		return;		/* forked inside: wiped */
	s->ring.nest--;
	if (__builtin_expect(s->closing, 0) && !s->ring.nest) {
		int saved_errno = errno;

		agent_slot_close(s);
		errno = saved_errno;
	}
}

static void *next_trace(struct moca_trace_record *rec)
{
	struct agent_thread *t;
	struct agent_slot *s;
	uint32_t id;

	while (rec->rest) {
		t = agent_thread_get();
		if (!t)
			return NULL;
		rec->slot = __builtin_ctz(rec->rest);
		rec->rest &= rec->rest - 1;
		s = &t->slots[rec->slot];
		s->ring.nest++;
		id = __atomic_load_n(&rec->event->id[rec->slot],
				     __ATOMIC_RELAXED);
		/* Is it an id (1 to ID_MASK) of the ring's own trace? */
		if (__builtin_expect(id - s->id_base - 1 >= ID_MASK ||
					     rec->len > s->ring.max_len, 0)) {
			if (!prepare_slot(s, rec)) {
				leave(s);
				continue;
			}
			id = __atomic_load_n(&rec->event->id[rec->slot],
					     __ATOMIC_RELAXED);
			/* Another thread may be in the next trace already. */
			if (id - s->id_base - 1 >= ID_MASK) {
				moca_ring_drop(&s->ring);
				leave(s);
				continue;
			}
		}
		rec->head = moca_ring_reserve(&s->ring, id & ID_MASK, rec->len,
					      &rec->position, &rec->header);
		if (rec->head) {
			rec->ring = s;
			return rec->head + 1;
		}
		leave(s);
	}
	return NULL;
}

void *moca_trace_reserve(struct moca_trace_event *e, uint32_t len,
			 struct moca_trace_record *rec)
{
	rec->event = e;
	rec->len = len;
	rec->rest = wanted_by(e);
	return next_trace(rec);
}

void *moca_trace_commit(struct moca_trace_record *rec)
{
	struct agent_slot *s = rec->ring;

	if (__builtin_expect(s->ring.shm != NULL, 1))	/* not forked inside */
		moca_ring_commit(&s->ring, rec->head, rec->position,
				 rec->header);
	leave(s);
	return __builtin_expect(rec->rest, 0) ? next_trace(rec) : NULL;
}
