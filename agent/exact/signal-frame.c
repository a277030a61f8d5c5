/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The program's signal frames, as the kernel makes them, and rt_sigreturn.
 */
#include "agent/exact/signal.h"

#define PAGE 4096ull
#define RED_ZONE 128
#define FX_SIZE 512ull		/* of the state without xsave */
#define AUTODISARM (1u << 31)
#define DISABLE 2u
#define CODE_64 0x33
#define DATA_64 0x2b
#define PKRU (1ull << 9)	/* of xfeatures */

/*
 * Eight bytes at a time, by the kernel: it says EFAULT where we would fault, and lets
 * stacks grow. Reading: `how` is wrong, so the call has no other effect.
 */
static long probe(uint64_t at, int write)
{
	long r;

	if (!at)
		return -EFAULT;
	if (write)
		return moca_exact_call(__NR_rt_sigprocmask, SIG_BLOCK, 0,
				       (long)at, 8, 0, 0);
	r = moca_exact_call(__NR_rt_sigprocmask, -1, (long)at, 0, 8, 0, 0);
	return r == -EFAULT ? r : 0;
}

/* Each page of [at, at + n). To write: n >= 8, as the kernel writes as much. */
static long probe_all(uint64_t at, size_t n, int write)
{
	uint64_t end = at + n - 8;

	/* Whole words, which end where a page does. */
	if (n < 8 && !write)
		return probe(at & -8ull, 0) || probe((at + n - 1) & -8ull, 0) ?
			       -EFAULT : 0;
	if (end < at)
		return -EFAULT;
	for (; at < end; at = (at | (PAGE - 1)) + 1)
		if (probe(at, write))
			return -EFAULT;
	return probe(end, write);
}

long moca_exact_peek(void *to, uint64_t from, size_t n)
{
	if (probe_all(from, n, 0))
		return -EFAULT;
	memcpy(to, (const void *)from, n);
	return 0;
}

long moca_exact_poke(uint64_t to, const void *from, size_t n)
{
	if (probe_all(to, n, 1))
		return -EFAULT;
	memcpy((void *)to, from, n);
	return 0;
}

size_t moca_exact_state_size(const struct _fpstate_64 *fp)
{
	if (fp->sw_reserved.magic1 == FP_XSTATE_MAGIC1)
		return fp->sw_reserved.extended_size;
	return FX_SIZE;
}

/* The handler begins with this state. The keys of its memory are left alone. */
static void state_init(struct _fpstate_64 *fp)
{
	struct _header *header = (struct _header *)(fp + 1);

	fp->cwd = 0x37f;
	fp->mxcsr = 0x1f80;
	if (fp->sw_reserved.magic1 == FP_XSTATE_MAGIC1) {
		header->xfeatures &= PKRU;
		return;
	}
	fp->swd = fp->twd = fp->fop = 0;
	memset(fp->st_space, 0, sizeof(fp->st_space));
	memset(fp->xmm_space, 0, sizeof(fp->xmm_space));
}

/* Where the frame is to be; *state: the place of the floating point state. */
static uint64_t frame_place(const struct context *c, uint64_t sp,
			    uint64_t flags, size_t size, uint64_t *state)
{
	int nested = moca_exact_on_altstack(c, sp), entering = 0;

	sp -= RED_ZONE;
	if ((flags & SA_ONSTACK) && c->signal.alt_size &&
	    !moca_exact_on_altstack(c, sp)) {
		sp = c->signal.alt_sp + c->signal.alt_size;
		entering = 1;
	}
	sp = (sp - size) & ~63ull;
	*state = sp;
	sp = ((sp - sizeof(struct kframe)) & ~15ull) - 8;
	if ((nested || entering) &&
	    (sp <= c->signal.alt_sp ||
	     sp - c->signal.alt_sp > c->signal.alt_size))
		return 0;	/* it is too small */
	return sp;
}

static uint64_t new_mask(const struct context *c, int sig,
			 const struct ksigaction *action)
{
	uint64_t mask = c->signal.suspended ? c->signal.suspend_mask :
					      c->signal.mask;

	mask |= action->mask;
	if (!(action->flags & SA_NODEFER))
		mask |= SIGBIT(sig);
	return mask & ~SIGS_NEVER;
}

static void autodisarm(struct context *c)
{
	if (!(c->signal.alt_flags & AUTODISARM))
		return;
	c->signal.alt_sp = c->signal.alt_size = 0;
	c->signal.alt_flags = DISABLE;
}

long moca_exact_frame(struct context *c, const struct ksiginfo *info,
		      const struct ksigaction *action, struct kucontext *uc,
		      uint64_t pc)
{
	struct _fpstate_64 *fp = (struct _fpstate_64 *)uc->mc.fpstate;
	size_t size = fp ? moca_exact_state_size(fp) : 0;
	uint64_t sp, state;
	struct kframe f;

	if (!(action->flags & SA_RESTORER))
		return -EFAULT;
	sp = frame_place(c, uc->mc.sp, action->flags, size, &state);
	if (!sp || probe_all(sp, state + size - sp, 1))
		return -EFAULT;

	memset(&f, 0, sizeof(f));
	f.restorer = action->restorer;
	f.uc.flags = uc->flags;
	f.uc.stack.sp = c->signal.alt_sp;
	f.uc.stack.size = c->signal.alt_size;
	f.uc.stack.flags = (int32_t)c->signal.alt_flags;
	f.uc.mc = uc->mc;
	f.uc.mc.ip = pc;
	f.uc.mc.flags &= ~FLAG_TF;
	f.uc.mc.err = c->signal.err;
	f.uc.mc.trapno = c->signal.trapno;
	f.uc.mc.cr2 = c->signal.cr2;
	f.uc.mc.oldmask = c->signal.mask;
	f.uc.mc.fpstate = fp ? state : 0;
	f.uc.sigmask = c->signal.mask;
	f.info = *info;
	memcpy((void *)sp, &f, sizeof(f));
	if (fp) {
		memcpy((void *)state, fp, size);
		state_init(fp);
	}

	uc->mc.sp = sp;
	uc->mc.di = (uint32_t)info->signo;
	uc->mc.si = sp + offsetof(struct kframe, info);
	uc->mc.dx = sp + offsetof(struct kframe, uc);
	uc->mc.ax = 0;
	uc->mc.flags &= ~(FLAG_TF | FLAG_DF | FLAG_RF | FLAG_AC);
	c->signal.mask = new_mask(c, info->signo, action);
	c->signal.suspended = 0;
	autodisarm(c);
	return 0;
}

/* All signals are blocked; 0: not a frame that the kernel would take. */
static int frame_read(const struct context *c, struct kucontext *uc)
{
	if (moca_exact_peek(uc, c->gpr[RSP], sizeof(*uc)))
		return 0;
	if (uc->mc.cs != CODE_64)
		return 0;
	return !uc->mc.fpstate ||
	       (!(uc->mc.fpstate & 63) &&
		!probe_all(uc->mc.fpstate, FX_SIZE, 0));
}

/* The kernel does it, from a copy that leads to us. */
void moca_exact_frame_return(struct context *c)
{
	struct kucontext *uc = (struct kucontext *)c->signal.scratch;

	if (!frame_read(c, uc)) {
		c->gpr[RAX] = 0;
		moca_exact_fault(c, SIGSEGV, SI_KERNEL, 0);
		return;
	}
	c->signal.mask = uc->sigmask & ~SIGS_NEVER;
	moca_exact_signal_held(c);
	moca_exact_altstack_back(c, &uc->stack, uc->mc.sp);
	c->pc = uc->mc.ip;

	uc->stack = moca_exact_own_stack(c);
	uc->link = 0;
	uc->mc.ip = (uint64_t)moca_exact_exit_pc;
	uc->mc.ss = DATA_64;
	uc->mc.flags &= ~FLAG_TF;
	uc->sigmask = moca_exact_kernel_mask(c);
	moca_exact_sigreturn(uc);
}
