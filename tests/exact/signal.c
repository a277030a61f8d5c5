/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What programs do with signals, three times: by the kernel, by the agent where
 * every instruction is a boundary, and where one in seven is. What they see must be
 * the same, and so must their end. One function and one line in the table each.
 *
 * usage: signal [--list | NAME [MODE]]; with a mode (0: the kernel's) that one alone, and
 * what it sees is printed, as tests/exact/signals wants it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "signal-cases.h"

#define TEXT (64 << 10)

static struct text {
	size_t used;
	char text[TEXT];
} *text;
static int alone;	/* one of them, for all to see */

void out(const char *format, ...)
{
	size_t from = text->used;
	va_list list;

	va_start(list, format);
	text->used += (size_t)vsnprintf(text->text + text->used,
					TEXT - text->used, format, list);
	va_end(list);
	if (text->used >= TEXT)
		_exit(97);
	if (alone && write(1, text->text + from, text->used - from) < 0)
		_exit(96);
}

long act(int sig, void *handler, unsigned long flags, unsigned long mask)
{
	struct act a = { handler, flags | RESTORER,
			 mode == NATIVE ? restorer_native : restorer_emulated,
			 mask };

	return sys(SYS_rt_sigaction, sig, &a, 0, 8, 0, 0);
}

unsigned long mask_now(void)
{
	unsigned long m = 0;

	sys(SYS_rt_sigprocmask, SIG_BLOCK, 0, &m, 8, 0, 0);
	return m;
}

void set_mask(int how, unsigned long m)
{
	sys(SYS_rt_sigprocmask, how, &m, 0, 8, 0, 0);
}

long raise_it(int sig)
{
	return sys(SYS_tgkill, sys(SYS_getpid, 0, 0, 0, 0, 0, 0),
		   sys(SYS_gettid, 0, 0, 0, 0, 0, 0), sig, 0, 0, 0);
}

volatile int seen, depth;
volatile int *volatile at_8 = (volatile int *)8;
int quiet;
struct last last;

void show(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	unsigned mxcsr;
	unsigned short control;

	seen++;
	if (quiet)
		return;
	__asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
	__asm__ volatile("fnstcw %0" : "=m"(control));
	memcpy(last.regs, uc->uc_mcontext.gregs, sizeof(last.regs));
	last.info = *info;
	last.sig = sig;
	out("  signal %d depth %d code %d errno %d mask %lx in %lx oldmask %llx stack %d %zx aligned %d mxcsr %x fcw %x fp %d flags %lx\n",
	    sig, depth, info->si_code, info->si_errno,
	    *(unsigned long *)&uc->uc_sigmask, mask_now(),
	    uc->uc_mcontext.gregs[REG_OLDMASK], uc->uc_stack.ss_flags & ~2,
	    uc->uc_stack.ss_size,
	    (int)((uint64_t)__builtin_frame_address(0) & 15), mxcsr, control,
	    (int)((uint64_t)uc->uc_mcontext.fpregs & 63), uc->uc_flags);
}

const char *steps(void)
{
	return mode != STEPPED || harness_steps > 20 ?
		       "" : "but it did not step";
}

/* --- actions ------------------------------------------------------------------- */

static void nested(int sig, siginfo_t *info, void *uc)
{
	depth++;
	show(sig, info, uc);
	if (sig == SIGUSR1) {
		raise_it(SIGUSR2);
		raise_it(SIGTERM);
		raise_it(SIGUSR1);
	}
	if (sig == SIGHUP && depth < 4)
		raise_it(SIGHUP);
	out("  leave %d\n", sig);
	depth--;
}

static void do_masks(void)
{
	act(SIGUSR1, nested, SA_SIGINFO, BIT(SIGUSR2) | BIT(SIGKILL));
	act(SIGUSR2, nested, SA_SIGINFO, 0);
	act(SIGTERM, nested, SA_SIGINFO, ~0ul);
	act(SIGHUP, nested, SA_SIGINFO | SA_NODEFER, 0);
	raise_it(SIGHUP);
	out("one\n");
	act(SIGUSR1, nested, SA_SIGINFO | SA_RESETHAND, BIT(SIGUSR1));
	set_mask(SIG_BLOCK, BIT(SIGTERM));
	raise_it(SIGTERM);
	raise_it(SIGTERM);
	out("two\n");
	set_mask(SIG_UNBLOCK, BIT(SIGTERM));
	out("three %lx\n", mask_now());
	set_mask(SIG_SETMASK, ~0ul);
	out("%lx\n", mask_now());
	set_mask(SIG_UNBLOCK, BIT(SIGTRAP));
	out("%lx\n", mask_now());
	set_mask(SIG_SETMASK, 0);
	raise_it(SIGUSR1);	/* the second, inside, ends it */
	out("not here\n");
}

static void do_actions(void)
{
	struct act a, b = { 0 };
	int sig;

	for (sig = -1; sig < 67; sig++) {
		long r = act(sig, show, SA_SIGINFO | SA_RESTART | 0x400, ~0ul);
		long q = sys(SYS_rt_sigaction, sig, 0, &a, 8, 0, 0);

		out("%d: %ld %ld", sig, r, q);
		if (!q)
			out(" %d %lx %lx %d", a.handler == (void *)show,
			    a.flags, a.mask,
			    a.restorer == (void *)(mode == NATIVE ?
							   restorer_native :
							   restorer_emulated));
		out("\n");
	}
	out("%ld %ld %ld %ld %ld\n", sys(SYS_rt_sigaction, 10, 8, 0, 8, 0, 0),
	    sys(SYS_rt_sigaction, 10, 0, 8, 8, 0, 0),
	    sys(SYS_rt_sigaction, 10, 0, &a, 4, 0, 0),
	    sys(SYS_rt_sigaction, 10, &b, &a, 8, 0, 0),
	    sys(SYS_rt_sigaction, 10, 0, &b, 8, 0, 0));
	out("%d %d\n", a.handler == (void *)show, b.handler == (void *)show);
	out("%ld %ld %ld %ld\n", sys(SYS_rt_sigprocmask, 7, &a, 0, 8, 0, 0),
	    sys(SYS_rt_sigprocmask, 7, 0, &a, 8, 0, 0),
	    sys(SYS_rt_sigprocmask, 0, 8, &a, 8, 0, 0),
	    sys(SYS_rt_sigprocmask, 0, &a, &a, 16, 0, 0));
	act(SIGUSR1, SIG_IGN, 0, 0);
	raise_it(SIGUSR1);
	act(SIGCHLD, SIG_DFL, 0, 0);
	raise_it(SIGCHLD);
	act(SIGTRAP, SIG_IGN, 0, 0);
	raise_it(SIGTRAP);
	out("seen %d\n", seen);
	act(SIGUSR1, SIG_DFL, 0, 0);
	raise_it(SIGUSR1);
}

static void do_default_abort(void)
{
	raise_it(SIGABRT);
}

static void do_default_trap(void)
{
	raise_it(SIGTRAP);
}

/* Without SA_SIGINFO too. */
static void plain(int sig)
{
	out("plain %d\n", sig);
}

static void do_plain(void)
{
	act(SIGUSR1, plain, 0, 0);
	raise_it(SIGUSR1);
	act(SIGRTMIN + 3, show, SA_SIGINFO, 0);
	set_mask(SIG_BLOCK, BIT(SIGRTMIN + 3));
	for (int i = 0; i < 3; i++) {
		siginfo_t info = { .si_code = SI_QUEUE };

		info.si_value.sival_int = 7 * i;
		sys(SYS_rt_sigqueueinfo, getpid(), SIGRTMIN + 3, &info, 0, 0,
		    0);
	}
	set_mask(SIG_SETMASK, 0);
	out("seen %d value %d\n", seen, last.info.si_value.sival_int);
}

/* --- faults -------------------------------------------------------------------- */

static char *hole;
static int length;

static void fixes(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *g = uc->uc_mcontext.gregs;

	show(sig, info, context);
	out("  address %ld at rip %d err %llx trapno %llx cr2 %lld rax %llx\n",
	    sig == SIGSEGV && info->si_code > 0 &&
			    info->si_code != SI_KERNEL ?
		    (char *)info->si_addr - hole : 0,
	    (uint64_t)info->si_addr == (uint64_t)g[REG_RIP], g[REG_ERR],
	    g[REG_TRAPNO], sig == SIGSEGV ? g[REG_CR2] - (greg_t)hole : 0,
	    g[REG_RAX]);
	g[REG_RIP] += length;
	g[REG_RAX] = 77;
}

static void do_faults(void)
{
	long rax;

	hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	act(SIGSEGV, fixes, SA_SIGINFO, 0);
	act(SIGBUS, fixes, SA_SIGINFO, 0);
	act(SIGFPE, fixes, SA_SIGINFO, 0);
	act(SIGILL, fixes, SA_SIGINFO, 0);
	act(SIGTRAP, fixes, SA_SIGINFO, 0);
	length = 3;
	__asm__ volatile("mov 8(%1), %%al\n"
			 : "=a"(rax) : "D"(hole), "a"(5) : "memory");
	out("load %ld\n", rax);
	__asm__ volatile("mov %%al, 9(%1)\n"
			 : "+a"(rax) : "D"(hole) : "memory");
	out("store %ld\n", rax);
	length = 2;
	__asm__ volatile("ud2\n" : "=a"(rax) : "a"(6));
	out("ud2 %ld\n", rax);
	__asm__ volatile("div %%ecx\n" : "=a"(rax) : "a"(6), "c"(0), "d"(0));
	out("div %ld\n", rax);
	length = 0;
	__asm__ volatile("int3\n" : "=a"(rax) : "a"(7));
	out("int3 %ld\n", rax);
	__asm__ volatile(".byte 0xcd, 3\n" : "=a"(rax) : "a"(8));
	out("int 3 %ld\n", rax);
	length = 1;
	__asm__ volatile("hlt\n" : "=a"(rax) : "a"(9));
	out("hlt %ld\n", rax);
	length = 2;
	__asm__ volatile("mov (%%rcx), %%al\n"
			 : "=a"(rax) : "c"(1ul << 63), "a"(10));
	out("non-canonical %ld\n", rax);
	/* With others waiting and nested. */
	act(SIGSEGV, fixes, SA_SIGINFO | SA_NODEFER, 0);
	length = 3;
	set_mask(SIG_BLOCK, BIT(SIGUSR1));
	act(SIGUSR1, fixes, SA_SIGINFO, BIT(SIGUSR2));
	raise_it(SIGUSR1);
	__asm__ volatile("mov 8(%1), %%al\n"
			 : "=a"(rax) : "D"(hole), "a"(5) : "memory");
	length = 0;
	set_mask(SIG_SETMASK, 0);
	kill(getpid(), 0);
	raise_it(SIGSEGV);
	raise_it(SIGTRAP);
	/* An address that is no code: the handler returns to elsewhere. */
	out("end\n");
}

static void back_from_nowhere(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *g = uc->uc_mcontext.gregs;

	out("addr is rip %d hole %d err %llx trapno %llx code %d\n",
	    (greg_t)info->si_addr == g[REG_RIP], info->si_addr == hole,
	    g[REG_ERR], g[REG_TRAPNO], info->si_code);
	g[REG_RIP] = *(greg_t *)g[REG_RSP];
	g[REG_RSP] += 8;
}

/* By sigreturn, so that the harness sees where it goes. */
static void to_nowhere(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)hole;
}

static void do_nowhere(void)
{
	hole = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(hole, 4096);
	act(SIGUSR1, to_nowhere, SA_SIGINFO, 0);
	act(SIGSEGV, back_from_nowhere, SA_SIGINFO, 0);
	raise_it(SIGUSR1);
	out("back %lx\n", mask_now());
	act(SIGSEGV, SIG_DFL, 0, 0);
	raise_it(SIGUSR1);
}

static void do_blocked_fault(void)
{
	act(SIGSEGV, show, SA_SIGINFO, 0);
	set_mask(SIG_BLOCK, BIT(SIGSEGV));
	raise_it(SIGSEGV);
	out("not yet\n");
	*at_8 = 1;
}

static void do_blocked_int3(void)
{
	act(SIGTRAP, show, SA_SIGINFO, 0);
	set_mask(SIG_BLOCK, BIT(SIGTRAP));
	__asm__ volatile("int3");
	out("not here\n");
}

static void do_ignored_int3(void)
{
	act(SIGTRAP, SIG_IGN, 0, 0);
	__asm__ volatile("int3");
	out("not here\n");
}

static void do_ignored_fault(void)
{
	act(SIGFPE, SIG_IGN, 0, 0);
	__asm__ volatile("div %%ecx\n" : : "a"(6), "c"(0), "d"(0));
	out("not here\n");
}

static void again(int sig, siginfo_t *info, void *uc)
{
	show(sig, info, uc);
	*at_8 = 1;
}

static void do_fault_in_handler(void)
{
	act(SIGSEGV, again, SA_SIGINFO, 0);
	*at_8 = 1;
}

/* --- SIGTRAP, which we need ourselves --------------------------------------------- */

static void do_trap(void)
{
	siginfo_t info;
	unsigned long set = BIT(SIGTRAP), pending = 0;
	struct timespec now = { 0 };

	act(SIGTRAP, show, SA_SIGINFO, 0);
	raise_it(SIGTRAP);
	out("one\n");
	set_mask(SIG_BLOCK, BIT(SIGTRAP) | BIT(SIGUSR1));
	raise_it(SIGTRAP);
	raise_it(SIGTRAP);
	out("two %ld\n", sys(SYS_rt_sigpending, &pending, 8, 0, 0, 0, 0));
	out("pending %lx\n", pending);
	set_mask(SIG_UNBLOCK, BIT(SIGTRAP));
	out("three %d\n", seen);
	set_mask(SIG_BLOCK, BIT(SIGTRAP));
	raise_it(SIGTRAP);
	out("wait %ld\n", sys(SYS_rt_sigtimedwait, &set, &info, &now, 8, 0, 0));
	out("code %d\n", info.si_code);
	out("wait %ld\n", sys(SYS_rt_sigtimedwait, &set, &info, &now, 8, 0, 0));
	pending = 1;
	sys(SYS_rt_sigpending, &pending, 8, 0, 0, 0, 0);
	out("pending %lx\n", pending);
	raise_it(SIGTRAP);
	set = 0;
	sys(SYS_rt_sigsuspend, &set, 8, 0, 0, 0, 0);
	out("four %d %lx\n", seen, mask_now());
}

/* pushf, which would show that we step. */
static void do_pushf(void)
{
	struct itimerval t = { { 0, 300 }, { 0, 300 } };
	uint64_t flags, bad = 0;

	quiet = 1;
	act(SIGALRM, show, SA_SIGINFO, 0);
	sys(SYS_setitimer, ITIMER_REAL, &t, 0, 0, 0, 0);
	while (seen < 100)
		for (int i = 0; i < 100; i++) {
			__asm__ volatile("nop\n nop\n pushfq\n pop %0\n"
					 "pushfw\n pushw $0\n pushw $0\n"
					 "pushw $0\n add $6, %%rsp\n"
					 "popfw\n"
					 : "=r"(flags) : : "cc", "memory");
			bad += !!(flags & 0x100);
		}
	out("bad %lu %s\n", bad, steps());
}

/* --- system calls ------------------------------------------------------------------- */

static void in_suspend(int sig, siginfo_t *info, void *uc)
{
	show(sig, info, uc);
}

static void do_suspend(void)
{
	unsigned long all = ~0ul, but = ~(BIT(SIGUSR1) | BIT(SIGTRAP));
	struct {
		unsigned long *set, size;
	} pair = { &but, 8 };
	struct timespec t = { 1, 0 };
	struct epoll_event e;
	int ep = epoll_create1(0);

	act(SIGUSR1, in_suspend, SA_SIGINFO, BIT(SIGHUP));
	act(SIGUSR2, in_suspend, SA_SIGINFO, 0);
	set_mask(SIG_BLOCK, BIT(SIGUSR1) | BIT(SIGWINCH));
	raise_it(SIGUSR1);
	out("%ld\n", sys(SYS_rt_sigsuspend, &but, 8, 0, 0, 0, 0));
	out("%lx\n", mask_now());
	raise_it(SIGUSR1);
	out("%ld\n", sys(SYS_ppoll, 0, 0, &t, &but, 8, 0));
	raise_it(SIGUSR1);
	out("%ld\n", sys(SYS_pselect6, 0, 0, 0, 0, &t, &pair));
	raise_it(SIGUSR1);
	out("%ld\n", sys(SYS_epoll_pwait, ep, &e, 1, 1000, &but, 8));
	raise_it(SIGUSR1);
	but = 0;
	raise_it(SIGUSR2);
	out("%ld\n", sys(SYS_rt_sigsuspend, &but, 8, 0, 0, 0, 0));
	t.tv_sec = 0;
	raise_it(SIGUSR1);
	out("%ld\n", sys(SYS_ppoll, 0, 0, &t, &all, 8, 0));
	out("%lx\n", mask_now());
}

static int tube[2];

static void writes(int sig, siginfo_t *info, void *uc)
{
	seen++;
	if (seen == 3)
		sys(SYS_write, tube[1], "3", 1, 0, 0, 0);
}

static void do_restart(void)
{
	struct itimerval t = { { 0, 20000 }, { 0, 20000 } };
	/* So long that the timer ends it, however busy the machine is. */
	struct timespec nap = { 600, 0 }, left = { 999, 9 };
	char c = 0;
	long r;

	if (pipe(tube))
		return;
	act(SIGALRM, writes, SA_SIGINFO | SA_RESTART, 0);
	sys(SYS_setitimer, ITIMER_REAL, &t, 0, 0, 0, 0);
	r = sys(SYS_read, tube[0], &c, 1, 0, 0, 0);
	out("read %ld %c\n", r, c);
	act(SIGALRM, writes, SA_SIGINFO, 0);
	r = sys(SYS_read, tube[0], &c, 1, 0, 0, 0);
	out("read %ld\n", r);
	r = sys(SYS_nanosleep, &nap, &left, 0, 0, 0, 0);
	out("nanosleep %ld %d\n", r, left.tv_sec < 600);
	r = sys(SYS_pause, 0, 0, 0, 0, 0, 0);
	out("pause %ld\n", r);
	act(SIGALRM, SIG_IGN, 0, 0);
	nap = (struct timespec){ 0, 30000000 };
	r = sys(SYS_nanosleep, &nap, &left, 0, 0, 0, 0);
	out("nanosleep %ld\n", r);
}

/* Stopped and continued, a sleep goes on by restart_syscall. */
static void do_stop(void)
{
	struct timespec nap = { 0, 60000000 };
	long pid = getpid(), r;

	act(SIGUSR1, show, SA_SIGINFO, 0);
	if (!fork()) {
		for (int i = 0; i < 4; i++) {
			usleep(10000);
			kill((pid_t)pid, SIGSTOP);
			kill((pid_t)pid, SIGCONT);
		}
		_exit(0);
	}
	r = sys(SYS_nanosleep, &nap, 0, 0, 0, 0, 0);
	out("nanosleep %ld\n", r);
}

/* --- storms ---------------------------------------------------------------------- */

static uint64_t work(uint64_t n)
{
	uint64_t x = 88172645463325252ull, sum = 0;
	double d = 1;

	for (uint64_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		sum += x;
		d = d * 1.0000001 + (double)(x & 7);
	}
	return sum ^ (uint64_t)d;
}

static volatile uint64_t inside;

static void works(int sig, siginfo_t *info, void *uc)
{
	seen++;
	inside += work(20);
	if (seen % 3 == 0)
		raise_it(SIGUSR2);
}

static void do_storm(void)
{
	struct itimerval t = { { 0, 200 }, { 0, 200 } };
	struct itimerval off = { { 0, 0 }, { 0, 0 } };
	uint64_t sum = 0;
	int bad = 0;

	/* Nested, they would come faster than they end on a busy machine. */
	act(SIGALRM, works, SA_SIGINFO, 0);
	act(SIGVTALRM, works, SA_SIGINFO, 0);
	act(SIGPROF, works, SA_SIGINFO, 0);
	act(SIGUSR2, nested, SA_SIGINFO, 0);
	act(SIGUSR2, works, SA_SIGINFO, ~0ul);
	sys(SYS_setitimer, ITIMER_REAL, &t, 0, 0, 0, 0);
	sys(SYS_setitimer, ITIMER_PROF, &t, 0, 0, 0, 0);
	sys(SYS_setitimer, ITIMER_VIRTUAL, &t, 0, 0, 0, 0);
	for (int i = 0; i < 1000 || seen < 300; i++) {
		sum = work(2000);
		if (i % 8 == 0) {
			set_mask(SIG_BLOCK, ~0ul);
			int n = seen;

			work(500);
			bad += n != seen;
			set_mask(SIG_UNBLOCK, ~0ul);
		}
	}
	sys(SYS_setitimer, ITIMER_REAL, &off, 0, 0, 0, 0);
	sys(SYS_setitimer, ITIMER_PROF, &off, 0, 0, 0, 0);
	sys(SYS_setitimer, ITIMER_VIRTUAL, &off, 0, 0, 0, 0);
	out("sum %lx while blocked %d\n", sum, bad);
}

/* Another process sends what it can, as fast as it can. */
static void do_hail(void)
{
	static const int kinds[] = { SIGUSR1, SIGUSR2, SIGTRAP, SIGSEGV, SIGFPE,
				     SIGILL, SIGBUS, SIGHUP, 34, 35 };
	long parent = getpid();
	uint64_t sum = 0;
	pid_t child;

	quiet = 1;
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		act(kinds[i], show, SA_SIGINFO | (i % 2 ? SA_NODEFER : 0),
		    i % 3 ? 0 : ~0ul);
	child = fork();
	if (!child) {
		for (int i = 0; i < 3000; i++) {
			kill((pid_t)parent, kinds[i % 10]);
			if (i % 64 == 0)
				usleep(500);
		}
		_exit(0);
	}
	for (;;) {
		sum = work(1000);
		if (sys(SYS_wait4, child, 0, WNOHANG, 0, 0, 0) == child)
			break;
	}
	out("sum %lx enough %d\n", sum, seen > 30);
}

static const struct {
	const char *name;
	void (*run)(void);
} table[] = {
	{ "frame", do_frame },
	{ "red-zone", do_red_zone },
	{ "growing-stack", do_growing },
	{ "no-stack", do_no_stack },
	{ "no-stack-altstack", do_no_stack_alt },
	{ "no-restorer", do_no_restorer },
	{ "masks", do_masks },
	{ "actions", do_actions },
	{ "default-abort", do_default_abort },
	{ "default-trap", do_default_trap },
	{ "plain-and-queued", do_plain },
	{ "altstack", do_altstack },
	{ "faults", do_faults },
	{ "jump-to-nowhere", do_nowhere },
	{ "blocked-fault", do_blocked_fault },
	{ "blocked-int3", do_blocked_int3 },
	{ "ignored-int3", do_ignored_int3 },
	{ "ignored-fault", do_ignored_fault },
	{ "fault-in-handler", do_fault_in_handler },
	{ "sigtrap", do_trap },
	{ "pushf", do_pushf },
	{ "suspend", do_suspend },
	{ "restart", do_restart },
	{ "stop", do_stop },
	{ "return", do_return },
	{ "bad-state", do_bad_state },
	{ "bad-frame", do_bad_frame },
	{ "longjmp", do_longjmp },
	{ "storm", do_storm },
	{ "hail", do_hail },
};

static int run(void (*f)(void), enum mode m, struct text *copy)
{
	int status;
	pid_t child;

	text->used = 0;
	text->text[0] = 0;
	child = fork();
	if (!child) {
		alarm(0);
		mode = m;
		harness_begin();
		f();
		sys(SYS_exit_group, 7, 0, 0, 0, 0, 0);
	}
	waitpid(child, &status, 0);
	*copy = *text;
	return status & 0xff7f;	/* a core file or none */
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "native", "direct", "stepped" };
	static struct text by[MODES];
	int status[MODES], failed = 0;

	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	text = mmap(NULL, sizeof(*text), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		if (argc > 1 && !strcmp(argv[1], "--list")) {
			puts(table[i].name);
			continue;
		}
		if (argc > 1 && strcmp(argv[1], table[i].name))
			continue;
		if (argc > 2) {	/* a mode: in this process, for a debugger */
			mode = (enum mode)atoi(argv[2]);
			alone = 1;
			harness_begin();
			table[i].run();
			return 7;
		}
		for (enum mode m = NATIVE; m < MODES; m++)
			status[m] = run(table[i].run, m, &by[m]);
		for (enum mode m = DIRECT; m < MODES; m++) {
			int bad = status[m] != status[NATIVE] ||
				  strcmp(by[m].text, by[NATIVE].text);

			failed += bad;
			printf("%s %s/%s\n", bad ? "not ok" : "ok",
			       table[i].name, names[m]);
			if (bad)
				printf("# native, status %x:\n%s# %s, status %x:\n%s",
				       status[NATIVE], by[NATIVE].text, names[m],
				       status[m], by[m].text);
		}
		fflush(stdout);
	}
	return !!failed;
}
