/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The program's actions. The kernel knows ours instead of its handlers, and SIG_DFL
 * and SIG_IGN as they are, but for SIGTRAP, by which we step.
 */
#include "agent/exact/signal.h"

#define SA_KNOWN (SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | \
		  SA_RESTART | SA_NODEFER | SA_RESETHAND | SA_RESTORER | \
		  SA_EXPOSE_TAGBITS)
/* What the kernel is to do as the program wants it. */
#define SA_PASSED (SA_NOCLDSTOP | SA_NOCLDWAIT | SA_RESTART | SA_EXPOSE_TAGBITS)

/* The process's own. Only tasks that share memory but no actions have another. */
struct sighand moca_exact_sighand;

static int handled(const struct ksigaction *a)
{
	return a->handler > 1;	/* neither SIG_DFL nor SIG_IGN */
}

/* Pairs with itself: tasks that share the table. */
static void lock(struct sighand *h)
{
	unsigned spins = 0;

	while (__atomic_exchange_n(&h->lock, 1, __ATOMIC_ACQUIRE))
		if (++spins % 64 == 0)
			moca_exact_call(__NR_sched_yield, 0, 0, 0, 0, 0, 0);
		else
			__asm__ volatile("pause");
}

static void unlock(struct sighand *h)
{
	__atomic_store_n(&h->lock, 0, __ATOMIC_RELEASE);
}

static long kernel_action(int sig, const struct ksigaction *a,
			  struct ksigaction *old)
{
	return moca_exact_call(__NR_rt_sigaction, sig, (long)a, (long)old, 8, 0,
			       0);
}

/* All are masked: our handler is never interrupted. */
static long set_ours(int sig, uint64_t flags)
{
	struct ksigaction a = {
		.handler = (uint64_t)moca_exact_signal_entry,
		.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTORER |
			 (flags & SA_PASSED),
		.restorer = (uint64_t)moca_exact_signal_restorer,
		.mask = ~0ull,
	};

	return kernel_action(sig, &a, NULL);
}

void moca_exact_sighand_trap(void)
{
	long error = set_ours(SIGTRAP, SA_RESTART);

	if (error)
		moca_exact_die("cannot handle SIGTRAP: error", (uint64_t)-error);
}

void moca_exact_sighand_init(void)
{
	int sig;

	for (sig = 1; sig <= SIGNALS; sig++)
		kernel_action(sig, NULL, &moca_exact_sighand.action[sig - 1]);
	moca_exact_sighand_trap();
}

void moca_exact_sighand_copy(struct sighand *to, const struct sighand *from,
			     int clear)
{
	int i;

	memcpy(to->action, from->action, sizeof(to->action));
	to->lock = 0;
	for (i = 0; clear && i < SIGNALS; i++)
		if (handled(&to->action[i]))
			memset(&to->action[i], 0, sizeof(to->action[i]));
}

long moca_exact_sigaction(struct context *c)
{
	uint64_t sig = (uint32_t)c->gpr[RDI], new = c->gpr[RSI];
	struct sighand *h = c->signal.hand;
	struct ksigaction a, old, *is;
	long error = 0;

	if (c->gpr[10] != 8)
		return -EINVAL;
	if (new && moca_exact_peek(&a, new, sizeof(a)))
		return -EFAULT;
	if (sig < 1 || sig > SIGNALS ||
	    (new && (SIGBIT(sig) & SIGS_NEVER)))
		return -EINVAL;
	is = &h->action[sig - 1];
	lock(h);
	old = *is;
	if (new) {
		a.flags &= SA_KNOWN;
		a.mask &= ~SIGS_NEVER;
		if (sig == SIGTRAP)
			error = 0;
		else if (handled(&a))
			error = set_ours((int)sig, a.flags);
		else
			error = kernel_action((int)sig, &a, NULL);
		if (!error)
			*is = a;
	}
	unlock(h);
	if (!error && c->gpr[RDX])
		error = moca_exact_poke(c->gpr[RDX], &old, sizeof(old));
	return error;
}

struct ksigaction moca_exact_action_take(struct context *c, int sig)
{
	struct ksigaction a, none = { 0 };
	struct sighand *h = c->signal.hand;

	lock(h);
	a = h->action[sig - 1];
	if (handled(&a) && (a.flags & SA_RESETHAND)) {
		h->action[sig - 1].handler = 0;
		if (sig != SIGTRAP)
			kernel_action(sig, &none, NULL);
	}
	unlock(h);
	return a;
}

/* The first process of a PID namespace gets no fatal signal that it sends itself. */
static void die_by_fault(int sig)
{
	switch (sig) {
	case SIGILL:
		__asm__ volatile("ud2");
		break;
	case SIGFPE:
		__asm__ volatile("cltd; idivl %0" ::"r"(0), "a"(1) : "edx");
		break;
	case SIGTRAP:
		__asm__ volatile("int3");
		break;
	case SIGBUS:
		/* An access that is not aligned, with the flag that forbids it. */
		__asm__ volatile("pushf; orl $0x40000, (%%rsp); popf; movl 1(%%rsp), %%eax"
				 ::: "eax", "memory", "cc");
		break;
	default:
		__asm__ volatile("hlt");
	}
}

void moca_exact_die_by(int sig)
{
	struct ksigaction none = { 0 };
	uint64_t mask = SIGBIT(sig);

	kernel_action(sig, &none, NULL);
	moca_exact_call(__NR_tgkill,
			moca_exact_call(__NR_getpid, 0, 0, 0, 0, 0, 0),
			moca_exact_call(__NR_gettid, 0, 0, 0, 0, 0, 0), sig, 0,
			0, 0);
	moca_exact_call(__NR_rt_sigprocmask, SIG_UNBLOCK, (long)&mask, 0, 8, 0,
			0);
	die_by_fault(sig);
	moca_exact_die("survived signal", (uint64_t)sig);
}

struct kstack moca_exact_program_stack(const struct context *c)
{
	struct kstack stack = { c->signal.alt_sp, (int32_t)c->signal.alt_flags,
				0, c->signal.alt_size };

	if (!stack.size)
		stack.flags = 2;	/* SS_DISABLE */
	return stack;
}

void moca_exact_signal_native(struct context *c)
{
	struct kstack stack = moca_exact_program_stack(c);

	for (int sig = 1; sig <= SIGNALS; sig++)
		if (!(SIGBIT(sig) & SIGS_NEVER))
			kernel_action(sig, &c->signal.hand->action[sig - 1],
				      NULL);
	moca_exact_call(__NR_sigaltstack, (long)&stack, 0, 0, 0, 0, 0);
}
