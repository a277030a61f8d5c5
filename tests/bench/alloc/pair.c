// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: pair CASE COUNT [CPU]. What a malloc and a free cost, in ns: the median of
 * the rounds that COUNT pairs are done in.
 *
 *   small	64 bytes, from one place
 *   deep	below a recursion of 1 to 40 calls, another each time
 *   sites	16 to 1,000 bytes from 64 places, 16 calls deep, many alive
 *   large	4 KiB to 12 KiB: each is told, and its end
 *   threads	as sites, in two threads
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noipa))
#define ROUNDS 11
#define ALIVE 256

struct job {
	unsigned seed;
	unsigned alive;		/* objects at a time */
	void *objects[ALIVE];
};

static unsigned pick(struct job *j, unsigned n)
{
	j->seed = j->seed * 1103515245 + 12345;
	return (j->seed >> 16) % n;
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

NOINLINE static void small(struct job *j)
{
	void *p = malloc(64);

	__asm__ volatile("" : "+r"(p));
	free(p);
}

NOINLINE static void large(struct job *j)
{
	void *p = malloc(4096 + pick(j, 8192));

	__asm__ volatile("" : "+r"(p));
	free(p);
}

NOINLINE static void recurse(struct job *j, int depth)
{
	if (depth)
		recurse(j, depth - 1);
	else
		small(j);
	__asm__ volatile("");
}

NOINLINE static void deep(struct job *j)
{
	recurse(j, pick(j, 40));
}

/* Each call of malloc has another stack. */
NOINLINE static void inside(struct job *j, int depth)
{
	char *p = malloc(100);

	*p = (char)depth;
	if (depth > 1)
		inside(j, depth - 1);
	free(p);
}

/* Of 50 pairs on the average: a step is one of them. */
NOINLINE static void recursion(struct job *j)
{
	static int done, depth;

	if (done++ < depth)
		return;
	done = 1;
	depth = 1 + (int)pick(j, 100);
	inside(j, depth);
}

/* 64 places in 4 functions. */
#define PLACE(n)                                        \
	case n: p = malloc(16 + n % 64 * 15); break;
#define PLACES4(n) PLACE(n) PLACE(n + 1) PLACE(n + 2) PLACE(n + 3)
#define PLACES16(n) \
	PLACES4(n) PLACES4(n + 4) PLACES4(n + 8) PLACES4(n + 12)

NOINLINE static void *make(unsigned place)
{
	void *p = NULL;

	switch (place) {
	PLACES16(0) PLACES16(16) PLACES16(32) PLACES16(48)
	}
	__asm__ volatile("" : "+r"(p));
	return p;
}

NOINLINE static void *descend(unsigned place, int depth)
{
	void *p = depth ? descend(place, depth - 1) : make(place);

	__asm__ volatile("" : "+r"(p));
	return p;
}

/* The object's place follows from its site: as programs reuse memory. */
NOINLINE static void sites(struct job *j)
{
	unsigned i = pick(j, ALIVE);

	free(j->objects[i]);
	j->objects[i] = descend(i % 64, 14);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double run(struct job *j, void (*step)(struct job *), uint64_t count)
{
	double ns[ROUNDS];
	uint64_t begin, n;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		begin = now();
		for (n = count / ROUNDS; n; n--)
			step(j);
		ns[i] = (double)(now() - begin) / (count / ROUNDS);
	}
	qsort(ns, ROUNDS, sizeof(ns[0]), compare);
	return ns[ROUNDS / 2];
}

static uint64_t pairs;

static void *second(void *arg)
{
	struct job j = { .seed = 2 };

	return (void *)(uintptr_t)(1000 * run(&j, sites, pairs));
}

static double both(void)
{
	struct job j = { .seed = 1 };
	pthread_t t;
	double ns;
	void *ret;

	if (pthread_create(&t, NULL, second, NULL))
		exit(1);
	ns = run(&j, sites, pairs);
	pthread_join(t, &ret);
	return (ns + (uintptr_t)ret / 1000.0) / 2;
}

static int pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*step)(struct job *);
	} cases[] = {
		{ "small", small }, { "deep", deep }, { "sites", sites },
		{ "large", large }, { "recursion", recursion },
	};
	struct job j = { .seed = 1 };
	unsigned i;

	if (argc != 3 && argc != 4)
		return 2;
	/* Only the program: not what a profiler starts beside it. */
	if (argc == 4 && pin(atoi(argv[3])))
		return 1;
	pairs = strtoull(argv[2], NULL, 10);
	if (!strcmp(argv[1], "threads"))
		return printf("%.1f\n", both()) < 0;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(argv[1], cases[i].name))
			return printf("%.1f\n",
				      run(&j, cases[i].step, pairs)) < 0;
	return 2;
}
