// SPDX-License-Identifier: LGPL-2.1-or-later
/* What MOCA_EVENT calls: which traces want the event, and room in each. */
#include <errno.h>

#include "agent/trace/doorbell.h"
#include "agent/trace/emitter.h"

#define RETRY_NS 1000000000ull
#define READY_TRIES 4

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
			/* Being written: as it was, and ask again. */
			known = 0;
			mask |= (uint32_t)e->wanted & 1u << i;
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
	struct agent_thread *t;
	int saved_errno;
	uint32_t mask;

	if (__builtin_expect(wanted >> 32 ==
				     __atomic_load_n(moca_trace_generation,
						     __ATOMIC_RELAXED), 1))
		return wanted;
	saved_errno = errno;
	mask = look_up(e);
	t = agent_self;
	if (t && t->live)
		agent_thread_sweep(t);
	errno = saved_errno;
	return mask;
}

static void refuse_until(struct agent_slot *s, uint32_t base, uint64_t ns)
{
	s->retry_base = base;
	s->retry_generation = __atomic_load_n(moca_trace_generation,
					      __ATOMIC_RELAXED);
	s->retry_ns = ns;
}

/* How long not to ask a collector again, after error. */
static void be_patient(struct agent_slot *s, unsigned slot, uint32_t base,
		       int error)
{
	struct agent_process *p = agent_process;
	uint64_t now = moca_now_ns();

	refuse_until(s, base, now + RETRY_NS);
	if (error != -EAGAIN)
		return;
	/* It does not answer: no thread shall wait for it for long. */
	if (p->patience[slot].base != base)
		p->patience[slot].timeouts = 0;
	p->patience[slot].base = base;
	if (p->patience[slot].timeouts < 6)
		p->patience[slot].timeouts++;
	p->patience[slot].retry_ns =
		now + (RETRY_NS << p->patience[slot].timeouts);
}

static int is_too_early(struct agent_slot *s, unsigned slot, uint32_t base)
{
	const struct agent_process *p = agent_process;
	uint64_t now = moca_now_ns();

	if (p->patience[slot].base == base && now < p->patience[slot].retry_ns)
		refuse_until(s, base, p->patience[slot].retry_ns);
	return s->retry_base == base && now < s->retry_ns;
}

/* Join the trace, learn the event's id. 0 = both are there. */
static int get_ready(struct agent_slot *s, unsigned slot,
		     struct moca_trace_event *e)
{
	struct moca_registry_slot r;
	struct agent_member *m;
	uint32_t base, id;
	int ret;

	ret = moca_registry_read_slot(agent_registry, slot, &r);
	if (ret) {
		agent_lost(s, slot, 0);
		return ret;
	}
	if (!agent_slot_ours(&r))
		return -ENOENT;	/* gone meanwhile */
	base = agent_slot_base(&r);
	ret = -EBUSY;
	if (is_too_early(s, slot, base)) {
		agent_refused(s, slot, base, ret);
		goto lost;
	}
	m = s->member;
	if (!m || m->id_base != base) {
		m = agent_member_fresh(s);
		ret = m ? agent_join(s, m, slot, &r) : -ENOMEM;
		if (ret == -ECHILD)	/* its parent may ask at once */
			goto lost;
		if (ret)
			goto refused;
		agent_member_attached(s, base);
	}
	id = __atomic_load_n(&e->id[slot], __ATOMIC_RELAXED);
	if ((id & ~ID_MASK) != base || !(id & ID_MASK)) {
		ret = agent_request_ids(&e, 1, slot, &r);
		if (ret)
			goto refused;
	}
	agent_process->patience[slot].base = 0;
	return 0;
refused:
	agent_refused(s, slot, base, ret);
	be_patient(s, slot, base, ret);
lost:
	agent_lost(s, slot, base);
	return ret;
}

static __attribute__((noinline)) int prepare_slot(struct agent_slot *s,
						  struct moca_trace_record *rec)
{
	int saved_errno = errno, ret = -ENOMEM;
	struct agent_thread *t;
	uint64_t signals;

	/* As long as we may not ask, an event costs no system call. */
	if (s->retry_base && s->retry_generation ==
			     __atomic_load_n(moca_trace_generation,
					     __ATOMIC_RELAXED) &&
	    moca_now_ns() < s->retry_ns) {
		agent_refused(s, rec->slot, s->retry_base, -EBUSY);
		agent_lost(s, rec->slot, s->retry_base);
		return -EBUSY;
	}
	agent_block_signals(&signals);
	t = agent_thread_get();		/* a handler may have forked */
	if (t)
		ret = get_ready(&t->slots[rec->slot], rec->slot, rec->event);
	else if (agent_process)
		__atomic_fetch_add(&agent_process->lost, 1, __ATOMIC_RELAXED);
	agent_restore_signals(&signals);
	errno = saved_errno;
	return ret;
}

/* Leave the ring. The last one out of a trace that is gone unmaps it. */
static inline void leave(struct agent_member *m)
{
	m->ring.nest--;
	if (__builtin_expect(m->ring.left > m->ring.nest, 0))
		m->ring.left = m->ring.nest;	/* given up on, but back */
	if (__builtin_expect(m->closing, 0) && !m->ring.nest)
		agent_member_close(m);
}

static inline uint32_t event_id(const struct moca_trace_record *rec)
{
	return __atomic_load_n(&rec->event->id[rec->slot], __ATOMIC_RELAXED);
}

/*
 * The member of this trace, entered, and the event's id in it; NULL: there is
 * none, counted. Entered before anything is looked at: then no handler takes
 * it away.
 */
static inline struct agent_member *enter(struct moca_trace_record *rec,
					 uint32_t *id)
{
	unsigned tries;

	for (tries = 0;; tries++) {
		struct agent_thread *t = agent_thread_get();
		struct agent_member *m;
		struct agent_slot *s;

		if (__builtin_expect(!t, 0)) {
			if (agent_process)
				__atomic_fetch_add(&agent_process->lost, 1,
						   __ATOMIC_RELAXED);
			return NULL;
		}
		s = &t->slots[rec->slot];
		m = s->member;
		if (__builtin_expect(m != NULL, 1)) {
			m->ring.nest++;
			*id = event_id(rec);
			/* Is it an id (1 to ID_MASK) of this very trace? */
			if (__builtin_expect(*id - m->id_base - 1 < ID_MASK, 1))
				return m;
			leave(m);
		}
		if (tries == READY_TRIES) {
			agent_lost(s, rec->slot, 0);
			return NULL;
		}
		if (prepare_slot(s, rec))
			return NULL;
	}
}

static void *next_trace(struct moca_trace_record *rec)
{
	struct agent_member *m;
	uint32_t id;

	while (rec->rest) {
		rec->slot = __builtin_ctz(rec->rest);
		rec->rest &= rec->rest - 1;
		m = enter(rec, &id);
		if (__builtin_expect(!m, 0))
			continue;
		if (__builtin_expect(rec->len > m->ring.max_len, 0)) {
			moca_ring_drop(&m->ring);
			leave(m);
			continue;
		}
		rec->head = moca_ring_reserve(&m->ring, id & ID_MASK, rec->len,
					      &rec->position, &rec->header);
		if (__builtin_expect(rec->head != NULL, 1)) {
			rec->ring = m;
			return rec->head + 1;
		}
		leave(m);
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

/* Of those events that have none yet, where the first one is wanted. */
static void prepare_ids(struct moca_trace_event *const *events, unsigned n,
			unsigned slot)
{
	struct moca_trace_event *unknown[MOCA_MSG_EVENTS_MAX];
	struct moca_registry_slot r;
	unsigned i, count = 0;

	if (moca_registry_read_slot(agent_registry, slot, &r) ||
	    !agent_slot_ours(&r))
		return;
	for (i = 0; i < n && count < MOCA_MSG_EVENTS_MAX; i++)
		if ((__atomic_load_n(&events[i]->id[slot], __ATOMIC_RELAXED) &
		     ~ID_MASK) != agent_slot_base(&r))
			unknown[count++] = events[i];
	/* What fails now is asked for again when it is needed. */
	if (count)
		agent_request_ids(unknown, count, slot, &r);
}

void moca_trace_prepare(struct moca_trace_event *const *events, unsigned n)
{
	int saved_errno = errno;
	uint32_t mask = wanted_by(events[0]);
	uint64_t signals;

	if (!mask || !agent_process || agent_is_silent())
		return;
	agent_block_signals(&signals);
	agent_process_set();
	for (; mask; mask &= mask - 1)
		prepare_ids(events, n, __builtin_ctz(mask));
	agent_restore_signals(&signals);
	errno = saved_errno;
}

void *moca_trace_commit(struct moca_trace_record *rec)
{
	struct agent_member *m = rec->ring;

	moca_ring_commit(&m->ring, rec->head, rec->position, rec->header);
	leave(m);
	return __builtin_expect(rec->rest, 0) ? next_trace(rec) : NULL;
}
