// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs whose share of accesses to other nodes is known by construction:
 * remote NAME [check]. One thread on the first CPU of each node; in each round
 * each writes to its pages once. Prints "NAME NODES SHARE", the share in
 * percent; "check": asks the kernel whether the pages are where they should be.
 */
#include "tests/vm/each-node.h"

#define PAGES 2048ul		/* of all threads together */
#define ROUNDS 4
#define MPOL_INTERLEAVE 3
#define MPOL_MF_MOVE 2
#define BATCH 64ul		/* pages that one call moves */
#define MOVE_TRIES 10

static int check;
static char *memory;
static long wrong, rewritten;

static void map(void)
{
	memory = map_pages(PAGES);
	/* Where the node has no huge page free, another node gives one. */
	madvise(memory, PAGES * PAGE, MADV_NOHUGEPAGE);
}

static void touch(size_t from, size_t step)
{
	size_t i;

	for (i = from; i < PAGES; i += step)
		memory[i * PAGE]++;
}

static void look_at(size_t i, int node)
{
	void *page = memory + i * PAGE;
	int status;

	if (syscall(SYS_move_pages, 0, 1ul, &page, NULL, &status, 0))
		die("move_pages");
	wrong += status != node;
}

/* Whether all pages are where they should be; node < 0: page i on i % nodes. */
static void look(int node)
{
	for (size_t i = 0; check && i < PAGES; i++)
		look_at(i, node < 0 ? (int)(i % (size_t)nodes) : node);
}

/* Each has a part; who wrote to all of it first is on node 0. */
static void serial(int t)
{
	if (!t)
		touch(0, 1);
	wait_round(t, !check);
	for (int r = 0; r < ROUNDS; r++) {
		touch((size_t)t, (size_t)nodes);
		wait_round(t, !check);
	}
}

/* All pages in turn on all nodes; each thread has the parts that are not its own, too. */
static void interleaved(int t)
{
	size_t part = PAGES / (size_t)nodes;

	wait_round(t, !check);
	for (int r = 0; r < ROUNDS; r++) {
		for (size_t i = 0; i < part; i++)
			memory[((size_t)t * part + i) * PAGE]++;
		wait_round(t, !check);
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
		wait_round(t, !check);
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
			go_to_cpu(cpu_of[(t + 1) % nodes]);
		touch((size_t)t, (size_t)nodes);
		wait_round(t, !check);
	}
}

/* Where page i is in the end, by moved(). */
static int moved_to(size_t i)
{
	return i < PAGES / 2 ? 0 : (int)(i % (size_t)nodes);
}

/* Moves pages to their users, after a write if asked; how many did not go. */
static int move_batch(size_t first, int write)
{
	int node[BATCH], status[BATCH], left = 0;
	void *page[BATCH];

	for (size_t i = 0; i < BATCH; i++) {
		page[i] = memory + (first + i) * PAGE;
		if (write)
			*(char *)page[i] = 1;
		node[i] = moved_to(first + i);
	}
	if (syscall(SYS_move_pages, 0, BATCH, page, node, status,
		    MPOL_MF_MOVE) < 0)
		die("move_pages");
	for (size_t i = 0; i < BATCH; i++)
		left += status[i] != node[i];
	rewritten += write ? (long)BATCH : 0;
	return left;
}

/*
 * Before 6.5 a page that is injected cannot be moved: it is written to, then. Not
 * in any case: by the user way a page that moves in an interval has one node in
 * it, the new one, and these writes were on the old.
 */
static void move_half(void)
{
	for (size_t i = PAGES / 2; i < PAGES; i += BATCH)
		for (int n = 0; n < MOVE_TRIES && move_batch(i, n); n++)
			;
}

/* As serial(), but the second half of the pages goes to its users midway. */
static void moved(int t)
{
	if (!t)
		touch(0, 1);
	wait_round(t, !check);
	for (int r = 0; r < ROUNDS; r++) {
		if (r == ROUNDS / 2) {
			if (!t)
				move_half();
			wait_round(t, !check);
		}
		touch((size_t)t, (size_t)nodes);
		wait_round(t, !check);
	}
	pthread_barrier_wait(&barrier);
	for (size_t i = 0; check && !t && i < PAGES; i++)
		look_at(i, moved_to(i));
}

static const struct {
	const char *name;
	void (*run)(int t);
} programs[] = {
	{ "serial", serial }, { "interleaved", interleaved },
	{ "churn", churn }, { "wander", wander }, { "moved", moved },
};

static void (*program)(int t);

static void *thread(void *arg)
{
	int t = (int)(long)arg;

	go_to_cpu(cpu_of[t]);
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
	/* All of one half of the rounds, half of the other. */
	if (program == moved)
		return 100 * others * 3 / 4 * ROUNDS /
		       (ROUNDS + 1. + rewritten / (double)PAGES);
	return 50;
}

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "";
	unsigned long mask;
	size_t i;

	name = "remote";
	check = argc > 2;
	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (!strcmp(which, programs[i].name))
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
	run_threads(thread);
	if (program == serial)
		look(0);
	if (program == wander)
		look(-1);
	printf("%s %d %.2f\n", which, nodes, share());
	if (wrong)
		fprintf(stderr, "remote %s: %ld pages are elsewhere\n", which,
			wrong);
	return wrong != 0;
}
