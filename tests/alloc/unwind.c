// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: unwind CASE [SEED]. Allocates at the end of all sorts of call stacks,
 * and says what glibc's backtrace() makes of each: "stack SIZE FRAME...", in
 * hexadecimal, without the innermost one, which differs.
 */
#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noipa))
#define FRAMES 16

static size_t number = 8192;
static unsigned seed;

static unsigned pick(unsigned n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

static void keep(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

NOINLINE void leaf(void);
NOINLINE void leaf(void)
{
	void *frames[FRAMES + 1];
	size_t size = number++;
	void *p = malloc(size);
	int i, n = backtrace(frames, FRAMES);

	keep(p);
	printf("stack %zu", size);
	for (i = 1; i < n; i++)
		printf(" %lx", (unsigned long)frames[i]);
	printf("\n");
	free(p);
}

NOINLINE void go(int depth);

NOINLINE static void plain(int depth)
{
	go(depth);
	__asm__ volatile("");
}

NOINLINE static void large(int depth)
{
	char room[1234];

	keep(room);
	go(depth);
	keep(room);
}

NOINLINE static void with_alloca(int depth)
{
	char *p = alloca(16 + pick(3) * 48);

	keep(p);
	go(depth);
	keep(p);
}

NOINLINE static void realigned(int depth)
{
	char room[64] __attribute__((aligned(64)));

	keep(room);
	go(depth);
	keep(room);
}

NOINLINE static void realigned_alloca(int depth)
{
	char room[64] __attribute__((aligned(64)));
	char *p = alloca(32 + pick(2) * 64);

	keep(room);
	keep(p);
	go(depth);
	keep(p);
}

__attribute__((optimize("no-omit-frame-pointer"))) NOINLINE static void
framed(int depth)
{
	go(depth);
	__asm__ volatile("");
}

__attribute__((optimize("O0"))) NOINLINE static void unoptimized(int depth)
{
	go(depth);
}

NOINLINE static void tail(int depth)
{
	go(depth);
}

NOINLINE static void many(int a, int b, int c, int d, int e, int f, int g,
			  int h, int depth)
{
	go(depth);
	__asm__ volatile("" : : "r"(a + b + c + d + e + f + g + h));
}

static int compare(const void *a, const void *b)
{
	const int *depth = a;

	if (*depth >= 0)
		go(*depth);
	return a < b;
}

/* By way of libc. */
static void sorted(int depth)
{
	int two[2] = { depth, -1 };

	qsort(two, 2, sizeof(two[0]), compare);
}

NOINLINE void go(int depth)
{
	if (depth <= 0) {
		leaf();
	} else {
		depth--;
		switch (pick(10)) {
		case 0: plain(depth); break;
		case 1: large(depth); break;
		case 2: with_alloca(depth); break;
		case 3: realigned(depth); break;
		case 4: realigned_alloca(depth); break;
		case 5: framed(depth); break;
		case 6: unoptimized(depth); break;
		case 7: tail(depth); break;
		case 8: many(1, 2, 3, 4, 5, 6, 7, 8, depth); break;
		default: sorted(depth);
		}
	}
	__asm__ volatile("");
}

/* Paths from few seeds, so that many come again. */
static void *walk_random(void *arg)
{
	unsigned i, first = seed;

	for (i = 0; i < 4000; i++) {
		seed = first + i * 7 % 400;
		go(pick(24));
	}
	return NULL;
}

static void in_thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, walk_random, NULL))
		exit(1);
	pthread_join(t, NULL);
}

static void handler(int sig)
{
	go(3);
}

static void interrupted(void)
{
	int i;

	signal(SIGUSR1, handler);
	for (i = 0; i < 200; i++) {
		seed = i % 40;
		raise(SIGUSR1);
	}
}

NOINLINE static void raise_below(int depth)
{
	if (depth)
		raise_below(depth - 1);
	else
		raise(SIGUSR1);
	__asm__ volatile("");
}

static void interrupted_elsewhere(void)
{
	static char stack[1 << 16];
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction sa = { .sa_handler = handler,
				.sa_flags = SA_ONSTACK };
	int i;

	sigaltstack(&ss, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	for (i = 0; i < 200; i++) {
		seed = i % 20;
		raise_below(i % 3);
	}
}

static ucontext_t back, there;

static void coroutine(void)
{
	int i;

	for (i = 0; i < 50; i++) {
		seed = i % 10;
		go(i % 5);
		swapcontext(&there, &back);
	}
}

static void coroutines(void)
{
	static size_t len = 256 << 10;
	static int i, j;

	for (j = 0; j < 4; j++) {
		char *stack = malloc(len);

		getcontext(&there);
		there.uc_stack.ss_sp = stack;
		there.uc_stack.ss_size = len;
		there.uc_link = &back;
		makecontext(&there, coroutine, 0);
		for (i = 0; i < 50; i++) {
			swapcontext(&back, &there);
			leaf();
		}
		free(stack);	/* unmapped: the next one is elsewhere */
		len -= 32 << 10;
	}
}

int main(int argc, char **argv)
{
	static char buf[1 << 16];
	void *warm[4];

	setvbuf(stdout, buf, _IOFBF, sizeof(buf));
	backtrace(warm, 4);	/* loads libgcc_s */
	seed = argc > 2 ? atoi(argv[2]) : 1;
	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "random"))
		walk_random(NULL);
	else if (!strcmp(argv[1], "thread"))
		in_thread();
	else if (!strcmp(argv[1], "handler"))
		interrupted();
	else if (!strcmp(argv[1], "altstack"))
		interrupted_elsewhere();
	else if (!strcmp(argv[1], "coroutine"))
		coroutines();
	else
		return 2;
	return 0;
}
