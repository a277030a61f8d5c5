// SPDX-License-Identifier: LGPL-2.1-or-later
/* The process: its registry, and which private trace it belongs to. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/trace/emitter.h"

static const uint32_t no_registry = MOCA_GENERATION_NONE;

const uint32_t *moca_trace_generation = &no_registry;
const struct moca_registry *agent_registry;
char agent_dir[PATH_MAX];

struct agent_process *agent_process;

/* Of the private traces we are part of; 0: none. */
static uint64_t own_session;	/* our environment says so */
static uint64_t given_session;	/* `moca record` says so */

/* Where the kernel cannot wipe it (before 4.14), fork_child does. */
void *agent_map_wiped(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, len, MADV_WIPEONFORK);
	return p;
}

void agent_process_set(void)
{
	struct agent_process *p = agent_process;
	int pid;

	if (p->pid)
		return;
	pid = syscall(SYS_getpid);
	p->incarnation = agent_incarnation(pid);
	p->pid = pid;
}

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
	given_session = (uint64_t)getauxval(MOCA_AT_SESSION_HIGH) << 32 |
			(uint32_t)getauxval(MOCA_AT_SESSION);
	agent_process = agent_map_wiped(sizeof(*agent_process));
	if (!agent_process)
		return;
	agent_process_set();
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
	if (s->state != MOCA_SLOT_ACTIVE || !s->session)
		return 0;
	return !(s->flags & MOCA_SLOT_PRIVATE) ||
	       s->session == own_session || s->session == given_session;
}

/* Never 0, and another for each of the last 2^18 traces of a slot. */
uint32_t agent_slot_base(const struct moca_registry_slot *s)
{
	return (s->epoch % ((1u << (32 - ID_BITS)) - 1) + 1) << ID_BITS;
}
