/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Signals of a translated program. The kernel calls our handler, which never
 * runs the program's: it changes what the kernel will go on with, and returns.
 *
 * A signal is delivered at a boundary: where all registers are the program's and
 * no access of what is still to come has been counted. In translated code we
 * step (TF) until there is one; in ours a signal waits in c->signal.queue, and the
 * way out (entry.S, at `deliver`) is a boundary. What waits is c->pending.
 */
#include "agent/exact/emit.h"
#include "agent/exact/native.h"
#include "agent/exact/signal.h"

#define TRAP_ALIGNMENT 17

/*
 * All but faults' signals are blocked as soon as one waits, so there is room; of
 * those a second one of the same number is lost, as in the kernel.
 */
void moca_exact_signal_push(struct context *c, const struct ksiginfo *info,
			    int forced)
{
	uint64_t i;

	for (i = 0; i < c->pending; i++)
		if (!forced && info->signo < 32 && !c->signal.queue[i].forced &&
		    (int32_t)c->signal.queue[i].info[0] == info->signo)
			return;
	if (i == MOCA_EXACT_SIGNALS)
		moca_exact_die("too many signals at once, signal",
			       (uint64_t)info->signo);
	c->signal.queue[i].forced = (uint64_t)forced;
	memcpy(c->signal.queue[i].info, info, sizeof(*info));
	c->pending = i + 1;
}

/* 0: there is none. What was forced goes first. */
static int pop(struct context *c, struct ksiginfo *info, int *forced)
{
	uint64_t i, n = c->pending;

	if (!n)
		return 0;
	for (i = 0; i < n && !c->signal.queue[i].forced; i++)
		;
	if (i == n)
		i = 0;
	*forced = !!c->signal.queue[i].forced;
	memcpy(info, c->signal.queue[i].info, sizeof(*info));
	memmove(&c->signal.queue[i], &c->signal.queue[i + 1],
		(n - i - 1) * sizeof(c->signal.queue[0]));
	c->pending = n - 1;
	return 1;
}

void moca_exact_signal_held(struct context *c)
{
	if (!c->signal.held || (c->signal.mask & SIGBIT(SIGTRAP)))
		return;
	c->signal.held = 0;
	moca_exact_signal_push(c, (struct ksiginfo *)c->signal.trap.info, 0);
}

void moca_exact_signal_again(const struct ksiginfo *info)
{
	long pid = moca_exact_call(__NR_getpid, 0, 0, 0, 0, 0, 0);
	long tid = moca_exact_call(__NR_gettid, 0, 0, 0, 0, 0, 0);

	moca_exact_call(__NR_rt_tgsigqueueinfo, pid, tid, info->signo,
			(long)info, 0, 0);
}

static void put_back(struct context *c, const struct ksiginfo *info)
{
	if (info->signo != SIGTRAP) {
		moca_exact_signal_again(info);
		return;
	}
	memcpy(c->signal.trap.info, info, sizeof(*info));
	c->signal.held = 1;
}

void moca_exact_signals_give_back(struct context *c)
{
	struct ksiginfo info;
	int forced;

	while (pop(c, &info, &forced))
		moca_exact_signal_again(&info);
	if (c->signal.held)
		moca_exact_signal_again((struct ksiginfo *)c->signal.trap.info);
	c->signal.held = 0;
}

/* Registers are the program's, of uc; it goes on at pc. */
static void go_on(struct context *c, struct kucontext *uc, uint64_t pc)
{
	c->pc = pc;
	uc->mc.ip = (uint64_t)moca_exact_exit_pc;
}

/* 1: uc is the begin of a handler. 0: nothing was to be done. */
static int deliver(struct context *c, struct ksiginfo *info, int forced,
		   struct kucontext *uc, uint64_t pc)
{
	uint64_t mask = c->signal.suspended ? c->signal.suspend_mask :
					      c->signal.mask;
	struct ksiginfo segv = { .signo = SIGSEGV, .code = SI_KERNEL };
	int blocked = !!(mask & SIGBIT(info->signo));
	struct ksigaction a;

	if (blocked && !forced) {
		put_back(c, info);
		return 0;
	}
	a = moca_exact_action_take(c, info->signo);
	if (forced && (blocked || a.handler <= 1))
		moca_exact_die_by(info->signo);
	if (a.handler == 1)
		return 0;
	if (!a.handler) {
		/* A sent one: the kernel spares a PID namespace's first process. */
		if (info->signo == SIGTRAP && info->code <= 0 &&
		    moca_exact_call(__NR_getpid, 0, 0, 0, 0, 0, 0) == 1)
			return 0;
		if (info->signo == SIGTRAP)
			moca_exact_die_by(SIGTRAP);
		moca_exact_signal_again(info);
		return 0;
	}
	if (!moca_exact_frame(c, info, &a, uc, pc)) {
		go_on(c, uc, a.handler);
		return 1;
	}
	if (info->signo == SIGSEGV)
		moca_exact_die_by(SIGSEGV);
	return deliver(c, &segv, 1, uc, pc);
}

/* The program is between two instructions, its registers in uc, its rip is pc. */
static void at_boundary(struct context *c, struct kucontext *uc, uint64_t pc)
{
	struct ksiginfo info;
	int forced;

	uc->mc.flags &= ~FLAG_TF;
	moca_exact_loop_end(c);
	while (pop(c, &info, &forced)) {
		if (moca_exact_retreat_asks(&info))
			moca_exact_retreat_now(c, uc, pc);
		if (deliver(c, &info, forced, uc, pc))
			return;
	}
	c->signal.suspended = 0;
	go_on(c, uc, pc);
}

static int between(uint64_t rip, const uint8_t *begin, const uint8_t *end)
{
	return rip >= (uint64_t)begin && rip < (uint64_t)end;
}

/* A copy of a string instruction that repeats. */
static int repeats(const uint8_t *p)
{
	int i, rep = 0;

	for (i = 0; i < 14; i++, p++) {
		if (*p == 0xf2 || *p == 0xf3)
			rep = 1;
		else if ((*p & 0xf0) != 0x40 && *p != 0x66 && *p != 0x67 &&
			 *p != 0x64 && *p != 0x65 && (*p & 0xe7) != 0x26)
			break;
	}
	return rep && ((*p >= 0xa4 && *p <= 0xa7) ||
		       (*p >= 0xaa && *p <= 0xaf));
}

static int pushes_flags(const uint8_t *p)
{
	return *p == 0x9c || (*p == 0x66 && p[1] == 0x9c);
}

/* Else, and outside of the caches, the program runs natively: a gap, but it runs. */
static int is_ours(uint64_t rip)
{
	const struct moca_exact_setup *s = &moca_exact.setup;

	return (rip >= s->agent && rip < s->agent_end) ||
	       (rip >= s->zydis && rip < s->zydis_end);
}

/* As struct context has them. */
static void registers(uint64_t *r, const struct sigcontext_64 *mc)
{
	const uint64_t in[16] = { mc->ax, mc->cx, mc->dx,  mc->bx,
				  mc->sp, mc->bp, mc->si,  mc->di,
				  mc->r8, mc->r9, mc->r10, mc->r11,
				  mc->r12, mc->r13, mc->r14, mc->r15 };

	memcpy(r, in, sizeof(in));
}

/* Registers that translated code is at work with have the program's values again. */
static void give_back(struct context *c, struct kucontext *uc, uint32_t away)
{
	struct sigcontext_64 *mc = &uc->mc;
	__u64 *const to[16] = { &mc->ax, &mc->cx, &mc->dx,  &mc->bx,
				   &mc->sp, &mc->bp, &mc->si,  &mc->di,
				   &mc->r8, &mc->r9, &mc->r10, &mc->r11,
				   &mc->r12, &mc->r13, &mc->r14, &mc->r15 };

	for (int r = 0; r < 16; r++)
		if (away & X86_BIT(r))
			*to[r] = c->kept[r];
}

/* In ours, one waits: it will be looked at on the way out, unless we are past that. */
static void in_ours(struct context *c, struct kucontext *uc)
{
	uint64_t rip = uc->mc.ip;

	if (between(rip, moca_exact_before_syscall, moca_exact_at_syscall + 1)) {
		/* As the kernel has it after a call that goes on by this. */
		if (rip == (uint64_t)moca_exact_at_syscall &&
		    uc->mc.ax == __NR_restart_syscall)
			c->gpr[RAX] = __NR_restart_syscall;
		uc->mc.ip = (uint64_t)moca_exact_not_made;
	} else if (between(rip, moca_exact_leave_begin, moca_exact_leave_end)) {
		uc->mc.ip = (uint64_t)moca_exact_leave_begin;
	}
}

/* One waits: deliver it here, or see to it that it will be. */
static void look(struct context *c, struct kucontext *uc)
{
	const uint8_t *at = (const uint8_t *)uc->mc.ip;
	uint64_t regs[16];
	struct place p;
	int where;

	uc->mc.flags &= ~FLAG_TF;
	if (between(uc->mc.ip, moca_exact_back_begin, moca_exact_back_end)) {
		uc->mc.flags |= FLAG_TF;
		return;
	}
	where = moca_exact_locate(uc->mc.ip, &p);
	if (where < 0) {
		if (is_ours(uc->mc.ip))
			in_ours(c, uc);
		else
			at_boundary(c, uc, uc->mc.ip);
		return;
	}
	if (where > 0 && p.own && repeats(at)) {
		registers(regs, &uc->mc);
		moca_exact_uncount_rest(c, p.pc, regs, uc->mc.flags);
		at_boundary(c, uc, p.pc);
		return;
	}
	if (where > 0 && (p.start || p.own) && p.balanced) {
		give_back(c, uc, p.away);
		at_boundary(c, uc, p.pc);
		return;
	}
	uc->mc.flags |= FLAG_TF;
	c->signal.pushf = where > 0 && p.own && pushes_flags(at);
}

/* If there is nothing to step for, the program has set TF: that is not supported. */
static void stepped(struct context *c, struct kucontext *uc)
{
	if (c->signal.pushf) {
		*(uint16_t *)uc->mc.sp &= (uint16_t)~FLAG_TF;
		c->signal.pushf = 0;
	}
	if (c->signal.unaligned) {
		uc->mc.flags |= FLAG_AC;
		c->signal.unaligned = 0;
	}
	uc->mc.flags &= ~FLAG_TF;
	if (c->pending)
		look(c, uc);
}

/* Calls during which another mask holds: 1, and it is read. */
static int temporary_mask(const struct context *c, uint64_t *mask)
{
	uint64_t at, pair[2];

	switch (c->nr) {
	case __NR_rt_sigsuspend:
		at = c->gpr[RDI];
		break;
	case __NR_ppoll:
		at = c->gpr[10];
		break;
	case __NR_epoll_pwait:
	case __NR_epoll_pwait2:
		at = c->gpr[8];
		break;
	case __NR_pselect6:
	case __NR_io_pgetevents:
		at = c->gpr[9];
		if (!at || moca_exact_peek(pair, at, sizeof(pair)))
			return 0;
		at = pair[0];
		break;
	default:
		return 0;
	}
	return at && !moca_exact_peek(mask, at, 8);
}

/* The program's handler begins with that mask; see sigsuspend(2). */
static void suspended(struct context *c, const struct kucontext *uc)
{
	if (!c->pending && uc->mc.ip == (uint64_t)moca_exact_after_syscall &&
	    uc->mc.ax == (uint64_t)-EINTR)
		c->signal.suspended =
			(uint32_t)temporary_mask(c, &c->signal.suspend_mask);
}

static void asynchronous(struct context *c, struct ksiginfo *info,
			 struct kucontext *uc)
{
	/* seccomp's: it says where the call was. */
	if (info->signo == SIGSYS && info->code > 0 &&
	    uc->mc.ip == (uint64_t)moca_exact_after_syscall)
		info->addr = c->pc;
	suspended(c, uc);
	moca_exact_signal_push(c, info, 0);
	look(c, uc);
}

/* Bytes of the breakpoint behind which it stopped, 0: that was none. */
static int breakpoint(uint64_t rip, struct place *p)
{
	const uint8_t *at = (const uint8_t *)rip;

	if (moca_exact_locate(rip - 1, p) > 0 && p->own &&
	    (at[-1] == 0xcc || at[-1] == 0xf1))
		return 1;
	if (moca_exact_locate(rip - 2, p) > 0 && p->own && at[-2] == 0xcd)
		return 2;
	return 0;
}

/* What was counted and was not done, of an instruction that faults at rip. */
static void take_back(struct context *c, const struct place *p, uint64_t rip,
		      const uint64_t *regs, uint64_t flags)
{
	if (!p->precise && !p->balanced)
		moca_exact_uncount_ahead(c, p, regs, flags);
	else if (p->region && p->own && repeats((const uint8_t *)rip))
		moca_exact_uncount_rest(c, p->pc, regs, flags);
	else if (!p->balanced)
		moca_exact_uncount_insn(c, p->pc, regs, flags);
}

/* An operand at %gs has faulted: two registers are in spill slots. */
static int in_gs(const struct context *c, const struct place *p,
		 struct kucontext *uc)
{
	struct sigcontext_64 *mc = &uc->mc;
	uint64_t r[16];

	if (!p->region)
		return 0;
	registers(r, mc);
	if (moca_exact_gs_faulted(c, p->pc, r))
		return 0;
	mc->ax = r[RAX], mc->cx = r[RCX], mc->dx = r[RDX], mc->bx = r[RBX];
	mc->si = r[RSI], mc->di = r[RDI];
	return 1;
}

static void synchronous(struct context *c, struct ksiginfo *info,
			struct kucontext *uc)
{
	uint64_t rip = uc->mc.ip, regs[16];
	int length = 0, where = 1;
	struct place p = { 0 };

	if (info->signo == SIGTRAP)
		length = breakpoint(rip, &p);
	if (!length)
		where = moca_exact_locate(rip, &p);
	if (where < 0 && is_ours(rip)) {
		moca_exact_say("accessed", info->addr);
		moca_exact_die("the agent itself faults, at",
			       rip - moca_exact.setup.agent);
	}
	if (where < 0)
		p = (struct place){ .pc = rip, .own = 1, .balanced = 1 };
	if (!where && info->signo == SIGBUS && uc->mc.trapno == TRAP_ALIGNMENT) {
		/* Not of the program: as it has AC set, and we do not align. */
		uc->mc.flags = (uc->mc.flags & ~FLAG_AC) | FLAG_TF;
		c->signal.unaligned = 1;
		return;
	}
	if (!where && p.spilled) {	/* a call whose push faults */
		uc->mc.ax = c->spill[0];
		uc->mc.cx = c->spill[1];
	} else if (!where && in_gs(c, &p, uc)) {
		p.balanced = 0;
	} else if (!where || !(p.start || p.own))
		moca_exact_die("a fault between two instructions, at", rip);

	c->signal.state = (uint64_t)uc->mc.fpstate;
	give_back(c, uc, p.away);
	registers(regs, &uc->mc);
	moca_exact_loop_end(c);
	take_back(c, &p, rip, regs, uc->mc.flags);

	if (info->addr == rip)
		info->addr = p.pc + (uint64_t)length;
	c->signal.trapno = uc->mc.trapno;
	c->signal.err = uc->mc.err;
	c->signal.cr2 = uc->mc.cr2;
	uc->mc.flags &= ~FLAG_TF;
	c->signal.pushf = 0;
	if (!deliver(c, info, 1, uc, p.pc + (uint64_t)length))
		moca_exact_die("a fault had no effect, at", p.pc);
}

static int is_fault(const struct ksiginfo *info)
{
	if (!(SIGBIT(info->signo) & SIGS_FAULT) || info->code <= 0)
		return 0;
	/* The memory's errors, told in advance. */
	return info->signo != SIGBUS || info->code != BUS_MCEERR_AO;
}

void moca_exact_signal_entry(int sig, struct ksiginfo *info,
			     struct kucontext *uc)
{
	struct context *c = current();

	/* The kernel leaves AC set. */
	__asm__ volatile("pushfq\n\tandl %0, (%%rsp)\n\tpopfq"
			 : : "i"(~(int)FLAG_AC) : "memory", "cc");
	if (sig == SIGTRAP && info->code == SI_KERNEL &&
	    uc->mc.ip == (uint64_t)moca_exact_deliver + 1)
		at_boundary(c, uc, c->pc);
	else if (sig == SIGTRAP && info->code == TRAP_TRACE)
		stepped(c, uc);
	else if (moca_exact_retreat_asks(info) &&
		 moca_exact_retreat_asked(c, uc))
		look(c, uc);
	else if (moca_exact_retreat_asks(info))
		;	/* it knows */
	else if (is_fault(info))
		synchronous(c, info, uc);
	else
		asynchronous(c, info, uc);
	uc->sigmask = moca_exact_kernel_mask(c);
}

void moca_exact_fault(struct context *c, int sig, int code, uint64_t addr)
{
	struct ksiginfo info = { .signo = sig, .code = code, .addr = addr };

	moca_exact_signals_block();
	c->signal.trapno = 14;
	c->signal.err = 0x14;	/* user, instruction fetch */
	c->signal.cr2 = addr;
	if (sig == SIGILL || code == SI_KERNEL) {
		c->signal.trapno = sig == SIGILL ? 6 : 13;
		c->signal.err = c->signal.cr2 = 0;
	}
	moca_exact_signal_push(c, &info, 1);
	moca_exact_signals_unblock(c);
}

/* SIGTRAP that we hold is there to be waited for. 0: it is not asked for. */
static int wait_for_held(struct context *c)
{
	struct ksiginfo *info = (struct ksiginfo *)c->signal.trap.info;
	uint64_t set;

	if (c->gpr[10] != 8 || moca_exact_peek(&set, c->gpr[RDI], 8) ||
	    !(set & SIGBIT(SIGTRAP)))
		return 0;
	c->gpr[RAX] = SIGTRAP;
	if (c->gpr[RSI] && moca_exact_poke(c->gpr[RSI], info, sizeof(*info)))
		c->gpr[RAX] = (uint64_t)-EFAULT;
	c->signal.held = 0;
	return 1;
}

/*
 * A call whose mask lets SIGTRAP in, and we hold one: the kernel gets it back for as
 * long as that takes. 0: not so, or it is not such a call.
 */
static int suspend_with_held(struct context *c, long nr)
{
	uint64_t mask;

	c->nr = (uint64_t)nr;
	if (!c->signal.held || !temporary_mask(c, &mask) ||
	    (mask & SIGBIT(SIGTRAP)))
		return 0;
	moca_exact_signals_block();
	c->signal.held = 0;
	moca_exact_signal_again((struct ksiginfo *)c->signal.trap.info);
	mask = moca_exact_kernel_mask(c) | SIGBIT(SIGTRAP);
	moca_exact_call(__NR_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, 8, 0,
			0);
	if (moca_exact_syscall(c))
		c->pc -= 2;
	moca_exact_signals_unblock(c);
	return 1;
}

static int sets_fault_handler(const struct context *c)
{
	uint64_t sig = (uint32_t)c->gpr[RDI];
	struct ksigaction a;

	return c->gpr[RSI] && sig >= 1 && sig <= SIGNALS && sig != SIGTRAP &&
	       (SIGBIT(sig) & SIGS_FAULT) &&
	       !moca_exact_peek(&a, c->gpr[RSI], sizeof(a)) && a.handler > 1;
}

int moca_exact_signal_syscall(struct context *c, long nr)
{
	switch (nr) {
	case __NR_rt_sigaction:
		if (!moca_exact.faults && sets_fault_handler(c)) {
			moca_exact.faults = 1;
			moca_exact_forget_all();
		}
		break;
	case __NR_rt_sigpending:
		if (!c->signal.held)
			return 0;
		break;
	case __NR_rt_sigtimedwait:
		return c->signal.held && wait_for_held(c);
	case __NR_rt_sigprocmask:
	case __NR_rt_sigreturn:
	case __NR_sigaltstack:
		break;
	default:
		return suspend_with_held(c, nr);
	}
	moca_exact_signals_block();
	if (c->pending)
		c->pc -= 2;
	else if (nr == __NR_rt_sigreturn)
		moca_exact_frame_return(c);
	else if (nr == __NR_rt_sigaction)
		c->gpr[RAX] = (uint64_t)moca_exact_sigaction(c);
	else if (nr == __NR_rt_sigprocmask)
		c->gpr[RAX] = (uint64_t)moca_exact_sigprocmask(c);
	else if (nr == __NR_sigaltstack)
		c->gpr[RAX] = (uint64_t)moca_exact_sigaltstack(c);
	else
		c->gpr[RAX] = (uint64_t)moca_exact_sigpending(c);
	moca_exact_signals_unblock(c);
	return 1;
}
