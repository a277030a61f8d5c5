// SPDX-License-Identifier: LGPL-2.1-or-later
/* The two calls of the 2006 design, and its facilities' bits. */
#include <errno.h>

#include "agent/trace/emitter.h"

unsigned moca_trace_facility_bit(const char *facility)
{
	return moca_facility_bit(facility);
}

static int slot_of(const struct agent_thread *t, const void *buffer)
{
	int i;

	for (i = 0; i < MOCA_TRACE_SLOTS; i++) {
		const struct agent_member *m = t->slots[i].member;

		if (m && m->id_base && m->ring.shm == buffer)
			return i;
	}
	return -1;
}

static int get_info(struct agent_thread *t, void *buffer, int *active,
		    int *filter)
{
	struct moca_registry_slot r;
	int i = slot_of(t, buffer);

	if (i < 0 || moca_registry_read_slot(agent_registry, i, &r) ||
	    agent_slot_base(&r) != t->slots[i].member->id_base ||
	    r.state == MOCA_SLOT_FREE)
		return 1;
	*active = r.state == MOCA_SLOT_ACTIVE;
	*filter = (int)r.mask;
	return 0;
}

/* The next trace that this thread is not part of yet. */
static int get_next(struct agent_thread *t, void **buffer, int *active,
		    int *filter)
{
	struct moca_registry_slot r;
	struct agent_member *m;
	struct agent_slot *s;
	unsigned i;

	for (i = 0; i < MOCA_TRACE_SLOTS; i++) {
		s = &t->slots[i];
		if (moca_registry_read_slot(agent_registry, i, &r) ||
		    !agent_slot_ours(&r) ||
		    (s->member && s->member->id_base == agent_slot_base(&r)))
			continue;
		m = agent_member_fresh(s);
		if (!m || agent_join(s, m, i, &r))
			continue;
		agent_member_attached(s, agent_slot_base(&r));
		*buffer = m->ring.shm;
		return get_info(t, *buffer, active, filter);
	}
	return 0;
}

int ltt_update(void **buffer, int *active, int *filter)
{
	int saved_errno = errno, ret;
	struct agent_thread *t;
	uint64_t signals;

	if (!buffer || !active || !filter)
		return 1;
	*active = *filter = 0;
	t = agent_registry ? agent_thread_get() : NULL;
	if (!t)
		return *buffer != NULL;
	agent_block_signals(&signals);
	ret = *buffer ? get_info(t, *buffer, active, filter) :
			get_next(t, buffer, active, filter);
	agent_restore_signals(&signals);
	errno = saved_errno;
	return ret;
}

int ltt_switch(void *buffer)
{
	struct agent_thread *t = agent_self;
	int saved_errno = errno, i;
	uint64_t signals;

	if (!t || !t->live || !buffer)
		return 1;
	agent_block_signals(&signals);	/* a handler could unmap it */
	i = slot_of(t, buffer);
	if (i >= 0)
		moca_ring_switch(&t->slots[i].member->ring);
	agent_restore_signals(&signals);
	errno = saved_errno;
	return i < 0;
}
