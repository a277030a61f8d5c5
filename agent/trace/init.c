// SPDX-License-Identifier: LGPL-2.1-or-later
/* The process: its registry, and which private trace it belongs to. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "agent/trace/internal.h"

static const uint32_t no_registry = MOCA_GENERATION_NONE;

const uint32_t *moca_trace_generation = &no_registry;
const struct moca_registry *agent_registry;
char agent_dir[PATH_MAX];

static uint64_t own_session;	/* of the private trace we are part of */

/*
 * Before all constructors of the program, so that their events are recorded.
 * A set-user-id program takes no part: its user may not look into it.
 */
__attribute__((constructor(101))) static void agent_init(void)
{
	int saved_errno = errno, dirfd;
	struct moca_registry *r;
	const char *token;

	if (getauxval(AT_SECURE))
		return;
	token = getenv(MOCA_TRACE_ENV);
	if (token)
		own_session = strtoull(token, NULL, 16);
	agent_thread_init();
	if (!moca_registry_dir(agent_dir, sizeof(agent_dir))) {
		dirfd = moca_registry_open_dir(agent_dir);
		if (dirfd >= 0) {
			if (!moca_registry_map(dirfd, 0, &r, NULL)) {
				agent_registry = r;
				moca_trace_generation = &r->generation;
			}
			close(dirfd);
		}
	}
	errno = saved_errno;
}

int agent_slot_ours(const struct moca_registry_slot *s)
{
	return s->state == MOCA_SLOT_ACTIVE &&
	       (!(s->flags & MOCA_SLOT_PRIVATE) ||
		(own_session && s->session == own_session));
}

/* Never 0, and another for each of the last 2^18 traces of a slot. */
uint32_t agent_slot_base(const struct moca_registry_slot *s)
{
	return (s->epoch % ((1u << (32 - ID_BITS)) - 1) + 1) << ID_BITS;
}
