// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Touches a known number of pages below known callers, without frame pointers:
 * usage: callers first|second|inlined|thread|signal. Prints nothing.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define PAGE 4096ul
#define NOINLINE __attribute__((noinline, noclone))

static volatile char *memory;
static volatile int kept;

static NOINLINE void touch(size_t first, size_t pages)
{
	for (size_t i = first; i < first + pages; i++)
		memory[i * PAGE] = 1;
	kept++;
}

static NOINLINE void red(size_t first, size_t pages)
{
	touch(first, pages);
	kept++;
}

static NOINLINE void blue(size_t first, size_t pages)
{
	touch(first, pages);
	kept++;
}

static NOINLINE void deep(int depth, size_t first, size_t pages)
{
	if (depth)
		deep(depth - 1, first, pages);
	else
		touch(first, pages);
	kept++;
}

/* A function within another one; a thread whose name parts what has stacks. */
static inline __attribute__((always_inline)) void inner(size_t first,
							size_t pages)
{
	for (size_t i = first; i < first + pages; i++)
		memory[i * PAGE] = 1;
}

static NOINLINE void outer(size_t first, size_t pages)
{
	inner(first, pages);
	kept++;
}

static void on_signal(int sig)
{
	touch(0, 100);
}

static NOINLINE void interrupted(void)
{
	raise(SIGUSR1);
	kept++;
}

/* Again and again: each sweep lets the pages go, and the thread's own stack. */
static void *work(void *arg)
{
	for (int i = 0; i < 3000; i++)
		red(0, 500);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;

	memory = mmap(NULL, 4000 * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc != 2 || memory == MAP_FAILED)
		return 1;
	if (!strcmp(argv[1], "first")) {
		red(0, 300);
		blue(300, 700);
		deep(10, 1000, 50);
	} else if (!strcmp(argv[1], "second")) {
		red(0, 800);
		blue(800, 100);
		outer(900, 100);
	} else if (!strcmp(argv[1], "inlined")) {
		prctl(PR_SET_NAME, "a;b\n\"\xff<i>\\");
		outer(0, 120);
	} else if (!strcmp(argv[1], "signal")) {
		signal(SIGUSR1, on_signal);
		interrupted();
	} else if (pthread_create(&t, NULL, work, NULL) || pthread_join(t, NULL)) {
		return 1;
	}
	return 0;
}
