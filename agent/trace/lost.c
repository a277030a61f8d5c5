// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Events that are dropped: each is counted somewhere. In the thread's buffer,
 * if it has one; else in the page that all threads of the trace share; only if
 * there is none yet in memory of the process' own, which is told by the next
 * request for a buffer, when the thread ends and at exit.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/trace/emitter.h"
#include "lib/ring/refused.h"

uint64_t agent_lost_of(const struct agent_slot *s, uint32_t base)
{
	return !s->lost_base || s->lost_base == base ? s->lost : 0;
}

/* 1: told in the page. 0: there is none. */
static int tell_page(unsigned slot, uint32_t base, enum moca_refusal why,
		     uint64_t events, uint64_t threads)
{
	struct moca_doorbell *page = agent_doorbell(slot, base);
	struct moca_refused *r;

	if (!page)
		return 0;
	r = moca_refused_in(page);
	if (events)
		__atomic_fetch_add(&r->by[why].events, events,
				   __ATOMIC_RELAXED);
	if (threads)
		__atomic_fetch_add(&r->by[why].threads, threads,
				   __ATOMIC_RELAXED);
	return 1;
}

void agent_lost(struct agent_slot *s, unsigned slot, uint32_t base)
{
	struct agent_member *m = s->member;

	if (m && m->id_base && (!base || m->id_base == base)) {
		moca_ring_drop(&m->ring);
		return;
	}
	if (tell_page(slot, base, s->refusal, 1, 0))
		return;
	if (base && s->lost_base != base) {
		if (s->lost_base)	/* of a trace that is gone */
			s->lost = 0;
		s->lost_base = base;
	}
	__atomic_fetch_add(&s->lost, 1, __ATOMIC_RELAXED);
}

void agent_refused(struct agent_slot *s, unsigned slot, uint32_t base,
		   int error)
{
	if (s->member && s->member->id_base == base)
		return;		/* it has a buffer, and no event's id */
	/* -EBUSY: it may not ask yet, for the reason that it knows. */
	if (error != -EBUSY)
		s->refusal = moca_refusal_of(error);
	if (s->refused_base != base && tell_page(slot, base, s->refusal, 0, 1))
		s->refused_base = base;
}

static void report_slot(uint64_t *lost, uint32_t base, enum moca_refusal why,
			unsigned i)
{
	struct moca_registry_slot r;
	uint64_t n = __atomic_load_n(lost, __ATOMIC_RELAXED);

	if (!n || agent_is_silent() ||
	    moca_registry_read_slot(agent_registry, i, &r) ||
	    r.state == MOCA_SLOT_FREE ||
	    (base && agent_slot_base(&r) != base) ||
	    (!base && !agent_slot_ours(&r)))
		return;
	if (tell_page(i, agent_slot_base(&r), why, n, 0) ||
	    !agent_report_lost(n, i, &r))
		__atomic_fetch_sub(lost, n, __ATOMIC_RELAXED);
}

void agent_report_thread(struct agent_thread *t)
{
	unsigned i;

	for (i = 0; i < MOCA_TRACE_SLOTS; i++)
		report_slot(&t->slots[i].lost, t->slots[i].lost_base,
			    t->slots[i].refusal, i);
}

void agent_report_all(void)
{
	struct agent_process *p = agent_process;
	struct agent_thread *t;
	unsigned i;

	if (!p || !agent_registry || agent_is_silent() ||
	    p->pid != (int)syscall(SYS_getpid))
		return;
	for (t = __atomic_load_n(&p->threads, __ATOMIC_ACQUIRE); t; t = t->next)
		agent_report_thread(t);
	for (i = 0; i < MOCA_TRACE_SLOTS; i++)
		report_slot(&p->lost, 0, MOCA_REFUSED_OTHER, i);
}
