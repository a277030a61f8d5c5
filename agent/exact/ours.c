// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Calls that would meet what is ours in the process: limits of its memory
 * (limits.c); mappings that replace ours; locking all of it; filters of system
 * calls, that ours would not pass; forbidding the clock that we read.
 */
#include <asm/unistd.h>
#include <linux/mman.h>
#include <linux/prctl.h>

#include "agent/exact/signal.h"
#include "include/abi/agent.h"

#define MCL_ONFAULT_FLAG 4

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
	if (start % 4096 || !len || start + len < start)
		return 0;
	for (int i = 0; i < moca_exact_own_count; i++) {
		const struct own *o = &moca_exact_own[i];

		if (start < o->end && (o->start <= start || o->start - start < len))
			return 1;
	}
	return 0;
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
		return (g[RDX] == MADV_DONTNEED || g[RDX] == MADV_REMOVE ||
			g[RDX] == MADV_FREE) && meets_ours(g[RDI], g[RSI]);
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
	silence();
	moca_exact_signal_native(c);
	if (moca_exact_syscall(c)) {
		c->pc -= 2;
		return;
	}
	moca_exact_gap(c, MOCA_EXACT_GAP_NATIVE, c->pc);
	c->host = c->pc;
}

/*
 * The same before a call that replaces the memory which this thread's context and
 * our stack are in: the program's own instruction makes it.
 */
static void replaced(struct context *c)
{
	silence();
	moca_exact_signal_native(c);
	c->pc -= 2;
	moca_exact_gap(c, MOCA_EXACT_GAP_NATIVE, c->pc);
	c->host = c->pc;
}

int moca_exact_ours_syscall(struct context *c, long nr)
{
	if (replaces(c, nr)) {
		replaced(c);
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
