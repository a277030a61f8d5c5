/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cases of signal.c about what lies on stacks: frames, the alternate stack, and the
 * way back from handlers. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "signal-cases.h"

/* --- frames -------------------------------------------------------------------- */

#define PATTERN 0x1122334455667788ul

static void frame_handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *g = uc->uc_mcontext.gregs;
	const uint8_t *after = mode == NATIVE ? native_after : emulated_after;

	show(sig, info, context);
	out("  rip %lld rax %lld rbx %llx rbp? r12 %llx r13 %llx r14 %llx r15 %llx rdi %d cs %llx ss %llx\n",
	    g[REG_RIP] - (greg_t)after, g[REG_RAX], g[REG_RBX], g[REG_R12],
	    g[REG_R13], g[REG_R14], g[REG_R15],
	    g[REG_RDI] == getpid(), g[REG_CSGSFS] & 0xffff,
	    (g[REG_CSGSFS] >> 48) & 0xffff);
	out("  rcx is rip %d r11 is flags %d pid %d\n",
	    g[REG_RCX] == g[REG_RIP], (g[REG_R11] | 0x300) == (g[REG_EFL] | 0x300),
	    info->si_pid == getpid());
	g[REG_RBX] = 0x4242;
	g[REG_EFL] |= 1;
}

void do_frame(void)
{
	long (*f)(long, long, long, long, long, long, long) =
		mode == NATIVE ? sys_native : sys_emulated;
	uint64_t rbx, r12, r13, r14, r15, x, y;
	long pid = getpid(), carry;

	act(SIGUSR1, frame_handler, SA_SIGINFO, BIT(SIGUSR2));
	__asm__ volatile("mov $0x1111, %%rbx\n mov $0x2222, %%r12\n"
			 "mov $0x3333, %%r13\n mov $0x4444, %%r14\n"
			 "mov $0x5555, %%r15\n"
			 "movq %%r15, %%xmm15\n"
			 "mov $0x6666, %%eax\n movd %%eax, %%xmm3\n"
			 "push $0x1fa0\n ldmxcsr (%%rsp)\n pop %%rax\n"
			 "std\n"
			 "sub $136, %%rsp\n"
			 "movq $62, %%rdi\n mov %[pid], %%rsi\n"
			 "mov $10, %%edx\n"
			 "cld\n"
			 "call *%[f]\n"
			 "setc %%al\n movzbl %%al, %%eax\n"
			 "add $136, %%rsp\n"
			 "movq %%xmm15, %%rcx\n movq %%xmm3, %%rdx\n"
			 "push $0x1f80\n ldmxcsr (%%rsp)\n pop %%rsi\n"
			 "mov %%rbx, %%rsi\n mov %%r12, %%rdi\n"
			 : "=S"(rbx), "=D"(r12), "=c"(x), "=d"(y), "=&a"(carry)
			 : [f] "r"(f), [pid] "r"(pid)
			 : "rbx", "r12", "r13", "r14", "r15", "r8", "r9", "r10",
			   "r11", "memory", "xmm15", "xmm3");
	(void)r13, (void)r14, (void)r15;
	out("rbx %lx r12 %lx xmm15 %lx xmm3 %lx carry %ld mask %lx\n", rbx, r12,
	    x, y, carry, mask_now());
}

/* What is below the stack pointer is the program's. */
void do_red_zone(void)
{
	uint64_t bad = 0;
	struct itimerval t = { { 0, 500 }, { 0, 500 } };

	quiet = 1;
	act(SIGALRM, show, SA_SIGINFO, 0);
	sys(SYS_setitimer, ITIMER_REAL, &t, 0, 0, 0, 0);
	while (seen < 50)
		__asm__ volatile("lea -128(%%rsp), %%rdi\n mov %[p], %%rax\n"
				 "mov $16, %%ecx\n"
				 "1: mov %%rax, -8(%%rdi,%%rcx,8)\n"
				 "loop 1b\n"
				 "mov $2000, %%ecx\n 2: loop 2b\n"
				 "mov $16, %%ecx\n"
				 "3: cmp %%rax, -8(%%rdi,%%rcx,8)\n"
				 "je 4f\n inc %[bad]\n"
				 "4: loop 3b\n"
				 : [bad] "+r"(bad)
				 : [p] "r"(PATTERN)
				 : "rax", "rcx", "rdi", "memory", "cc");
	out("bad %lu %s\n", bad, steps());
}

/* A stack that has to grow for the frame. */
void do_growing(void)
{
	char *p = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	uint64_t top, seen_before = (uint64_t)seen;
	long (*f)(long, long, long, long, long, long, long) =
		mode == NATIVE ? sys_native : sys_emulated;
	char *s;

	munmap(p, 1 << 20);
	s = mmap(p + (1 << 20) - 4096, 4096, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1, 0);
	top = (uint64_t)s + 256;
	act(SIGUSR1, show, SA_SIGINFO, 0);
	__asm__ volatile("mov %%rsp, %%rbx\n mov %[top], %%rsp\n"
			 "push $0\n push $0\n"
			 "mov $62, %%edi\n mov %[pid], %%rsi\n mov $10, %%edx\n"
			 "call *%[f]\n mov %%rbx, %%rsp\n"
			 :
			 : [f] "r"(f), [top] "r"(top), [pid] "r"((long)getpid())
			 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9",
			   "r10", "r11", "memory", "cc");
	out("seen %d\n", seen - (int)seen_before);
}

static void no_stack(int altstack)
{
	long (*f)(long, long, long, long, long, long, long) =
		mode == NATIVE ? sys_native : sys_emulated;
	static char alt[32768];
	stack_t s = { .ss_sp = alt, .ss_size = sizeof(alt) };
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(p, 4096, PROT_NONE);
	act(SIGUSR1, show, SA_SIGINFO, 0);
	if (altstack) {
		sys(SYS_sigaltstack, &s, 0, 0, 0, 0, 0);
		act(SIGSEGV, show, SA_SIGINFO | SA_ONSTACK | SA_RESETHAND, 0);
	}
	__asm__ volatile("mov %[top], %%rsp\n"
			 "mov $62, %%edi\n mov %[pid], %%rsi\n mov $10, %%edx\n"
			 "call *%[f]\n ud2"
			 :
			 : [f] "r"(f), [top] "r"(p + 4096 + 512),
			   [pid] "r"((long)getpid())
			 : "memory");
}

void do_no_stack(void)
{
	no_stack(0);
}

void do_no_stack_alt(void)
{
	no_stack(1);
}

void do_no_restorer(void)
{
	struct act a = { show, SA_SIGINFO, NULL, 0 };

	sys(SYS_rt_sigaction, SIGUSR1, &a, 0, 8, 0, 0);
	raise_it(SIGUSR1);
}

/* --- the alternate stack ------------------------------------------------------- */

static char alternate[65536] __attribute__((aligned(64)));

static void show_stack(const char *what)
{
	stack_t s;
	long r = sys(SYS_sigaltstack, 0, &s, 0, 0, 0, 0);

	out("%s: %ld %d %x %zx\n", what, r, s.ss_sp == alternate, s.ss_flags,
	    s.ss_size);
}

static void on_stack(int sig, siginfo_t *info, void *uc)
{
	stack_t s = { .ss_sp = alternate, .ss_size = 4096 };
	char *here = __builtin_frame_address(0);

	show(sig, info, uc);
	show_stack("  inside");
	out("  on it %d change %ld depth %d\n",
	    here > alternate && here <= alternate + sizeof(alternate),
	    sys(SYS_sigaltstack, &s, 0, 0, 0, 0, 0), depth);
	if (!depth++)
		raise_it(SIGUSR2);
}

void do_altstack(void)
{
	stack_t s = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	long r[6];

	show_stack("none");
	s.ss_size = 2047;
	r[0] = sys(SYS_sigaltstack, &s, 0, 0, 0, 0, 0);
	s.ss_size = 65536;
	s.ss_flags = 4;
	r[1] = sys(SYS_sigaltstack, &s, 0, 0, 0, 0, 0);
	r[2] = sys(SYS_sigaltstack, 8, 0, 0, 0, 0, 0);
	s.ss_flags = 0;
	r[3] = sys(SYS_sigaltstack, &s, 8, 0, 0, 0, 0);
	show_stack("set");
	out("%ld %ld %ld %ld\n", r[0], r[1], r[2], r[3]);
	act(SIGUSR1, on_stack, SA_SIGINFO | SA_ONSTACK, 0);
	act(SIGUSR2, on_stack, SA_SIGINFO | SA_ONSTACK, 0);
	act(SIGHUP, on_stack, SA_SIGINFO, 0);
	raise_it(SIGUSR1);
	depth = 1;
	raise_it(SIGHUP);
	show_stack("after");
	s.ss_flags = (int)(1u << 31);
	sys(SYS_sigaltstack, &s, 0, 0, 0, 0, 0);
	show_stack("disarming");
	depth = 1;
	raise_it(SIGUSR1);
	show_stack("after");
	s.ss_flags = SS_DISABLE;
	sys(SYS_sigaltstack, &s, 0, 0, 0, 0, 0);
	show_stack("disabled");
	raise_it(SIGUSR1);
	sys(SYS_rt_sigprocmask, SIG_BLOCK, 0, 0, 8, 0, 0);
	/* Too small for a frame with AVX-512. */
	s.ss_flags = 0;
	s.ss_size = 2048;
	sys(SYS_sigaltstack, &s, 0, 0, 0, 0, 0);
	raise_it(SIGUSR1);
	out("not here, with large frames\n");
}

/* --- the way back ---------------------------------------------------------------- */

static void mask_on_return(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	*(unsigned long *)&uc->uc_sigmask = BIT(SIGHUP) | BIT(SIGKILL);
	uc->uc_mcontext.gregs[REG_RAX] = 1234;
	uc->uc_stack.ss_sp = alternate;
	uc->uc_stack.ss_size = 8192;
	uc->uc_stack.ss_flags = 0;
}

static void lost_state(int sig, siginfo_t *info, void *context)
{
	((ucontext_t *)context)->uc_mcontext.fpregs = NULL;
}

void do_return(void)
{
	long r;

	act(SIGUSR1, mask_on_return, SA_SIGINFO, 0);
	r = raise_it(SIGUSR1);
	out("%ld %lx\n", r, mask_now());
	show_stack("stack");
	act(SIGUSR1, lost_state, SA_SIGINFO, 0);
	r = raise_it(SIGUSR1);
	out("%ld\n", r);
}

static void bad_state(int sig, siginfo_t *info, void *context)
{
	((ucontext_t *)context)->uc_mcontext.fpregs = (void *)64;
}

void do_bad_state(void)
{
	act(SIGUSR1, bad_state, SA_SIGINFO, 0);
	raise_it(SIGUSR1);
	out("not here\n");
}

void do_bad_frame(void)
{
	__asm__ volatile("mov $64, %%rsp\n jmp *%0\n" : :
			 "r"(mode == NATIVE ? restorer_native :
					      restorer_emulated));
}

static void *jump[5];

static void jumps(int sig, siginfo_t *info, void *uc)
{
	seen++;
	set_mask(SIG_SETMASK, *(unsigned long *)&((ucontext_t *)uc)->uc_sigmask);
	__builtin_longjmp(jump, 1);
}

static void __attribute__((noinline)) jump_once(int fault)
{
	if (__builtin_setjmp(jump))
		return;
	if (fault)
		*at_8 = 1;
	else
		raise_it(SIGUSR1);
	out("not here\n");
}

void do_longjmp(void)
{
	act(SIGUSR1, jumps, SA_SIGINFO, 0);
	act(SIGSEGV, jumps, SA_SIGINFO, 0);
	for (int i = 0; i < 1000; i++)
		jump_once(i & 1);
	out("seen %d mask %lx\n", seen, mask_now());
}
