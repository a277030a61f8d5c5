// SPDX-License-Identifier: LGPL-2.1-or-later
/* Out of translated code, and into it again. */
#include "agent/exact/native.h"

/* Where the program goes on natively, it stays so: nothing is counted. */
static void go_native(struct context *c, uint64_t pc,
		      enum moca_exact_gap gap)
{
	moca_exact_tell_native(c, gap, pc, gap == MOCA_EXACT_GAP_ROOM ?
			       "no room for its translation within 2 GiB" :
			       "an instruction that cannot be translated");
	c->pc = c->host = pc;
}

static void settle(struct context *c, uint64_t pc, uint64_t host)
{
	uint64_t start, end;
	int flags;

	c->pc = pc;
	c->host = host;
	if (host)
		return;
	if (moca_exact_is_code(pc, &start, &end, &flags)) {
		go_native(c, pc, MOCA_EXACT_GAP_ROOM);
		return;
	}
	/* As the CPU: it has gone there, and cannot fetch. */
	moca_exact_fault(c, 11 /* SIGSEGV */, moca_exact_is_mapped(pc) ?
			 2 /* SEGV_ACCERR */ : 1 /* SEGV_MAPERR */, pc);
}

void moca_exact_go(struct context *c, uint64_t pc)
{
	settle(c, pc, moca_exact_find(c, pc));
}

void moca_exact_dispatch(struct context *c, uint64_t kind)
{
	uint64_t pc, host;

	c->slot->apart.exits += kind != EXIT_SYSCALL;
	switch (kind) {
	case EXIT_LINK:
		host = moca_exact_follow_link(c, c->arg, &pc);
		settle(c, pc, host);
		break;
	case EXIT_JUMP:
		pc = c->pc;
		settle(c, pc, moca_exact_follow_jump(c, pc));
		break;
	case EXIT_SYSCALL:
		moca_exact_do_syscall(c);
		if (!c->host)
			moca_exact_go(c, c->pc);
		break;
	case EXIT_STALE:
		moca_exact_stale(c->pc);
		moca_exact_go(c, c->pc);
		break;
	default:
		go_native(c, c->pc, MOCA_EXACT_GAP_NATIVE);
	}
}
