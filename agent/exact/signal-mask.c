/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The program's mask and alternate stack. The kernel's mask is the program's, and
 * more while a signal waits; its alternate stack is ours.
 */
#include "agent/exact/signal.h"

#define ON_STACK 1u
#define DISABLE 2u
#define AUTODISARM (1u << 31)
#define STACK_LEAST 2048	/* MINSIGSTKSZ */

#define CLEAR_SIGHAND 0x100000000ull
#define SHARE_MEMORY 0x100ull	/* CLONE_VM */
#define SHARE_SIGHAND 0x800ull
#define VFORK 0x4000ull

/*
 * While one waits, no other may come but by faults. SIGTRAP is not blocked,
 * since we step; those that come while the program blocks it are held.
 */
uint64_t moca_exact_kernel_mask(const struct context *c)
{
	uint64_t mask = c->signal.mask;

	if (c->pending)
		mask |= ~SIGS_FAULT;
	return mask & ~SIGBIT(SIGTRAP);
}

static void set_kernel_mask(uint64_t mask)
{
	moca_exact_call(__NR_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, 8, 0,
			0);
}

void moca_exact_signals_block(void)
{
	set_kernel_mask(~0ull);
}

void moca_exact_signals_unblock(const struct context *c)
{
	set_kernel_mask(moca_exact_kernel_mask(c));
}

long moca_exact_sigprocmask(struct context *c)
{
	uint64_t set, old = c->signal.mask;

	if (c->gpr[10] != 8)
		return -EINVAL;
	if (c->gpr[RSI]) {
		if (moca_exact_peek(&set, c->gpr[RSI], 8))
			return -EFAULT;
		set &= ~SIGS_NEVER;
		switch ((int)c->gpr[RDI]) {
		case SIG_BLOCK:
			c->signal.mask |= set;
			break;
		case SIG_UNBLOCK:
			c->signal.mask &= ~set;
			break;
		case SIG_SETMASK:
			c->signal.mask = set;
			break;
		default:
			return -EINVAL;
		}
		moca_exact_signal_held(c);
	}
	if (c->gpr[RDX])
		return moca_exact_poke(c->gpr[RDX], &old, 8);
	return 0;
}

/* Only while SIGTRAP is held: else the kernel knows all. */
long moca_exact_sigpending(struct context *c)
{
	uint64_t set = 0, size = c->gpr[RSI];
	long error;

	if (size > 8)
		return -EINVAL;
	error = moca_exact_call(__NR_rt_sigpending, (long)&set, 8, 0, 0, 0, 0);
	if (error)
		return error;
	set |= SIGBIT(SIGTRAP);
	if (size < 8)
		return -EINVAL;	/* a part of a set: nobody asks */
	return moca_exact_poke(c->gpr[RDI], &set, 8);
}

static int within(const struct context *c, uint64_t sp)
{
	return sp > c->signal.alt_sp &&
	       sp - c->signal.alt_sp <= c->signal.alt_size;
}

/* While AUTODISARM is set one is never on it. */
int moca_exact_on_altstack(const struct context *c, uint64_t sp)
{
	return !(c->signal.alt_flags & AUTODISARM) && within(c, sp);
}

static long set_altstack(struct context *c, const struct kstack *s, uint64_t sp)
{
	uint32_t mode = (uint32_t)s->flags & ~AUTODISARM;

	if (moca_exact_on_altstack(c, sp))
		return -EPERM;
	if (mode != DISABLE && mode != ON_STACK && mode)
		return -EINVAL;
	if (mode != DISABLE && s->size < STACK_LEAST)
		return -ENOMEM;
	c->signal.alt_sp = mode == DISABLE ? 0 : s->sp;
	c->signal.alt_size = mode == DISABLE ? 0 : s->size;
	c->signal.alt_flags = (uint32_t)s->flags;
	return 0;
}

long moca_exact_sigaltstack(struct context *c)
{
	uint64_t sp = c->gpr[RSP];
	struct kstack new, old = {
		.sp = c->signal.alt_sp,
		.size = c->signal.alt_size,
	};
	uint32_t flags = c->signal.alt_flags & AUTODISARM;
	long error = 0;

	if (!c->signal.alt_size)
		flags |= DISABLE;
	else if (moca_exact_on_altstack(c, sp))
		flags |= ON_STACK;
	old.flags = (int32_t)flags;
	if (c->gpr[RDI]) {
		if (moca_exact_peek(&new, c->gpr[RDI], sizeof(new)))
			return -EFAULT;
		error = set_altstack(c, &new, sp);
	}
	if (!error && c->gpr[RSI])
		error = moca_exact_poke(c->gpr[RSI], &old, sizeof(old));
	return error;
}

/* As the kernel: what is wrong with it is not said. */
void moca_exact_altstack_back(struct context *c, const struct kstack *stack,
			      uint64_t sp)
{
	set_altstack(c, stack, sp);
}

static uint64_t slot_of(const struct context *c)
{
	return (uint64_t)c + CONTEXT_SIZE - MOCA_EXACT_COUNTS;
}

struct kstack moca_exact_own_stack(const struct context *c)
{
	return (struct kstack){
		.sp = slot_of(c) + SIGNAL_STACK,
		.size = SIGNAL_STACK_SIZE,
	};
}

static void own_stack(struct context *c)
{
	struct kstack s = moca_exact_own_stack(c);
	long error = moca_exact_call(__NR_sigaltstack, (long)&s, 0, 0, 0, 0, 0);

	if (error)
		moca_exact_die("no signal stack: error", (uint64_t)-error);
	c->signal.scratch = slot_of(c) + SIGNAL_SCRATCH;
}

void moca_exact_signal_init(struct context *c)
{
	memset(&c->signal, 0, sizeof(c->signal));
	c->pending = 0;
	moca_exact_call(__NR_rt_sigprocmask, SIG_BLOCK, 0,
			(long)&c->signal.mask, 8, 0, 0);
	c->signal.hand = &moca_exact_sighand;
	own_stack(c);
	moca_exact_sighand_init();
	moca_exact_signals_unblock(c);
}

void moca_exact_signal_clone(struct context *child, const struct context *c,
			     uint64_t flags)
{
	struct sighand *own = (void *)(slot_of(child) + SIGNAL_HAND);

	moca_exact_signals_block();
	child->pending = 0;
	memset(&child->signal, 0, sizeof(child->signal));
	child->signal.mask = c->signal.mask;
	if (!(flags & SHARE_MEMORY) || (flags & VFORK)) {
		child->signal.alt_sp = c->signal.alt_sp;
		child->signal.alt_size = c->signal.alt_size;
		child->signal.alt_flags = c->signal.alt_flags;
	} else {
		child->signal.alt_flags = DISABLE;
	}
	/*
	 * In the slot the table would end with this task; so who has a memory of its
	 * own puts it there (begin).
	 */
	child->signal.hand = own;
	if (flags & SHARE_SIGHAND)
		child->signal.hand = c->signal.hand;
	else
		moca_exact_sighand_copy(own, c->signal.hand,
					!!(flags & CLEAR_SIGHAND));
	child->signal.private = !(flags & SHARE_MEMORY);
}

void moca_exact_signal_begin(struct context *c)
{
	if (c->signal.private) {
		moca_exact_sighand_copy(&moca_exact_sighand, c->signal.hand, 0);
		c->signal.hand = &moca_exact_sighand;
	}
	own_stack(c);
	moca_exact_sighand_trap();	/* CLONE_CLEAR_SIGHAND cleared it */
	moca_exact_signals_unblock(c);
}

void moca_exact_signal_cloned(struct context *c)
{
	moca_exact_signals_unblock(c);
}
