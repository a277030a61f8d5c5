/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that signals interrupt and that know nevertheless what they access: a
 * cell that is incremented says by its value how often that was done.
 *
 * usage: signal-counts NAME|--list; prints "ADDRESS LOADS STORES" of pages, hexadecimal and
 * decimal, that tests/exact/signals compares with the counts. "STORES+": one more
 * may be, what was about to be done when all ended.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/ucontext.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
#define REGION 0x140000000000ul		/* pages of ours, one by one */
#define HANDLER (REGION + (1ul << 30))	/* what handlers increment */
#define STACK (REGION + (2ul << 30))
#define SIGNALED 400			/* by the timer */

static volatile sig_atomic_t seen;

static void increment(uint64_t address)
{
	__asm__ volatile("incq (%0)" : : "r"(address) : "memory", "cc");
}

static void *map(uint64_t address, size_t pages, int prot)
{
	void *p = mmap((void *)address, pages * PAGE, prot,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return p;
}

static void say(uint64_t address, uint64_t loads, uint64_t stores)
{
	printf("%lx %lu %lu\n", address, loads, stores);
}

/* What a cell says of its page; reading it is one load more. */
static void say_cell(uint64_t address)
{
	uint64_t n = *(volatile uint64_t *)address;

	say(address & -PAGE, n + 1, n);
}

static void on(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction a = { .sa_sigaction = handler,
			       .sa_flags = SA_SIGINFO | flags };

	sigaction(sig, &a, NULL);
}

static void timer(int us)
{
	struct itimerval t = { { 0, us }, { 0, us } };

	setitimer(ITIMER_REAL, &t, NULL);
}

static void counts(int sig, siginfo_t *info, void *uc)
{
	seen++;
	increment(HANDLER);
}

static void begin_storm(int flags)
{
	map(HANDLER, 1, PROT_READ | PROT_WRITE);
	on(SIGALRM, counts, flags);
	timer(700);
}

static void end_storm(void)
{
	timer(0);
	say_cell(HANDLER);
}

/* One cell, in the shortest loop. */
static void do_loop(void)
{
	map(REGION, 1, PROT_READ | PROT_WRITE);
	begin_storm(0);
	while (seen < SIGNALED)
		__asm__ volatile("mov $100000, %%ecx\n"
				 "1: incq (%0)\n dec %%ecx\n jnz 1b"
				 : : "r"(REGION) : "rcx", "memory", "cc");
	end_storm();
	say_cell(REGION);
}

/* Loads and stores of several pages by one register, the last by itself. */
static void do_block(void)
{
	uint64_t n = 0;

	map(REGION, 4, PROT_READ | PROT_WRITE);
	begin_storm(0);
	while (seen < SIGNALED) {
		__asm__ volatile("mov $20000, %%ecx\n"
				 "1: mov 8(%0), %%rax\n"
				 "mov 16(%0), %%rdx\n"
				 "add %%rax, %%rdx\n"
				 "mov %%rdx, 4096(%0)\n"
				 "mov %%rdx, 4104(%0)\n"
				 "mov 4112(%0), %%rax\n"
				 "cmp %%rax, 8192(%0)\n"
				 "lea 12288(%0), %%rax\n"
				 "xchg %%rdx, 24(%%rax)\n"
				 "dec %%ecx\n jnz 1b"
				 : : "r"(REGION) : "rax", "rcx", "rdx", "memory", "cc");
		n += 20000;
	}
	end_storm();
	say(REGION, 2 * n, 0);
	say(REGION + PAGE, n, 2 * n);
	say(REGION + 2 * PAGE, n, 0);
	say(REGION + 3 * PAGE, n, n);
}

/* An array from end to end: what is counted for all of a loop at once. */
static void do_affine(void)
{
	uint64_t n = 0;

	map(REGION, 16, PROT_READ | PROT_WRITE);
	begin_storm(0);
	while (seen < SIGNALED) {
		__asm__ volatile("xor %%ecx, %%ecx\n"
				 "1: mov (%0,%%rcx,8), %%rax\n"
				 "add $1, %%rax\n"
				 "mov %%rax, 32768(%0,%%rcx,8)\n"
				 "inc %%rcx\n cmp $4096, %%rcx\n jb 1b"
				 : : "r"(REGION) : "rax", "rcx", "memory", "cc");
		n++;
	}
	end_storm();
	for (int i = 0; i < 16; i++)
		say(REGION + (uint64_t)i * PAGE, i < 8 ? 512 * n : 0,
		    i < 8 ? 0 : 512 * n);
}

/* The compiler's own idea of the same, with vectors. */
static void do_vector(void)
{
	double *a = map(REGION, 8, PROT_READ | PROT_WRITE);
	uint64_t n = 0;

	begin_storm(0);
	while (seen < SIGNALED) {
		__asm__ volatile("xor %%ecx, %%ecx\n"
				 "1: movups (%0,%%rcx), %%xmm0\n"
				 "addps %%xmm0, %%xmm0\n"
				 "movups %%xmm0, 16384(%0,%%rcx)\n"
				 "add $16, %%rcx\n cmp $16384, %%rcx\n jne 1b"
				 : : "r"(a) : "xmm0", "rcx", "memory", "cc");
		n++;
	}
	end_storm();
	for (int i = 0; i < 8; i++)
		say(REGION + (uint64_t)i * PAGE, i < 4 ? 256 * n : 0,
		    i < 4 ? 0 : 256 * n);
}

static void do_strings(void)
{
	uint64_t n = 0;

	map(REGION, 64, PROT_READ | PROT_WRITE);
	begin_storm(0);
	while (seen < SIGNALED) {
		uint64_t si = REGION, di = REGION + 16 * PAGE, c = 16 * PAGE;

		__asm__ volatile("rep movsb"
				 : "+S"(si), "+D"(di), "+c"(c) : : "memory");
		di = REGION + 32 * PAGE;
		c = 2 * PAGE;
		__asm__ volatile("rep stosq"
				 : "+D"(di), "+c"(c) : "a"(0) : "memory");
		di = REGION + 48 * PAGE;
		si = REGION;
		c = 8 * PAGE;
		__asm__ volatile("repe cmpsb"
				 : "+S"(si), "+D"(di), "+c"(c) : : "memory", "cc");
		di = REGION + 56 * PAGE;
		c = 8 * PAGE;
		__asm__ volatile("repne scasb"
				 : "+D"(di), "+c"(c) : "a"(1) : "memory", "cc");
		si = REGION + 15 * PAGE - 8;
		c = PAGE / 8;
		/* Downwards. */
		__asm__ volatile("std\n rep lodsq\n cld"
				 : "+S"(si), "+c"(c) : : "rax", "memory", "cc");
		n++;
	}
	end_storm();
	for (uint64_t i = 0; i < 64; i++)
		say(REGION + i * PAGE,
		    n * (i < 16 ? PAGE + (i < 8 ? PAGE : i == 14 ? 512 : 0) :
			 i < 48 ? 0 : PAGE),
		    n * (i < 16 ? 0 : i < 32 ? PAGE : i < 48 ? 512 : 0));
}

/* Calls and pushes on a stack of its own; the handlers have theirs. */
static void do_stack(void)
{
	static char alternate[1 << 16];
	stack_t s = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	uint64_t n = 0;

	map(STACK, 2, PROT_READ | PROT_WRITE);
	sigaltstack(&s, NULL);
	begin_storm(SA_ONSTACK);
	while (seen < SIGNALED) {
		__asm__ volatile("mov %%rsp, %%rbx\n lea 4096(%0), %%rsp\n"
				 "mov $20000, %%ecx\n"
				 "1: call 2f\n dec %%ecx\n jnz 1b\n jmp 3f\n"
				 "2: push %%rcx\n push $7\n call 4f\n"
				 "pop %%rax\n pop %%rcx\n ret\n"
				 "4: lea 5f(%%rip), %%rax\n jmp *%%rax\n"
				 "5: ret $0\n"
				 "3: mov %%rbx, %%rsp"
				 : : "r"(STACK) : "rax", "rbx", "rcx", "memory", "cc");
		n += 20000;
	}
	end_storm();
	say(STACK, 4 * n, 4 * n);
}

/* Out of the handler by a jump, in the midst of whatever. */
static sigjmp_buf jump;

static void jumps(int sig, siginfo_t *info, void *uc)
{
	seen++;
	increment(HANDLER);
	siglongjmp(jump, 1);
}

static void do_jump(void)
{
	map(REGION, 3, PROT_READ | PROT_WRITE);
	map(HANDLER, 1, PROT_READ | PROT_WRITE);
	on(SIGALRM, jumps, 0);
	if (!sigsetjmp(jump, 1))
		timer(700);
	while (seen < SIGNALED)
		__asm__ volatile("mov $100000, %%ecx\n"
				 "1: incq (%0)\n incq 4096(%0)\n incq 8192(%0)\n"
				 "dec %%ecx\n jnz 1b"
				 : : "r"(REGION) : "rcx", "memory", "cc");
	timer(0);
	say_cell(HANDLER);
	for (int i = 0; i < 3; i++)
		say_cell(REGION + (uint64_t)i * PAGE);
}

/* --- faults ---------------------------------------------------------------------- */

/* Each page is opened when it is accessed: then it is done again, counted once. */
static void opens(int sig, siginfo_t *info, void *uc)
{
	seen++;
	mprotect((void *)((uint64_t)info->si_addr & -PAGE), PAGE,
		 PROT_READ | PROT_WRITE);
}

static void do_opened(void)
{
	map(REGION, 64, PROT_NONE);
	on(SIGSEGV, opens, 0);
	for (uint64_t i = 0; i < 16; i++)
		__asm__ volatile("mov (%0), %%rax\n"
				 "mov %%rax, 8(%0)\n"
				 "mov %%rax, 4096(%0)\n"
				 "addq $1, 8192(%0)\n"
				 "push 12288(%0)\n"
				 "pop 12296(%0)\n"
				 : : "r"(REGION + 4 * i * PAGE)
				 : "rax", "memory", "cc");
	for (uint64_t i = 0; i < 64; i++)
		say(REGION + i * PAGE, i % 4 != 1, 1);
	if (seen != 64)
		printf("%d faults\n", seen);
}

/* A long loop whose addresses are affine comes to closed pages. */
static void do_opened_loop(void)
{
	uint64_t i = 0;

	map(REGION, 32, PROT_NONE);
	on(SIGSEGV, opens, 0);
	__asm__ volatile("1: mov (%1, %0), %%rax\n"
			 "mov %%rax, (%2, %0)\n"
			 "addq $1, 8(%2, %0)\n"
			 "add $64, %0\n"
			 "cmp %3, %0\n"
			 "jne 1b"
			 : "+r"(i)
			 : "r"(REGION), "r"(REGION + 16 * PAGE), "r"(16 * PAGE)
			 : "rax", "memory", "cc");
	for (uint64_t k = 0; k < 32; k++)
		say(REGION + k * PAGE, PAGE / 64, k < 16 ? 0 : 2 * PAGE / 64);
	if (seen != 32)
		printf("%d faults\n", seen);
}

/* A string that runs into closed pages, and one that ends in them. */
static void do_opened_strings(void)
{
	uint64_t si = REGION, di = REGION + 16 * PAGE, c = 16 * PAGE;

	map(REGION, 64, PROT_NONE);
	on(SIGSEGV, opens, 0);
	__asm__ volatile("rep movsb" : "+S"(si), "+D"(di), "+c"(c) : : "memory");
	di = REGION + 32 * PAGE;
	c = 8 * PAGE / 4;
	__asm__ volatile("rep stosl" : "+D"(di), "+c"(c) : "a"(0) : "memory");
	si = REGION + 40 * PAGE;
	di = REGION + 48 * PAGE;
	c = 8 * PAGE / 2;
	__asm__ volatile("repe cmpsw"
			 : "+S"(si), "+D"(di), "+c"(c) : : "memory", "cc");
	di = REGION + 56 * PAGE;
	c = 8 * PAGE;
	__asm__ volatile("repne scasb"
			 : "+D"(di), "+c"(c) : "a"(1) : "memory", "cc");
	for (uint64_t i = 0; i < 64; i++)
		say(REGION + i * PAGE,
		    i < 16 ? PAGE : i < 40 ? 0 : i < 56 ? PAGE / 2 : PAGE,
		    i < 16 ? 0 : i < 32 ? PAGE : i < 40 ? PAGE / 4 : 0);
	if (seen != 64)
		printf("%d faults\n", seen);
}

/* The faulting access is left out: it never was. */
static int length;

static void skips(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	seen++;
	uc->uc_mcontext.gregs[REG_RIP] += length;
}

static void do_skipped(void)
{
	map(REGION, 1, PROT_READ | PROT_WRITE);
	map(REGION + PAGE, 1, PROT_NONE);
	on(SIGSEGV, skips, 0);
	on(SIGFPE, skips, 0);
	length = 7;
	for (int i = 0; i < 1000; i++)
		__asm__ volatile("mov (%0), %%rax\n"
				 ".byte 0x48, 0x89, 0x87\n .long 4096\n"
				 "mov %%rax, 8(%0)\n"
				 : : "D"(REGION) : "rax", "memory");
	length = 3;
	for (int i = 0; i < 1000; i++)
		__asm__ volatile("xor %%edx, %%edx\n mov $1, %%eax\n"
				 ".byte 0x48, 0xf7, 0x37\n"	/* div (%rdi) */
				 : : "D"(REGION + 64) : "rax", "rdx", "memory", "cc");
	/* The division was not done, though its operand may have been read. */
	say(REGION, 1000, 1000);
	say(REGION + PAGE, 0, 0);
	if (seen != 2000)
		printf("%d faults\n", seen);
}

/*
 * All registers have their values at a fault, those too that are only overwritten
 * behind it; what the handler changes holds, the base of later accesses as well. The
 * first times, and when the code has become precise.
 */
#define CHANGES 200

static void changes(int sig, siginfo_t *info, void *context)
{
	static const int8_t order[] = { REG_RAX, REG_RCX, REG_RBX, REG_R10,
					REG_R11, REG_R12, REG_R13, REG_R14,
					REG_R15 };
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	int second = seen++ % 2;

	for (unsigned int i = 0; i < sizeof(order); i++)
		if (r[order[i]] != 0x1111ll * (i + 1))
			printf("fault %d: register %d is %llx\n", seen,
			       order[i], r[order[i]]);
	if (r[REG_R8] != (second ? 0 : 0xaaaa) || r[REG_R9] != 0xbbbb ||
	    r[REG_RDX] != (second ? seen - 1 : 0xcccc))
		printf("fault %d: %llx %llx %llx\n", seen, r[REG_R8], r[REG_R9],
		       r[REG_RDX]);
	r[REG_RDI] += second ? -(greg_t)PAGE : (greg_t)PAGE;
	r[second ? REG_R9 : REG_RDX] = seen;
	r[REG_RIP] += 3;
}

static void do_changed(void)
{
	map(REGION, 2, PROT_READ | PROT_WRITE);
	map(REGION + 2 * PAGE, 1, PROT_NONE);
	on(SIGSEGV, changes, 0);
	for (int i = 0; i < CHANGES; i++)
		__asm__ volatile("mov $0x1111, %%eax\n mov $0x2222, %%ecx\n"
				 "mov $0x3333, %%ebx\n mov $0x4444, %%r10d\n"
				 "mov $0x5555, %%r11d\n mov $0x6666, %%r12d\n"
				 "mov $0x7777, %%r13d\n mov $0x8888, %%r14d\n"
				 "mov $0x9999, %%r15d\n mov $0xaaaa, %%r8d\n"
				 "mov $0xbbbb, %%r9d\n mov $0xcccc, %%edx\n"
				 "mov %%rax, (%%rdi)\n"
				 "mov (%%rsi), %%rdx\n"	/* to page 1 */
				 "mov %%rdx, 8(%%rdi)\n"
				 "mov %%rcx, 16(%%rdi)\n"
				 "mov 24(%%rdi), %%r8\n"
				 "mov (%%rsi), %%r9\n"	/* and back */
				 "mov %%r9, 32(%%rdi)\n"
				 "addq $1, 40(%%rdi)\n"
				 "xor %%eax, %%eax\n xor %%ecx, %%ecx\n"
				 "xor %%ebx, %%ebx\n xor %%r10d, %%r10d\n"
				 "xor %%r11d, %%r11d\n xor %%r12d, %%r12d\n"
				 "xor %%r13d, %%r13d\n xor %%r14d, %%r14d\n"
				 "xor %%r15d, %%r15d\n xor %%edx, %%edx\n"
				 : : "D"(REGION), "S"(REGION + 2 * PAGE)
				 : "rax", "rcx", "rdx", "rbx", "r8", "r9", "r10",
				   "r11", "r12", "r13", "r14", "r15", "memory",
				   "cc");
	say(REGION, CHANGES, 3 * CHANGES);
	say(REGION + PAGE, CHANGES, 2 * CHANGES);
	if (seen != 2 * CHANGES)
		printf("%d faults\n", seen);
}

/*
 * With AC set, as programs do that find out whether it can be: what is of ours must not
 * be the one that faults, and the program's own faults are as they would be.
 */
static void aligns(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	seen++;
	uc->uc_mcontext.gregs[REG_EFL] &= ~0x40000ll;
}

static void do_aligned(void)
{
	map(REGION, 4, PROT_READ | PROT_WRITE);
	begin_storm(0);
	while (seen < SIGNALED)
		__asm__ volatile("pushfq\n orl $0x40000, (%%rsp)\n popfq\n"
				 "mov $2000, %%ecx\n"
				 "1: incq (%0)\n dec %%ecx\n jnz 1b\n"
				 "pushfq\n andl $~0x40000, (%%rsp)\n popfq\n"
				 : : "r"(REGION) : "rcx", "memory", "cc");
	end_storm();
	say_cell(REGION);
	on(SIGBUS, aligns, 0);
	seen = 0;
	for (int i = 0; i < 100; i++)
		__asm__ volatile("pushfq\n orl $0x40000, (%%rsp)\n popfq\n"
				 "incl 1(%0)\n"
				 : : "r"(REGION + PAGE) : "memory", "cc");
	say(REGION + PAGE, 100, 100);
	if (seen != 100)
		printf("%d faults\n", seen);
}

/* --- threads ---------------------------------------------------------------------- */

#define THREADS 3
static volatile int done;
static pthread_t threads[THREADS];

static void *in_thread(void *arg)
{
	uint64_t cell = REGION + PAGE * (uint64_t)(uintptr_t)arg;

	while (!done)
		__asm__ volatile("mov $1000, %%ecx\n"
				 "1: incq (%0)\n dec %%ecx\n jnz 1b"
				 : : "r"(cell) : "rcx", "memory", "cc");
	return NULL;
}

static void by_thread(int sig, siginfo_t *info, void *uc)
{
	__asm__ volatile("lock incq (%0)" : : "r"(HANDLER) : "memory", "cc");
	__atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED);
}

static void do_threads(void)
{
	map(REGION, THREADS, PROT_READ | PROT_WRITE);
	map(HANDLER, 1, PROT_READ | PROT_WRITE);
	on(SIGUSR1, by_thread, 0);
	on(SIGALRM, by_thread, 0);
	timer(900);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, in_thread, (void *)i);
	for (int i = 0; seen < 2000; i++) {
		pthread_kill(threads[i % THREADS], SIGUSR1);
		if (i % 16 == 0)
			usleep(100);
	}
	done = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	timer(0);
	say_cell(HANDLER);
	for (uint64_t i = 0; i < THREADS; i++)
		say_cell(REGION + i * PAGE);
}

/* Handlers set while others' signals come; the handlers are set to nothing again. */
static void *sets(void *arg)
{
	while (!done) {
		on(SIGUSR2, by_thread, 0);
		on(SIGUSR1, by_thread, SA_NODEFER);
		signal(SIGUSR2, SIG_IGN);
	}
	return NULL;
}

static void do_setting(void)
{
	pthread_t t;

	map(HANDLER, 1, PROT_READ | PROT_WRITE);
	on(SIGUSR1, by_thread, 0);
	signal(SIGUSR2, SIG_IGN);
	pthread_create(&t, NULL, sets, NULL);
	for (int i = 0; i < 3000; i++) {
		pthread_kill(t, i % 2 ? SIGUSR1 : SIGUSR2);
		kill(getpid(), i % 2 ? SIGUSR2 : SIGUSR1);
		if (i % 32 == 0)
			usleep(100);
	}
	done = 1;
	pthread_join(t, NULL);
	say_cell(HANDLER);
}

#define WRITTEN (REGION + (3ul << 30))	/* by who is ended amid a loop */
#define SEEN (REGION + (4ul << 30))	/* the same pages, for who looks */
#define WRITTEN_PAGES 16ul

/* Numbers all words of WRITTEN, again and again: what is there tells how often. */
static void *write_on(void *arg)
{
	uint64_t n = 0;

	for (;;)
		__asm__ volatile("xor %%ecx, %%ecx\n"
				 "1: inc %0\n mov %0, (%1,%%rcx,8)\n"
				 "inc %%rcx\n cmp %2, %%rcx\n jne 1b"
				 : "+r"(n)
				 : "r"(WRITTEN), "r"(WRITTEN_PAGES * 512)
				 : "rcx", "memory", "cc");
	return NULL;
}

/* A child writes on, until end() does away with it; says what it has done. */
static void ended_by(void (*end)(void))
{
	size_t size = WRITTEN_PAGES * PAGE;
	int fd = memfd_create("written", 0);
	uint64_t n = 0, each;
	pid_t pid;

	if (fd < 0 || ftruncate(fd, (off_t)size) ||
	    mmap((void *)SEEN, size, PROT_READ, MAP_SHARED | MAP_FIXED, fd,
		 0) == MAP_FAILED ||
	    mmap((void *)WRITTEN, size, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		exit(1);
	pid = fork();
	if (!pid) {
		pthread_t t;

		if (!end)
			write_on(NULL);
		pthread_create(&t, NULL, write_on, NULL);
		usleep(30000);
		end();
		exit(1);
	}
	usleep(50000);
	if (!end)
		kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (size_t i = 0; i < WRITTEN_PAGES * 512; i++)
		if (((volatile uint64_t *)SEEN)[i] > n)
			n = ((volatile uint64_t *)SEEN)[i];
	each = n / (WRITTEN_PAGES * 512) * 512;
	n %= WRITTEN_PAGES * 512;
	for (uint64_t i = 0; i < WRITTEN_PAGES; i++)
		printf("%lx 0 %lu%s\n", WRITTEN + i * PAGE,
		       each + (n > 512 * i + 512 ? 512 :
			       n > 512 * i ? n - 512 * i : 0),
		       n / 512 == i ? "+" : "");
}

static void do_killed(void)
{
	ended_by(NULL);
}

static void exits(void)
{
	_exit(0);
}

static void do_exit_group(void)
{
	ended_by(exits);
}

static void executes(void)
{
	execl("/bin/true", "true", NULL);
}

static void do_exec(void)
{
	ended_by(executes);
}

static void kills_itself(void)
{
	kill(getpid(), SIGTERM);
}

static void do_terminated(void)
{
	ended_by(kills_itself);
}

/* A fault ends it where its pages end: by the kernel, as there is no handler. */
static void do_fault(void)
{
	map(REGION, 4, PROT_READ | PROT_WRITE);
	map(REGION + 4 * PAGE, 1, PROT_NONE);
	for (uint64_t i = 0; i < 4; i++)
		say(REGION + i * PAGE, 0, 512);
	printf("%lx 0 0+\n", REGION + 4 * PAGE);
	fflush(stdout);
	__asm__ volatile("mov %0, %%rdx\n"
			 "1: movq $1, (%%rdx)\n add $8, %%rdx\n"
			 "cmp %1, %%rdx\n jne 1b"
			 : : "r"(REGION), "r"(REGION + 8 * PAGE)
			 : "rdx", "memory", "cc");
}

static const struct {
	const char *name;
	void (*run)(void);
} table[] = {
	{ "loop", do_loop },
	{ "block", do_block },
	{ "affine", do_affine },
	{ "vector", do_vector },
	{ "strings", do_strings },
	{ "stack", do_stack },
	{ "siglongjmp", do_jump },
	{ "opened-pages", do_opened },
	{ "opened-loop", do_opened_loop },
	{ "opened-strings", do_opened_strings },
	{ "skipped", do_skipped },
	{ "changed", do_changed },
	{ "alignment-check", do_aligned },
	{ "threads", do_threads },
	{ "setting-handlers", do_setting },
	{ "killed", do_killed },
	{ "exit-group", do_exit_group },
	{ "exec-by-another", do_exec },
	{ "terminated", do_terminated },
	{ "fault", do_fault },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (argc > 1 && !strcmp(argv[1], "--list"))
			puts(table[i].name);
		else if (argc > 1 && !strcmp(argv[1], table[i].name))
			table[i].run();
	return 0;
}
