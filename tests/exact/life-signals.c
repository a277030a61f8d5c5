/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signals, as a translated program must see them: handlers get its own registers
 * and addresses, may change them, and come at any instruction without harm.
 */
#include "tests/programs/case.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

/* A page of which tests/exact/life knows what it must have got. */
#define COUNTED 0x50000000ul

static volatile sig_atomic_t count;
static sigjmp_buf env;

static void map_counted(void)
{
	CHECK(mmap((void *)COUNTED, PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1,
		   0) == (void *)COUNTED);
}

/* One load and one store. */
static inline void touch(void)
{
	asm volatile("incl (%0)" : : "r"(COUNTED) : "memory", "cc");
}

static void handle(int sig, void (*f)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = f,
				.sa_flags = flags | SA_SIGINFO };

	CHECK(sigaction(sig, &sa, NULL) == 0);
}

static greg_t *regs(void *uc)
{
	return ((ucontext_t *)uc)->uc_mcontext.gregs;
}

static void on_count(int sig, siginfo_t *si, void *uc)
{
	count++;
}

static void on_simple(int sig, siginfo_t *si, void *uc)
{
	count++;
	touch();
}

static void simple(void)
{
	map_counted();
	handle(SIGUSR1, on_simple, 0);
	for (int i = 0; i < 20000; i++)
		raise(SIGUSR1);
	printf("%d signals\n", count);
}

/* The state at a fault, to the register: what was done before it is done, and
 * nothing behind it. */
extern const char fault_load[], fault_store[], fault_div[], fault_ud[];
extern const char fault_after[];

struct seen {
	int sig, code;
	uint64_t addr, rip, gpr[16];
	uint32_t flags;
};
static struct seen seen;

static void on_fault(int sig, siginfo_t *si, void *uc)
{
	static const int order[16] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX,
				       REG_RSP, REG_RBP, REG_RSI, REG_RDI,
				       REG_R8,	REG_R9,	 REG_R10, REG_R11,
				       REG_R12, REG_R13, REG_R14, REG_R15 };
	greg_t *r = regs(uc);

	seen.sig = sig;
	seen.code = si->si_code;
	seen.addr = (uint64_t)si->si_addr;
	seen.rip = r[REG_RIP];
	seen.flags = r[REG_EFL] & 0x8d5;
	for (int i = 0; i < 16; i++)
		seen.gpr[i] = r[order[i]];
	r[REG_RIP] = (uint64_t)fault_after;
}

/* All registers known, flags too (stc; ZF by cmp), then the instruction. */
#define FAULT(label, insn)                                                   \
	asm volatile("push %%rbp; push %%rbx\n"                              \
		     "mov $0x1111, %%eax; mov $0x2222, %%ecx\n"              \
		     "mov $0x3333, %%edx; mov $0x4444, %%ebx\n"              \
		     "mov $0x5555, %%ebp; mov $0x6666, %%esi\n"              \
		     "mov $0x7777, %%r8d; mov $0x8888, %%r9d\n"              \
		     "mov $0x9999, %%r10d; mov $0xaaaa, %%r11d\n"            \
		     "mov $0xbbbb, %%r12d; mov $0xcccc, %%r13d\n"            \
		     "mov $0xdddd, %%r14d; mov $0xeeee, %%r15d\n"            \
		     "mov %%rax, (%%rdi); mov %%rcx, 8(%%rdi)\n"             \
		     "add %%rax, (%%rdi); cmp %%rax, %%rax; stc\n"           \
		     ".globl " #label "; " #label ": " insn "\n"             \
		     "movq $0, (%%rdi); mov $0xbad, %%eax; mov $1, %%ecx\n"  \
		     "jmp fault_after"                                       \
		     : : "D"(area) : "memory")

static uint64_t area[16];

static void show_fault(const char *name, const char *at)
{
	uint64_t addr = seen.addr - seen.rip < 16 ? 1 : seen.addr;

	/* What the instruction would have overwritten is gone already. */
	int dead = !strcmp(name, "load") || !strcmp(name, "div");

	printf("%s: signal %d code %d addr %lx at %s, flags %x\n", name,
	       seen.sig, seen.code, addr,
	       seen.rip == (uint64_t)at ? "the instruction" : "elsewhere",
	       dead ? 0 : seen.flags);
	for (int i = 0; i < 16; i++)
		if (i != 4 && i != 7)
			printf(" %lx", seen.gpr[i]);
	printf("; %s; memory %lx %lx\n",
	       seen.gpr[7] == (uint64_t)area ? "rdi" : "another rdi", area[0],
	       area[1]);
}

__attribute__((noinline, noclone)) static void fault(int kind)
{
	switch (kind) {
	case 0:
		FAULT(fault_load, "add 0x123(%%rbx), %%rax");
		break;
	case 1:
		FAULT(fault_store, "mov %%rax, -8(%%rbp,%%rcx,1)");
		break;
	case 2:
		FAULT(fault_div, "xor %%esi, %%esi; div %%esi");
		break;
	default:
		FAULT(fault_ud, "ud2");
	}
	asm volatile(".globl fault_after; fault_after: pop %%rbx; pop %%rbp"
		     : : : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11",
		     "r12", "r13", "r14", "r15", "memory", "cc");
}

static void contexts(void)
{
	handle(SIGSEGV, on_fault, 0);
	handle(SIGFPE, on_fault, 0);
	handle(SIGILL, on_fault, 0);
	for (int i = 0; i < 200; i++) {
		fault(i % 4);
		if (i >= 4)
			continue;
		if (i == 0)
			show_fault("load", fault_load);
		else if (i == 1)
			show_fault("store", fault_store);
		else if (i == 2)
			show_fault("div", fault_div + 2);
		else
			show_fault("ud2", fault_ud);
	}
}

/* Faults in the middle of a block with stores around: none is done twice. */
static char *barrier;

static void on_barrier(int sig, siginfo_t *si, void *uc)
{
	char *page = (char *)((uint64_t)si->si_addr & ~(PAGE - 1));

	CHECK(page >= barrier && page < barrier + 4096 * PAGE);
	CHECK(mprotect(page, PAGE, RW) == 0);
	count++;
}

static void write_barrier(void)
{
	uint64_t n = 4096, sum = 0;

	barrier = map_pages(4096);
	handle(SIGSEGV, on_barrier, 0);
	CHECK(mprotect(barrier, 4096 * PAGE, PROT_READ) == 0);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t *p = (uint64_t *)(barrier + i * PAGE);

		p[0] += 3;
		p[511] += p[0]++;
		sum += p[0] + p[511];
	}
	printf("%d faults, sum %lu\n", count, sum);
	count = 0;
	CHECK(mprotect(barrier, 4096 * PAGE, PROT_NONE) == 0);
	/* rep movs across pages that fault one by one */
	memset(barrier, 7, 40 * PAGE);
	memcpy(barrier + 100 * PAGE + 5, barrier + 3, 30 * PAGE);
	sum = 0;
	for (uint64_t i = 0; i < 30 * PAGE; i++)
		sum += (unsigned char)barrier[100 * PAGE + 5 + i];
	printf("%d faults, sum %lu\n", count, sum);
}

static void on_bus(int sig, siginfo_t *si, void *uc)
{
	count++;
	siglongjmp(env, sig);
}

static void bus(void)
{
	int fd = memfd_create("short", 0);
	volatile char *p = mmap(NULL, 2 * PAGE, RW, MAP_SHARED, fd, 0);
	volatile int sum = 0;

	CHECK(fd >= 0 && p != MAP_FAILED && ftruncate(fd, PAGE) == 0);
	handle(SIGBUS, on_bus, 0);
	for (int i = 0; i < 3000; i++)
		if (!sigsetjmp(env, 1))
			sum += p[i % 2 ? PAGE : 0] + 1;
	printf("%d times, sum %d\n", count, sum);
}

static void on_jump(int sig, siginfo_t *si, void *uc)
{
	touch();
	siglongjmp(env, 1);
}

/* Out of a handler, very often: nothing may pile up, nothing stay uncounted. */
static void longjmps(void)
{
	volatile uint64_t n = 0, *null = NULL;

	map_counted();
	handle(SIGSEGV, on_jump, 0);
	for (int i = 0; i < 100000; i++) {
		if (!sigsetjmp(env, 1))
			n += *null;
		else
			n += 1;
		touch();
	}
	printf("%lu\n", n);
}

static void on_alt(int sig, siginfo_t *si, void *uc)
{
	volatile char here = 1;
	stack_t ss;

	CHECK(sigaltstack(NULL, &ss) == 0 && ss.ss_flags & SS_ONSTACK);
	CHECK(&here >= (char *)ss.ss_sp &&
	      &here < (char *)ss.ss_sp + ss.ss_size);
	CHECK(((ucontext_t *)uc)->uc_stack.ss_sp == ss.ss_sp);
	siglongjmp(env, 1);
}

static uint64_t deep(uint64_t n)
{
	volatile char frame[2000];

	frame[n % 2000] = (char)n;
	return n == ~0ul ? 0 : deep(n + 1) + frame[n % 2000];
}

static void overflow(void)
{
	static char stack[1 << 16];
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };

	CHECK(sigaltstack(&ss, NULL) == 0);
	handle(SIGSEGV, on_alt, SA_ONSTACK);
	for (int i = 0; i < 5; i++)
		if (!sigsetjmp(env, 1))
			printf("%lu\n", deep(0));
		else
			printf("overflow %d\n", i);
}

static void on_nested(int sig, siginfo_t *si, void *uc)
{
	count++;
	if (sig == SIGUSR1)
		raise(SIGUSR2);
	else if (count < 1000)
		raise(SIGUSR1);
}

static void nested(void)
{
	handle(SIGUSR1, on_nested, SA_NODEFER);
	handle(SIGUSR2, on_nested, SA_NODEFER);
	raise(SIGUSR1);
	printf("%d\n", count);
}

/* Three kinds of loops that a timer interrupts at a thousand hertz. */
static uint64_t integers(uint64_t n)
{
	uint64_t a = 1, b = 2;

	for (uint64_t i = 0; i < n; i++) {
		a = a * 6364136223846793005 + 1442695040888963407;
		b ^= a >> 17;
		b = (b << 13) | (b >> 51);
	}
	return a ^ b;
}

static uint64_t vectors(uint64_t n)
{
	double x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	uint64_t u, h = 0;

	for (uint64_t i = 0; i < n; i++)
		for (int k = 0; k < 8; k++)
			x[k] = x[k] * 0.999999 + 1.0 / (double)(k + 3);
	for (int k = 0; k < 8; k++) {
		memcpy(&u, &x[k], 8);
		h = h * 31 + u;
	}
	return h;
}

static uint64_t carries(uint64_t n)
{
	static uint64_t x[64], y[64];
	uint64_t h = 0;

	memset(x, 0, sizeof(x));
	for (int i = 0; i < 64; i++)
		y[i] = ~0ul - (uint64_t)i * 0x123456789abcdef;
	for (uint64_t k = 0; k < n / 64; k++)
		asm volatile("mov $64, %%ecx; mov %0, %%rdi; mov %1, %%rsi; clc\n"
			     "1: mov (%%rsi), %%rax; adc %%rax, (%%rdi)\n"
			     "lea 8(%%rsi), %%rsi; lea 8(%%rdi), %%rdi\n"
			     "dec %%ecx; jnz 1b"
			     : : "r"(x), "r"(y)
			     : "rax", "rcx", "rsi", "rdi", "memory", "cc");
	for (int i = 0; i < 64; i++)
		h = h * 31 + x[i];
	return h;
}

static volatile double in_handler;

static void on_storm(int sig, siginfo_t *si, void *uc)
{
	in_handler = in_handler * 0.5 + 3.25; /* vectors of its own */
	count++;
}

static void storm(void)
{
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
	uint64_t a = integers(1000000), b = vectors(200000), c = carries(1000000);
	int rounds = 0;

	handle(SIGALRM, on_storm, SA_RESTART);
	CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
	while (count < 400) {
		CHECK(integers(1000000) == a);
		CHECK(vectors(200000) == b);
		CHECK(carries(1000000) == c);
		rounds++;
	}
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
	printf("%lx %lx %lx\n", a, b, c);
}

static void on_skip(int sig, siginfo_t *si, void *uc)
{
	regs(uc)[REG_RIP] += 2; /* mov (%rax), %eax and ud2 are 2 bytes */
	regs(uc)[REG_RBX] += 5;
	count++;
}

/* A handler that changes registers and goes on behind the instruction. */
static void skip(void)
{
	uint64_t rbx = 0;

	map_counted();
	handle(SIGSEGV, on_skip, 0);
	handle(SIGILL, on_skip, 0);
	for (int i = 0; i < 1000; i++)
		asm volatile("xor %%eax, %%eax; incl (%1)\n"
			     "mov (%%rax), %%eax; incl (%1); ud2; incl (%1)"
			     : "+b"(rbx) : "r"(COUNTED)
			     : "rax", "cc", "memory");
	printf("%d, %lu\n", count, rbx);
}

static void on_trap(int sig, siginfo_t *si, void *uc)
{
	count += sig == SIGTRAP;
}

static void trap(void)
{
	uint64_t n = 0;

	handle(SIGTRAP, on_trap, 0);
	for (int i = 0; i < 500; i++)
		asm volatile("int3; inc %0" : "+r"(n));
	printf("%d traps, %lu\n", count, n);
}

static void eintr(void)
{
	struct itimerval every = { { 0, 3000 }, { 0, 3000 } }, never = { 0 };
	int p[2], interrupted = 0;
	char c;

	CHECK(pipe(p) == 0);
	handle(SIGALRM, on_count, 0);
	CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
	while (interrupted < 20)
		interrupted += read(p[0], &c, 1) < 0 && errno == EINTR;
	handle(SIGALRM, on_count, SA_RESTART);
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
	count = 0;
	if (fork() == 0) {
		for (int i = 0; i < 20; i++) {
			kill(getppid(), SIGALRM);
			pause_ms(2);
		}
		CHECK(write(p[1], "x", 1) == 1);
		_exit(0);
	}
	CHECK(read(p[0], &c, 1) == 1 && c == 'x');
	while (waitpid(-1, NULL, 0) < 0 && errno == EINTR)
		;
	printf("interrupted 20 times, then restarted: %s\n",
	       count > 0 ? "yes" : "no");
}

static void waiting(void)
{
	sigset_t all, old, none;
	struct timespec second = { 5, 0 };
	siginfo_t si;
	int n = 0;

	handle(SIGUSR1, on_count, 0);
	handle(SIGALRM, on_count, 0);
	sigfillset(&all);
	sigemptyset(&none);
	CHECK(sigprocmask(SIG_SETMASK, &all, &old) == 0);
	for (int i = 0; i < 200; i++) {
		raise(SIGUSR1);
		CHECK(count == i);
		CHECK(sigsuspend(&none) == -1 && errno == EINTR);
		CHECK(count == i + 1);
	}
	for (int i = 0; i < 200; i++) {
		raise(SIGUSR1);
		CHECK(ppoll(NULL, 0, &second, &none) == -1 && errno == EINTR);
	}
	for (int i = 0; i < 200; i++) {
		raise(SIGUSR2);
		n += sigwaitinfo(&all, &si) == SIGUSR2;
	}
	CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
	for (int i = 0; i < 3; i++) {
		alarm(1);
		pause();
		if (i == 0)
			break;
	}
	printf("%d handled, %d waited for\n", count, n);
}

static void *target(void *arg)
{
	while (!*(volatile int *)arg)
		integers(1000);
	return NULL;
}

static void to_threads(void)
{
	pthread_t t[2];
	volatile int stop = 0;

	handle(SIGUSR1, on_count, 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&t[i], NULL, target, (void *)&stop) == 0);
	for (int i = 0; i < 300; i++) {
		int before = count;

		CHECK(pthread_kill(t[i % 2], SIGUSR1) == 0);
		while (count == before)
			;
	}
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%d\n", count);
}

/* A mask that blocks all, over code that is still new to the translator. */
static void masked(void)
{
	sigset_t all, old;
	uint64_t h = 0;

	handle(SIGALRM, on_count, 0);
	sigfillset(&all);
	CHECK(sigprocmask(SIG_BLOCK, &all, &old) == 0);
	raise(SIGALRM);
	for (int i = 0; i < 100; i++) {
		char b[64];

		snprintf(b, sizeof(b), "%d %x %g", i, i, i / 7.0);
		for (char *p = b; *p; p++)
			h = h * 31 + (unsigned char)*p;
	}
	CHECK(count == 0);
	CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
	CHECK(count == 1);
	printf("%lx\n", h);
}

static void on_values(int sig, siginfo_t *si, void *uc)
{
	count += si->si_value.sival_int;
}

static void queued(void)
{
	union sigval v;

	handle(SIGRTMIN, on_values, 0);
	for (int i = 1; i <= 1000; i++) {
		v.sival_int = i;
		CHECK(sigqueue(getpid(), SIGRTMIN, v) == 0);
	}
	printf("%d\n", count);
}

static void on_once(int sig)
{
	count++;
}

static void actions(void)
{
	struct sigaction sa = { .sa_handler = on_once,
				.sa_flags = (int)SA_RESETHAND }, old;

	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	raise(SIGUSR1);
	CHECK(sigaction(SIGUSR1, NULL, &old) == 0);
	printf("%d, %s\n", count, old.sa_handler == SIG_DFL ? "default" : "?");
	sa.sa_flags = SA_NODEFER | SA_RESTART;
	sigaddset(&sa.sa_mask, SIGUSR2);
	CHECK(sigaction(SIGUSR2, &sa, NULL) == 0);
	CHECK(sigaction(SIGUSR2, NULL, &old) == 0);
	printf("%s %x %d\n", old.sa_handler == on_once ? "its handler" : "?",
	       old.sa_flags & ~0x4000000, sigismember(&old.sa_mask, SIGUSR2));
	CHECK(signal(SIGUSR2, SIG_IGN) == on_once);
	raise(SIGUSR2);
	fflush(stdout);
	/* Inherited by an exec, as /proc tells; 32 and 33 are the C library's. */
	if (fork() == 0) {
		execlp("sed", "sed", "-n", "s/^SigIgn:.*\\(.\\{7\\}\\)$/\\1/p",
		       "/proc/self/status", NULL);
		_exit(1);
	}
	wait(NULL);
}

static void on_context(int sig, siginfo_t *si, void *uc)
{
	ucontext_t *u = uc;
	struct _libc_fpstate *f = u->uc_mcontext.fpregs;
	uint32_t v;

	memcpy(&v, &f->_xmm[3], 4);
	seen.gpr[0] = v;
	v = 4711;
	memcpy(&f->_xmm[3], &v, 4);
	count++;
}

/* Vector registers in the handler's context are the program's, both ways. */
static void vector_context(void)
{
	uint32_t in = 1234, out = 0;

	handle(SIGTRAP, on_context, 0);
	asm volatile("movd %1, %%xmm3; int3; movd %%xmm3, %0"
		     : "=r"(out) : "r"(in) : "xmm3");
	printf("%lu %u %d\n", seen.gpr[0], out, count);
}

/* An operand at %gs, whose address takes registers to work out. */
static char *gs_page;

static void on_gs(int sig, siginfo_t *si, void *uc)
{
	count++;
	seen.addr = (uint64_t)si->si_addr - (uint64_t)gs_page;
	for (int i = 0; i < 16; i++)
		seen.gpr[i] = i == 0 ? 0 : (uint64_t)regs(uc)[i];
	mprotect(gs_page, 4096, PROT_READ | PROT_WRITE);
}

static void gs_fault(void)
{
	uint64_t v = 1, a = 0x1234, b = 0x5678, c = 0x9abc;

	gs_page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	CHECK(gs_page != MAP_FAILED);
	handle(SIGSEGV, on_gs, 0);
	CHECK(!syscall(SYS_arch_prctl, 0x1001, gs_page));	/* ARCH_SET_GS */
	for (int i = 0; i < 3; i++) {
		asm volatile("movq %%gs:16, %0"
			     : "=r"(v), "+a"(a), "+c"(b), "+d"(c) : : "memory");
		CHECK(!mprotect(gs_page, 4096, PROT_NONE));
	}
	printf("%d faults at %lu: %lu, %lx %lx %lx; %lx %lx\n", count, seen.addr, v,
	       a, b, c, seen.gpr[REG_RCX], seen.gpr[REG_RDX]);
}

static void by_segv(void)
{
	puts("about to die");
	fflush(stdout);
	asm volatile("movl $1, 16");
}

static void by_ill(void)
{
	__builtin_trap();
}

static void by_fpe(void)
{
	asm volatile("xor %%ecx, %%ecx; div %%ecx" : : : "rax", "rcx", "rdx");
}

static void by_int3(void)
{
	asm volatile("int3");
}

static const struct test_case cases[] = {
	{ "simple", simple },	{ "contexts", contexts },
	{ "write-barrier", write_barrier }, { "bus", bus },
	{ "longjmps", longjmps }, { "overflow", overflow },
	{ "nested", nested },	{ "storm", storm },
	{ "skip", skip },	{ "trap", trap },
	{ "eintr", eintr },	{ "waiting", waiting },
	{ "to-threads", to_threads }, { "masked", masked },
	{ "queued", queued },	{ "actions", actions },
	{ "vector-context", vector_context },
	{ "gs-fault", gs_fault },
	{ "by-segv", by_segv }, { "by-ill", by_ill },
	{ "by-fpe", by_fpe },	{ "by-int3", by_int3 },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}
