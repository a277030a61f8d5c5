// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Calls that would meet what is ours in the process: limits of its memory, that
 * ours must not count against; locking all of it; filters of system calls, that ours
 * would not pass; forbidding the clock that we read.
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/prctl.h>
#include <linux/resource.h>

#include "agent/exact/signal.h"
#include "include/abi/agent.h"

#define MCL_ONFAULT_FLAG 4

struct limit {
	uint64_t cur, max;
};

/* As the program set them: of RLIMIT_AS, RLIMIT_DATA. */
static struct {
	struct limit limit;
	int set;
} limits[2];

static int index_of(uint64_t resource)
{
	return resource == RLIMIT_AS ? 0 : resource == RLIMIT_DATA ? 1 : -1;
}

/* What we have mapped that counts against it. */
static uint64_t our_memory(int index)
{
	uint64_t sum = 0;

	for (int i = 0; i < moca_exact_own_count; i++)
		if (!index || moca_exact_own[i].start != moca_exact.arena)
			sum += moca_exact_own[i].end - moca_exact_own[i].start;
	/* And what we shall. */
	return sum + (1ull << 30);
}

static uint64_t plus(uint64_t limit, uint64_t more)
{
	return limit + more < limit ? ~0ull : limit + more;
}

static long change(int index, uint64_t resource, uint64_t new, uint64_t old)
{
	struct limit l, was, real;
	uint64_t more = our_memory(index);
	long ret;

	if (new && moca_exact_peek(&l, new, sizeof(l)))
		return -EFAULT;
	real = (struct limit){ plus(l.cur, more), plus(l.max, more) };
	if (new && l.cur > l.max)
		return -EINVAL;
	ret = moca_exact_call(__NR_prlimit64, 0, (long)resource,
			      new ? (long)&real : 0, (long)&was, 0, 0);
	if (ret)
		return ret;
	if (limits[index].set)
		was = limits[index].limit;
	if (new) {
		limits[index].limit = l;
		limits[index].set = 1;
	}
	return old ? moca_exact_poke(old, &was, sizeof(was)) : 0;
}

/* 1: done. */
static int limit(struct context *c, long nr)
{
	uint64_t a = c->gpr[RDI], b = c->gpr[RSI];
	int index;

	switch (nr) {
	case __NR_setrlimit:
	case __NR_getrlimit:
		index = index_of(a);
		if (index < 0 || !b)
			return 0;
		c->gpr[RAX] = (uint64_t)(nr == __NR_setrlimit ?
						 change(index, a, b, 0) :
						 change(index, a, 0, b));
		return 1;
	default:
		index = index_of(b);
		if (index < 0 || (a && a != moca_exact.pid))
			return 0;
		c->gpr[RAX] = (uint64_t)change(index, b, c->gpr[RDX],
					       c->gpr[10]);
		return 1;
	}
}

void moca_exact_ours_limits(int exec)
{
	static const int resources[] = { RLIMIT_AS, RLIMIT_DATA };
	struct limit real;

	for (int i = 0; i < 2; i++) {
		if (!limits[i].set ||
		    moca_exact_call(__NR_prlimit64, 0, resources[i], 0,
				    (long)&real, 0, 0))
			continue;
		/* The hard limit stays: without rights it cannot be raised
		 * again when the exec fails. */
		real.cur = exec ? limits[i].limit.cur :
				  plus(limits[i].limit.cur, our_memory(i));
		if (real.cur > real.max)
			real.cur = real.max;
		moca_exact_call(__NR_prlimit64, 0, resources[i], (long)&real,
				0, 0, 0);
	}
}

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
		return limit(c, nr);
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
