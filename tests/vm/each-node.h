/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rounds of threads, one on the first CPU of each node, that a recording sees in
 * different intervals: between two rounds a page has been swept.
 */
#ifndef MOCA_TESTS_VM_EACH_NODE_H
#define MOCA_TESTS_VM_EACH_NODE_H

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
#define NODES 8
#define STEP_NS 10000000
#define STEPS 6000		/* a round lasts no longer than so many: a minute */
#define SWEEPS 3		/* the last but one began after the round's writes */

static const char *name;	/* of the program, for messages */
static int nodes;
static int cpu_of[NODES];
static char *canary;		/* a page of its own */
static pthread_barrier_t barrier;

static void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", name, what, strerror(errno));
	exit(1);
}

static void go_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static void find_nodes(void)
{
	int i, n = (int)sysconf(_SC_NPROCESSORS_ONLN);
	unsigned cpu, node;

	for (i = 0; i < NODES; i++)
		cpu_of[i] = -1;
	for (i = 0; i < n; i++) {
		go_to_cpu(i);
		if (syscall(SYS_getcpu, &cpu, &node, NULL) || node >= NODES)
			die("getcpu");
		if (cpu_of[node] < 0)
			cpu_of[node] = i;
		if (nodes <= (int)node)
			nodes = (int)node + 1;
	}
}

static char *map_pages(size_t pages)
{
	void *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
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

/* All threads; with `sweeps` not before pages were swept. */
static void wait_round(int t, int sweeps)
{
	pthread_barrier_wait(&barrier);
	if (!t && sweeps)
		wait_sweeps();
	pthread_barrier_wait(&barrier);
}

/* Run `work` in a thread of each node, to their ends; the argument is its number. */
static void run_threads(void *(*work)(void *number))
{
	pthread_t threads[NODES];
	long t;

	canary = map_pages(1);
	pthread_barrier_init(&barrier, NULL, (unsigned)nodes);
	for (t = 0; t < nodes; t++)
		if (pthread_create(&threads[t], NULL, work, (void *)t))
			die("pthread_create");
	for (t = 0; t < nodes; t++)
		pthread_join(threads[t], NULL);
}

#endif
