/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that comes, changes and goes; contexts that jump; processes and threads
 * made in every way: what a translator must follow.
 */
#include "tests/programs/case.h"

#include <asm/prctl.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

extern char **environ;

/* mov eax, value; ret */
static void write_constant(uint8_t *p, uint32_t value)
{
	p[0] = 0xb8;
	memcpy(p + 1, &value, 4);
	p[5] = 0xc3;
}

static uint32_t run(const void *p)
{
	uint32_t (*f)(void);

	memcpy(&f, &p, sizeof(f));
	return f();
}

static void jit(void)
{
	uint8_t *p = map_pages(1);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 3000; i++) {
		CHECK(mprotect(p, PAGE, RW) == 0);
		write_constant(p + i % 64 * 16, i);
		CHECK(mprotect(p, PAGE, PROT_READ | PROT_EXEC) == 0);
		sum += run(p + i % 64 * 16);
		sum += run(p + i % 64 * 16);
	}
	printf("%lu\n", sum);
}

/* Unmapped and mapped anew at the same place, with other code. */
static void remapped(void)
{
	uint8_t *p = map_pages(1);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 2000; i++) {
		CHECK(munmap(p, PAGE) == 0);
		CHECK(mmap(p, PAGE, RW, ANON | MAP_FIXED, -1, 0) == p);
		write_constant(p, i);
		CHECK(mprotect(p, PAGE, PROT_READ | PROT_EXEC) == 0);
		sum += run(p);
	}
	printf("%lu\n", sum);
}

/*
 * Functions whose addresses have the same low 16 bits, some of which are rewritten
 * while others are called: with so many, and with so few.
 */
static void crowd(size_t functions)
{
	const size_t apart = 65536;
	uint64_t sum = 0, random = 1;
	uint8_t *all;

	all = mmap(NULL, functions * apart, PROT_NONE, ANON | MAP_NORESERVE, -1,
		   0);
	CHECK(all != MAP_FAILED);
	for (uint32_t i = 0; i < 20000; i++) {
		uint8_t *p;

		random = random * 6364136223846793005 + 1442695040888963407;
		p = all + (random >> 33) % functions * apart;
		if (i < functions)
			p = all + i * apart;
		if (i < functions || i % 16 == 0) {
			CHECK(mprotect(p, PAGE, RW) == 0);
			write_constant(p, i);
			CHECK(mprotect(p, PAGE, PROT_READ | PROT_EXEC) == 0);
		}
		sum = sum * 3 + run(p);
	}
	printf("%lu\n", sum);
	CHECK(munmap(all, functions * apart) == 0);
}

static void crowded(void)
{
	crowd(2);
	crowd(5);
	crowd(200);
}

/* One memfd mapped twice: written here, run there. */
static void two_mappings(void)
{
	int fd = memfd_create("code", 0);
	uint8_t *w, *x;
	uint64_t sum = 0;

	CHECK(fd >= 0 && ftruncate(fd, PAGE) == 0);
	w = mmap(NULL, PAGE, RW, MAP_SHARED, fd, 0);
	x = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	CHECK(w != MAP_FAILED && x != MAP_FAILED);
	for (uint32_t i = 0; i < 1000; i++) {
		write_constant(w, i);
		sum += run(x);
	}
	printf("%lu\n", sum);
}

/* Writable and executable at once: rewritten in place. */
static void self_modifying(void)
{
	uint8_t *p = mmap(NULL, PAGE, RW | PROT_EXEC, ANON, -1, 0);
	uint64_t sum = 0;

	CHECK(p != MAP_FAILED);
	for (uint32_t i = 0; i < 2000; i++) {
		write_constant(p, i);
		sum += run(p);
	}
	/* code and data that it writes on one page: a counter beside it */
	p[64] = 0xff, p[65] = 0x05; /* inc dword [rip+26]; ret */
	memcpy(p + 66, &(uint32_t){ 26 }, 4);
	p[70] = 0xc3;
	for (int i = 0; i < 2000; i++)
		run(p + 64);
	printf("%lu %u\n", sum, *(uint32_t *)(p + 96));
}

/*
 * Pages of one function have other rights, as who patches one page leaves them: an
 * instruction begins in one mapping and ends in the next.
 */
static void straddling(void)
{
	static const int rights[][2] = {
		{ PROT_READ | PROT_EXEC, RW | PROT_EXEC },
		{ RW | PROT_EXEC, PROT_READ | PROT_EXEC },
	};
	uint64_t sum = 0;

	for (int k = 0; k < 2; k++) {
		uint8_t *p = map_pages(2), *f = p + PAGE - 3;

		for (uint32_t i = 0; i < 500; i++) {
			CHECK(mprotect(p, 2 * PAGE, RW) == 0);
			f[-1] = 0x90;
			write_constant(f, i);
			CHECK(mprotect(p, PAGE, rights[k][0]) == 0);
			CHECK(mprotect(p + PAGE, PAGE, rights[k][1]) == 0);
			sum += run(f) + run(f - 1);
			if (!(rights[k][1] & PROT_WRITE))
				continue;
			f[4] = 7;	/* the highest byte of its constant */
			sum += run(f) + run(f - 1);
		}
	}
	printf("%lu\n", sum);
}

/* op, with a rip-relative operand at `to`. Returns the place behind it. */
static uint8_t *with_far(uint8_t *p, const uint8_t *op, size_t n, const uint8_t *to)
{
	int32_t disp = (int32_t)(to - (p + n + 4));

	memcpy(p, op, n);
	memcpy(p + n, &disp, 4);
	return p + n + 4;
}

/*
 * Operands nearly 2 GiB below and above their instruction: no place is near both.
 * What the two jumps pass over is data, which looks like such instructions.
 */
static void far_operands(void)
{
	const long distance = 0x7ff00000;
	uint8_t *low = (uint8_t *)0x50000000, *code = low + distance;
	uint8_t *high = code + distance, *p = code;
	uint64_t sum = 0;

	CHECK(mmap(low, PAGE, RW, ANON | MAP_FIXED, -1, 0) == low);
	CHECK(mmap(code, PAGE, RW, ANON | MAP_FIXED, -1, 0) == code);
	CHECK(mmap(high, PAGE, RW, ANON | MAP_FIXED, -1, 0) == high);
	memcpy(p, "\x31\xc9\x74\x06", 4);	/* xor %ecx, %ecx; je over */
	p = with_far(p + 4, (const uint8_t *)"\xff\x25", 2, high + 64);
	memcpy(p, "\x74\x06", 2);
	p = with_far(p + 2, (const uint8_t *)"\x8b\x05", 2, low - 64);
	p = with_far(p, (const uint8_t *)"\xff\x05", 2, low);	/* incl */
	p = with_far(p, (const uint8_t *)"\x8b\x05", 2, high); /* mov, %eax */
	p = with_far(p, (const uint8_t *)"\x48\x8d\x15", 3, high);
	p = with_far(p, (const uint8_t *)"\xff\x02\xff\x15", 4, high + 8);
	*p++ = 0xc3;		/* incl (%rdx); call *; ret */
	memcpy(high + 8, &p, sizeof(p));
	*p = 0xc3;
	CHECK(mprotect(code, PAGE, PROT_READ | PROT_EXEC) == 0);
	*(volatile int *)low = 7;
	for (int i = 0; i < 1000; i++)
		sum += run(code);
	printf("%lu %d %d\n", sum, *(volatile int *)low, *(int *)high);
}

/* Read from a file into memory that becomes code: read() writes it. */
static void read_code(void)
{
	uint8_t *p = mmap(NULL, PAGE, RW | PROT_EXEC, ANON, -1, 0), code[6];
	int fd = memfd_create("code", 0);
	uint64_t sum = 0;

	CHECK(p != MAP_FAILED && fd >= 0);
	for (uint32_t i = 0; i < 500; i++) {
		write_constant(code, i * 3);
		CHECK(pwrite(fd, code, 6, 0) == 6);
		CHECK(pread(fd, p, 6, 0) == 6);
		sum += run(p);
	}
	printf("%lu\n", sum);
}

static void *compiler(void *arg)
{
	uint8_t *p = map_pages(1);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 500; i++) {
		CHECK(mprotect(p, PAGE, RW) == 0);
		write_constant(p, i);
		CHECK(mprotect(p, PAGE, PROT_READ | PROT_EXEC) == 0);
		sum += run(p);
	}
	munmap(p, PAGE);
	return (void *)sum;
}

static void jit_threads(void)
{
	pthread_t t[4];
	uint64_t sum = 0;
	void *r;

	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&t[i], NULL, compiler, NULL) == 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &r);
		sum += (uint64_t)r;
	}
	printf("%lu\n", sum);
}

static jmp_buf env;

__attribute__((noinline)) static void down(int n)
{
	volatile char frame[100];

	frame[n % 100] = (char)n;
	if (n == 0)
		longjmp(env, 1);
	if (n > 0)
		down(n - 1);
	frame[0]++;
}

static void longjmps(void)
{
	volatile uint64_t n = 0;

	for (volatile int i = 0; i < 100000; i++)
		if (!setjmp(env))
			down(i % 30);
		else
			n += i;
	printf("%lu\n", n);
}

static ucontext_t main_context, coroutines[3];
static uint64_t order;

static void coroutine(int which)
{
	for (;;) {
		order = order * 31 + (uint64_t)which;
		swapcontext(&coroutines[which], &main_context);
	}
}

static void contexts(void)
{
	static char stacks[3][65536];

	for (int i = 0; i < 3; i++) {
		CHECK(getcontext(&coroutines[i]) == 0);
		coroutines[i].uc_stack.ss_sp = stacks[i];
		coroutines[i].uc_stack.ss_size = sizeof(stacks[i]);
		makecontext(&coroutines[i], (void (*)(void))coroutine, 1, i);
	}
	for (int i = 0; i < 30000; i++)
		swapcontext(&main_context, &coroutines[i * 7 % 3]);
	printf("%lx\n", order);
}

static void *short_thread(void *arg)
{
	return (void *)((uint64_t)arg * 3);
}

static void churn(void)
{
	uint64_t sum = 0;
	pthread_t t;
	void *r;

	for (uint64_t i = 0; i < 10000; i++) {
		CHECK(pthread_create(&t, NULL, short_thread, (void *)i) == 0);
		pthread_join(t, &r);
		sum += (uint64_t)r;
	}
	printf("%lu\n", sum);
}

static pthread_barrier_t gate;

static void *waiter(void *arg)
{
	pthread_barrier_wait(&gate);
	return arg;
}

static void thousand(void)
{
	static pthread_t t[1000];
	pthread_attr_t a;
	uint64_t sum = 0;
	void *r;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	pthread_barrier_init(&gate, NULL, 1001);
	for (uint64_t i = 0; i < 1000; i++)
		CHECK(pthread_create(&t[i], &a, waiter, (void *)i) == 0);
	pthread_barrier_wait(&gate);
	for (int i = 0; i < 1000; i++) {
		pthread_join(t[i], &r);
		sum += (uint64_t)r;
	}
	printf("%lu\n", sum);
}

static int child_function(void *arg)
{
	*(volatile int *)arg += 5;
	return 7;
}

static void clone_vfork(void)
{
	static char stack[65536];
	volatile int v = 0, n = 0;
	int status;

	for (int i = 0; i < 200; i++) {
		int pid = clone(child_function, stack + sizeof(stack),
				CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)&v);

		CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
		n += WEXITSTATUS(status);
	}
	for (int i = 0; i < 100; i++) {
		int pid = vfork();

		if (pid == 0) {
			v++;
			_exit(3);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		n += WEXITSTATUS(status);
	}
	printf("%d %d\n", v, n);
}

static void spawn(void)
{
	char *argv[] = { "sh", "-c", "exit 9", NULL };
	int status, n = 0, pid;
	char line[64];
	FILE *f;

	for (int i = 0; i < 20; i++) {
		CHECK(posix_spawnp(&pid, "sh", NULL, NULL, argv, environ) == 0);
		CHECK(waitpid(pid, &status, 0) == pid);
		n += WEXITSTATUS(status);
	}
	f = popen("seq 5 | tac | tr '\\n' ' '", "r");
	CHECK(f && fgets(line, sizeof(line), f));
	printf("%d %s %d %d\n", n, line, pclose(f), system("exit 4"));
}

static void *spinner(void *arg)
{
	while (!*(volatile int *)arg)
		sched_yield();
	return NULL;
}

static void fork_threads(void)
{
	volatile int stop = 0;
	pthread_t t[3];
	int status, n = 0;

	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&t[i], NULL, spinner, (void *)&stop) == 0);
	for (int i = 0; i < 50; i++) {
		int pid = fork();

		if (pid == 0) {
			pthread_t u;
			void *r;

			CHECK(pthread_create(&u, NULL, short_thread,
					     (void *)2) == 0);
			pthread_join(u, &r);
			_exit((int)(uint64_t)r);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		n += WEXITSTATUS(status);
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("%d\n", n);
}

/* Another image again and again: argv[2] counts down. */
static void exec_chain(void)
{
	const char *left = getenv("LEFT");
	int n = left ? atoi(left) : 15;
	char text[16];

	if (n == 0) {
		puts("the last one");
		return;
	}
	snprintf(text, sizeof(text), "%d", n - 1);
	setenv("LEFT", text, 1);
	execl("/proc/self/exe", "life-code", "exec-chain", NULL);
	CHECK(!"exec");
}

static void libraries(void)
{
	double (*f)(double);
	double sum = 0;

	for (int i = 0; i < 1000; i++) {
		void *h = dlopen("libm.so.6", RTLD_NOW);
		void *s;

		CHECK(h);
		s = dlsym(h, "cbrt");
		CHECK(s);
		memcpy(&f, &s, sizeof(f));
		sum += f(i);
		dlclose(h);
	}
	printf("%.6f\n", sum);
}

/* %gs as the program's own, by arch_prctl and by wrgsbase; %fs too. */
static void segments(void)
{
	static uint64_t block[64];
	static uint8_t ones[16] __attribute__((aligned(16)));
	uint64_t v, base = 0, fs;
	uint64_t sum = 0;

	memset(ones, 0xff, sizeof(ones));
	for (int i = 0; i < 64; i++)
		block[i] = (uint64_t)i * 11;
	CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0 && base == 0);
	CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, block) == 0);
	CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0);
	CHECK(base == (uint64_t)block);
	for (uint64_t i = 0; i < 64; i++) {
		asm volatile("mov %%gs:(,%1,8), %0" : "=r"(v) : "r"(i));
		sum += v;
	}
	asm volatile("addq $5, %%gs:16; mov %%gs:16, %0" : "=r"(v) : : "memory");
	CHECK(block[2] == 27 && v == 27);
	/* Where the operand is not written out. */
	asm volatile("xlatb %%gs:(%%rbx)" : "=a"(v) : "a"(0ul), "b"(24ul));
	CHECK(v == 33);
	asm volatile("movdqa (%0), %%xmm0\n\t.byte 0x65\n\t"
		     "maskmovdqu %%xmm0, %%xmm0"
		     : : "r"(ones), "D"(32ul) : "xmm0", "memory");
	CHECK(block[4] == ~0ul && block[5] == ~0ul && block[6] == 66);
	CHECK(syscall(SYS_arch_prctl, ARCH_GET_FS, &fs) == 0);
	asm volatile("mov %%fs:0, %0" : "=r"(v));
	printf("%lu %s\n", sum, v == fs ? "fs" : "?");
}

static void segments_direct(void)
{
	static uint64_t block[8] = { 1, 2, 3, 4 };
	uint64_t v, w;

	asm volatile("wrgsbase %1; mov %%gs:8, %0" : "=r"(v) : "r"(block));
	asm volatile("rdgsbase %0" : "=r"(w));
	printf("%lu %s\n", v, w == (uint64_t)block ? "gs" : "?");
	asm volatile("rdfsbase %0" : "=r"(w));
	asm volatile("mov %%fs:0, %0" : "=r"(v));
	printf("%s\n", v == w ? "fs" : "?");
}

static void *leaver(void *arg)
{
	if (arg)
		pthread_exit(arg);
	syscall(SYS_exit, 0);
	return NULL;
}

static void leaving(void)
{
	pthread_t t;
	void *r;

	for (uint64_t i = 0; i < 50; i++) {
		CHECK(pthread_create(&t, NULL, leaver, (void *)(i + 1)) == 0);
		pthread_join(t, &r);
		CHECK((uint64_t)r == i + 1);
	}
	CHECK(pthread_create(&t, NULL, leaver, NULL) == 0);
	pthread_join(t, &r);
	puts("left");
}

static void *exiter(void *arg)
{
	puts("from a thread");
	fflush(stdout);
	exit(13);
}

static void exit_thread(void)
{
	pthread_t t;

	CHECK(pthread_create(&t, NULL, exiter, NULL) == 0);
	pause();
}

static void at_exit(void)
{
	puts("at exit");
}

static void exits(void)
{
	atexit(at_exit);
	puts("exits");
	exit(21);
}

static void exits_now(void)
{
	atexit(at_exit);
	_exit(22);
}

static void aborts(void)
{
	abort();
}

static void kills(void)
{
	puts("before");
	fflush(stdout);
	kill(getpid(), SIGKILL);
}

static const struct test_case cases[] = {
	{ "jit", jit },		{ "remapped", remapped },
	{ "crowded", crowded }, { "two-mappings", two_mappings },
	{ "self-modifying", self_modifying }, { "straddling", straddling },
	{ "far-operands", far_operands },
	{ "read-code", read_code },
	{ "jit-threads", jit_threads }, { "longjmps", longjmps },
	{ "contexts", contexts }, { "churn", churn },
	{ "thousand", thousand }, { "clone-vfork", clone_vfork },
	{ "spawn", spawn },	{ "fork-threads", fork_threads },
	{ "exec-chain", exec_chain }, { "libraries", libraries },
	{ "segments", segments }, { "segments-direct", segments_direct },
	{ "leaving", leaving },	{ "exit-thread", exit_thread },
	{ "exits", exits },	{ "exits-now", exits_now },
	{ "aborts", aborts },	{ "kills", kills },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}
