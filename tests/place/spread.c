// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread on the first CPU of each node. The first fills two structures; then each
 * thread works on its part of `shared`, and that of the last node on all of `lonely`.
 * "spread" waits between rounds until it was swept, so that a recording has intervals;
 * "spread quick" does not. Prints a sum, and with "spread where" how many percent of
 * the pages of each lie on node 0.
 */
#include "tests/vm/each-node.h"

#define PAGES 1024ul		/* of each structure */
#define ROUNDS 14

static int quick;
static char *shared, *lonely;

static void *work(void *arg)
{
	int t = (int)(long)arg, r;
	size_t part = PAGES / (size_t)nodes, i;

	go_to_cpu(cpu_of[t]);
	if (!t) {
		memset(shared, 1, PAGES * PAGE);
		memset(lonely, 1, PAGES * PAGE);
	}
	wait_round(t, !quick);
	for (r = 0; r < ROUNDS; r++) {
		for (i = 0; i < part; i++)
			shared[((size_t)t * part + i) * PAGE]++;
		for (i = 0; t == nodes - 1 && i < PAGES; i++)
			lonely[i * PAGE]++;
		wait_round(t, !quick);
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
	unsigned long sum = 0;
	size_t i;

	name = "spread";
	quick = argc > 1;
	find_nodes();
	shared = malloc(PAGES * PAGE);	/* line: shared */
	lonely = malloc(PAGES * PAGE);	/* line: lonely */
	if (!shared || !lonely)
		die("memory");
	run_threads(work);
	for (i = 0; i < PAGES; i++)
		sum += (unsigned char)(shared[i * PAGE] + lonely[i * PAGE]);
	printf("%lu\n", sum);
	if (argc > 1 && !strcmp(argv[1], "where"))
		printf("on node 0: shared %zu %%, lonely %zu %%\n",
		       on_first(shared), on_first(lonely));
	return 0;
}
