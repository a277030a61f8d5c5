// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Calls that would meet what is ours in the process: limits of its memory
 * (limits.c); mappings that replace ours; locking all of it; filters of system
 * calls, that ours would not pass; forbidding the clock that we read.
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <moca/types.h>

#include "agent/exact/native.h"
#include "agent/exact/signal.h"
#include "include/abi/agent.h"

#define MCL_ONFAULT_FLAG 4
#define DONTNEED_LOCKED 24	/* MADV_: younger than some headers */
#define GUARD_INSTALL 102
#define REMAP 040000		/* SHM_REMAP */
#define IOV_MOST 1024

/* libmoca-alloc, which runs in the program, makes no system calls from here on. */
static void silence(void)
{
	struct moca_agent_quiet q;

	if (!moca_exact.setup.quiet ||
	    moca_exact_peek(&q, moca_exact.setup.quiet, sizeof(q)))
		return;
	for (size_t i = 0; i < sizeof(q.store) / sizeof(*q.store); i++)
		if (q.store[i].where)
			moca_exact_poke(q.store[i].where, &q.store[i].what, 8);
}

/* Of a call that the kernel would refuse: no. */
static int meets_ours(uint64_t start, uint64_t len)
{
	int meets = 0;

	if (start % 4096 || !len || start + len < start)
		return 0;
	moca_exact_lock();
	for (int i = 0; i < moca_exact_own_count && !meets; i++) {
		const struct own *o = &moca_exact_own[i];

		meets = start < o->end &&
			(o->start <= start || o->start - start < len);
	}
	moca_exact_unlock();
	return meets;
}

/* Advice by which memory loses its contents, or a child does not have it. */
static int takes_away(uint64_t advice)
{
	switch (advice) {
	case MADV_DONTNEED:
	case MADV_FREE:
	case MADV_REMOVE:
	case MADV_DONTFORK:
	case MADV_WIPEONFORK:
	case DONTNEED_LOCKED:
	case GUARD_INSTALL:
		return 1;
	default:
		return 0;
	}
}

/* Whose memory it is does not matter: that other's may be where ours is. */
static int advises_ours(uint64_t vec, uint64_t n)
{
	uint64_t range[2];

	for (uint64_t i = 0; i < n && i < IOV_MOST; i++)
		if (moca_exact_peek(range, vec + i * sizeof(range),
				    sizeof(range)))
			return 0;
		else if (meets_ours(range[0], range[1]))
			return 1;
	return 0;
}

static int attaches_over_ours(uint64_t id, uint64_t at, uint64_t flags)
{
	/* struct shmid_ds: 48 bytes of permissions, then the size. */
	uint64_t info[14] = { 0 };

	return flags & REMAP && at &&
	       !moca_exact_call(__NR_shmctl, (long)id, 2 /* IPC_STAT */,
				(long)info, 0, 0, 0) &&
	       meets_ours(at & -4096ul, info[6]);
}

/* Would the call replace, take away or close memory of ours? */
static int replaces(const struct context *c, long nr)
{
	const uint64_t *g = c->gpr;

	switch (nr) {
	case __NR_mmap:
		return (g[10] & (MAP_FIXED | MAP_FIXED_NOREPLACE)) == MAP_FIXED &&
		       meets_ours(g[RDI], g[RSI]);
	case __NR_mremap:
		return meets_ours(g[RDI], g[RSI]) ||
		       (g[10] & MREMAP_FIXED && meets_ours(g[8], g[RDX]));
	case __NR_madvise:
		return takes_away(g[RDX]) && meets_ours(g[RDI], g[RSI]);
	case __NR_process_madvise:
		return takes_away(g[10]) && advises_ours(g[RSI], g[RDX]);
	case __NR_shmat:
		return attaches_over_ours(g[RDI], g[RSI], g[RDX]);
	case __NR_remap_file_pages:
		return meets_ours(g[RDI] & -4096ul, g[RSI]);
	case __NR_munmap:
	case __NR_mprotect:
	case __NR_pkey_mprotect:
		return meets_ours(g[RDI], g[RSI]);
	default:
		return 0;
	}
}

/*
 * From here on this thread runs natively: ours are not the calls that its filter
 * lets through.
 */
static void filtered(struct context *c)
{
	moca_exact_tell_native(c, MOCA_EXACT_GAP_NATIVE, c->pc - 2,
			       "it limits its own system calls (seccomp)");
	silence();
	moca_exact_signal_native(c);
	if (moca_exact_syscall(c)) {
		c->pc -= 2;
		return;
	}
	c->gone = 1;
	c->host = c->pc;
}

/* As the kernel does where it has no room: the others count where the call maps. */
static void refuse(struct context *c, long nr)
{
	const uint64_t *g = c->gpr;
	uint64_t at = g[RDI], len = g[RSI];

	if (nr == __NR_shmat || nr == __NR_process_madvise)
		at = len = 0;	/* not of the arguments themselves */
	else if (nr == __NR_mremap && !meets_ours(at, len)) {
		at = g[8];
		len = g[RDX];
	}
	c->gpr[RAX] = (uint64_t)-ENOMEM;
	moca_exact_event(c, MOCA_CHANGE_GAP, at, len, 0, 0, 0,
			 "a call that takes the memory of exact mode was refused "
			 "(ENOMEM): no room for threads to leave it");
}

/*
 * The same of all threads before a call that replaces the memory which their
 * contexts, counters and our stacks are in: the program's own instruction makes it.
 * munmap answers the same whatever is there: a thread that is alone leaves what is
 * ours to its own calls. So it does where there is no room to retreat to.
 */
static void replaced(struct context *c, long nr)
{
	int shared = moca_exact_retreat_is_needed(c);
	long ret = -ENOMEM;

	if (nr != __NR_munmap || shared)
		ret = moca_exact_retreat(c);
	if (ret < 0 && shared) {
		refuse(c, nr);
		return;
	}
	c->pc -= 2;
	if (!ret)
		silence();
	if (ret >= 0)
		return;
	moca_exact_tell_native(c, MOCA_EXACT_GAP_NATIVE, c->pc,
			       "its call takes the memory that counters are in");
	silence();
	moca_exact_signal_native(c);
	c->gone = 1;
	c->host = c->pc;
}

int moca_exact_ours_syscall(struct context *c, long nr)
{
	if (replaces(c, nr)) {
		replaced(c, nr);
		return 1;
	}
	switch (nr) {
	case __NR_setrlimit:
	case __NR_getrlimit:
	case __NR_prlimit64:
		return moca_exact_limits_syscall(c, nr);
	case __NR_mlockall:
		/* Not the whole arena: pages are locked as they are touched. */
		c->gpr[RDI] |= MCL_ONFAULT_FLAG;
		return 0;
	case __NR_seccomp:
		if (c->gpr[RDI] > 1)
			return 0;	/* only asks */
		filtered(c);
		return 1;
	case __NR_prctl:
		if (c->gpr[RDI] == PR_SET_TSC) {
			moca_exact.clock = clock_now();
			moca_exact.no_clock = c->gpr[RSI] == PR_TSC_SIGSEGV;
			return 0;
		}
		if (c->gpr[RDI] != PR_SET_SECCOMP)
			return 0;
		filtered(c);
		return 1;
	default:
		return 0;
	}
}
