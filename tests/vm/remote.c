// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs whose share of accesses to other nodes is known by construction:
 * remote NAME [check]. One thread on the first CPU of each node; in each round
 * each writes to its pages once. Prints "NAME NODES SHARE", the share in
 * percent; "check": asks the kernel whether the pages are where they should be.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ul
#define PAGES 2048ul		/* of all threads together */
#define ROUNDS 12
#define ROUND_NS 200000000	/* several intervals of 50 ms, also in a guest */
#define NODES 8
#define MPOL_INTERLEAVE 3

static const char *name;
static int nodes, check;
static int cpu_of[NODES];
static char *memory;
static pthread_barrier_t barrier;
static long wrong;

static void die(const char *what)
{
	fprintf(stderr, "remote %s: %s: %s\n", name, what, strerror(errno));
	exit(1);
}

static void go_to(int node)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu_of[node], &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static void find_nodes(void)
{
	unsigned cpu, node;
	int i, n = (int)sysconf(_SC_NPROCESSORS_ONLN);

	for (i = 0; i < NODES; i++)
		cpu_of[i] = -1;
	for (i = 0; i < n; i++) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(i, &set);
		if (sched_setaffinity(0, sizeof(set), &set) ||
		    syscall(SYS_getcpu, &cpu, &node, NULL) || node >= NODES)
			die("getcpu");
		if (cpu_of[node] < 0)
			cpu_of[node] = i;
		if (nodes <= (int)node)
			nodes = (int)node + 1;
	}
}

static void map(void)
{
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		die("mmap");
	/* Where the node has no huge page free, another node gives one. */
	madvise(memory, PAGES * PAGE, MADV_NOHUGEPAGE);
}

static void touch(size_t from, size_t step)
{
	size_t i;

	for (i = from; i < PAGES; i += step)
		memory[i * PAGE]++;
}

/* Whether all pages are where they should be; node < 0: page i on i % nodes. */
static void look(int node)
{
	void *page;
	size_t i;
	int status;

	for (i = 0; check && i < PAGES; i++) {
		page = memory + i * PAGE;
		if (syscall(SYS_move_pages, 0, 1ul, &page, NULL, &status, 0))
			die("move_pages");
		wrong += status != (node < 0 ? (int)(i % (size_t)nodes) : node);
	}
}

static void wait_round(void)
{
	struct timespec ts = { 0, ROUND_NS };

	pthread_barrier_wait(&barrier);
	nanosleep(&ts, NULL);
	pthread_barrier_wait(&barrier);
}

/* Each has a part; who wrote to all of it first is on node 0. */
static void serial(int t)
{
	if (!t)
		touch(0, 1);
	wait_round();
	for (int r = 0; r < ROUNDS; r++) {
		touch((size_t)t, (size_t)nodes);
		wait_round();
	}
}

/* All pages in turn on all nodes; each thread has the parts that are not its own, too. */
static void interleaved(int t)
{
	size_t part = PAGES / (size_t)nodes;

	wait_round();
	for (int r = 0; r < ROUNDS; r++) {
		for (size_t i = 0; i < part; i++)
			memory[((size_t)t * part + i) * PAGE]++;
		wait_round();
	}
}

/* New memory each time, filled on node 0, used by all, given back at once. */
static void churn(int t)
{
	for (int r = 0; r < ROUNDS; r++) {
		if (!t) {
			map();
			touch(0, 1);
		}
		wait_round();
		touch((size_t)t, (size_t)nodes);
		pthread_barrier_wait(&barrier);
		if (!t && r == ROUNDS - 1)
			look(0);
		if (!t && munmap(memory, PAGES * PAGE))
			die("munmap");
		pthread_barrier_wait(&barrier);
	}
}

/* Each its own; in the second half on the next node, and the pages stay. */
static void wander(int t)
{
	for (int r = 0; r < ROUNDS; r++) {
		if (r == ROUNDS / 2)
			go_to((t + 1) % nodes);
		touch((size_t)t, (size_t)nodes);
		wait_round();
	}
}

static const struct {
	const char *name;
	void (*run)(int t);
} programs[] = {
	{ "serial", serial }, { "interleaved", interleaved },
	{ "churn", churn }, { "wander", wander },
};

static void (*program)(int t);

static void *thread(void *arg)
{
	int t = (int)(long)arg;

	go_to(t);
	program(t);
	return NULL;
}

/* Of all writes, percent. */
static double share(void)
{
	double others = (nodes - 1.) / nodes;

	if (program == serial)
		return 100 * others * ROUNDS / (ROUNDS + 1);
	if (program == interleaved)
		return 100 * others;
	if (program == churn)
		return 100 * others / 2;
	return 50;
}

int main(int argc, char **argv)
{
	pthread_t threads[NODES];
	unsigned long mask;
	size_t i;

	name = argc > 1 ? argv[1] : "";
	check = argc > 2;
	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (!strcmp(name, programs[i].name))
			program = programs[i].run;
	if (!program)
		die("no such program");
	find_nodes();
	mask = (1ul << nodes) - 1;
	if (program == interleaved &&
	    syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &mask,
		    8 * sizeof(mask)))
		die("set_mempolicy");
	if (program != churn)
		map();
	pthread_barrier_init(&barrier, NULL, (unsigned)nodes);
	for (i = 0; i < (size_t)nodes; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)i))
			die("pthread_create");
	for (i = 0; i < (size_t)nodes; i++)
		pthread_join(threads[i], NULL);
	if (program == serial)
		look(0);
	if (program == wander)
		look(-1);
	printf("%s %d %.2f\n", name, nodes, share());
	if (wrong)
		fprintf(stderr, "remote %s: %ld pages are elsewhere\n", name,
			wrong);
	return wrong != 0;
}
