// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread on the first CPU of each node. The first fills two structures; then each
 * thread works on its part of `shared`, and that of the last node on all of `lonely`.
 * "spread" waits between rounds until it was swept, so that a recording has intervals;
 * "spread quick" does not. Prints a sum, and with "spread where" how many percent of
 * the pages of each lie on node 0.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ul
#define PAGES 1024ul		/* of each structure */
#define ROUNDS 14
#define STEP_NS 10000000
#define STEPS 6000		/* a round lasts no longer than so many: a minute */
#define SWEEPS 3		/* the last but one began after the round's writes */
#define NODES 8

static int nodes, quick;
static int cpu_of[NODES];
static char *shared, *lonely, *canary;
static pthread_barrier_t barrier;

static void die(const char *what)
{
	fprintf(stderr, "spread: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int go_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

static void find_nodes(void)
{
	int i, n = (int)sysconf(_SC_NPROCESSORS_ONLN);
	unsigned cpu, node;

	for (i = 0; i < NODES; i++)
		cpu_of[i] = -1;
	for (i = 0; i < n; i++) {
		if (go_to_cpu(i) || syscall(SYS_getcpu, &cpu, &node, NULL) ||
		    node >= NODES)
			die("getcpu");
		if (cpu_of[node] < 0)
			cpu_of[node] = i;
		if (nodes <= (int)node)
			nodes = (int)node + 1;
	}
}

static long faults(void)
{
	struct rusage u;

	/* The second call: what it takes itself is there by then. */
	for (int i = 0; i < 2; i++)
		if (getrusage(RUSAGE_THREAD, &u))
			die("getrusage");
	return u.ru_minflt;
}

/* A page that faults again was swept: intervals end, on a slow host, too. */
static void wait_sweeps(void)
{
	const struct timespec step = { 0, STEP_NS };
	int sweeps = 0;

	for (int i = 0; i < STEPS && sweeps < SWEEPS; i++) {
		long before;

		nanosleep(&step, NULL);
		before = faults();
		++*(volatile char *)canary;
		sweeps += faults() > before;
	}
}

static void wait_round(int t)
{
	pthread_barrier_wait(&barrier);
	if (!t && !quick)
		wait_sweeps();
	pthread_barrier_wait(&barrier);
}

static void *work(void *arg)
{
	int t = (int)(long)arg, r;
	size_t part = PAGES / (size_t)nodes, i;

	if (go_to_cpu(cpu_of[t]))
		die("sched_setaffinity");
	if (!t) {
		memset(shared, 1, PAGES * PAGE);
		memset(lonely, 1, PAGES * PAGE);
	}
	wait_round(t);
	for (r = 0; r < ROUNDS; r++) {
		for (i = 0; i < part; i++)
			shared[((size_t)t * part + i) * PAGE]++;
		for (i = 0; t == nodes - 1 && i < PAGES; i++)
			lonely[i * PAGE]++;
		wait_round(t);
	}
	return NULL;
}

/* Percent of the pages that lie on node 0. */
static size_t on_first(const char *p)
{
	size_t i, n = 0;
	int status;

	for (i = 1; i < PAGES - 1; i++) {
		void *page = (void *)(p + i * PAGE);

		if (syscall(SYS_move_pages, 0, 1ul, &page, NULL, &status, 0))
			die("move_pages");
		n += status == 0;
	}
	return 100 * n / (PAGES - 2);
}

int main(int argc, char **argv)
{
	pthread_t threads[NODES];
	unsigned long sum = 0;
	size_t i;
	long t;

	quick = argc > 1;
	find_nodes();
	canary = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	shared = malloc(PAGES * PAGE);	/* line: shared */
	lonely = malloc(PAGES * PAGE);	/* line: lonely */
	if (canary == MAP_FAILED || !shared || !lonely)
		die("memory");
	pthread_barrier_init(&barrier, NULL, (unsigned)nodes);
	for (t = 0; t < nodes; t++)
		if (pthread_create(&threads[t], NULL, work, (void *)t))
			die("pthread_create");
	for (t = 0; t < nodes; t++)
		pthread_join(threads[t], NULL);
	for (i = 0; i < PAGES; i++)
		sum += (unsigned char)(shared[i * PAGE] + lonely[i * PAGE]);
	printf("%lu\n", sum);
	if (argc > 1 && !strcmp(argv[1], "where"))
		printf("on node 0: shared %zu %%, lonely %zu %%\n",
		       on_first(shared), on_first(lonely));
	return 0;
}
