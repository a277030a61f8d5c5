// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Calls that would meet what is ours in the process: limits of its memory
 * (limits.c); locking all of it; filters of system calls, that ours would not
 * pass; forbidding the clock that we read.
 */
#include <asm/unistd.h>
#include <linux/prctl.h>

#include "agent/exact/signal.h"
#include "include/abi/agent.h"

#define MCL_ONFAULT_FLAG 4

/* libmoca-alloc, which is in the program too, shall make no more calls. */
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

int moca_exact_ours_syscall(struct context *c, long nr)
{
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
