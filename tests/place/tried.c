// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program whose memory moca try changes by plans: "tried fill" touches all of
 * large blocks, "tried map" of a mapping of its own, "tried share" has threads store into small ones that lie in the same
 * cache lines, "tried env" says whether a plan is there. What it prints else is the
 * same in each run.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCKS 6
#define BYTES (8ul << 20)
#define THREADS 4
#define STORES 2000000

static uint64_t *counters[THREADS];
static pthread_barrier_t together;

static uint64_t fill(void)
{
	char *blocks[BLOCKS];
	uint64_t sum = 0;
	int i;

	for (i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(BYTES);	/* line: fill */
		if (!blocks[i])
			return 1;
		memset(blocks[i], i, BYTES);
	}
	for (i = 0; i < BLOCKS; i++) {
		sum += (uint64_t)blocks[i][BYTES / 2];
		free(blocks[i]);
	}
	return sum;
}

static uint64_t map(void)
{
	char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,	/* line: map */
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 1;
	memset(p, 3, BYTES);
	return (uint64_t)p[BYTES / 2];
}

static void *work(void *arg)
{
	uint64_t *counter = arg, i;

	pthread_barrier_wait(&together);
	for (i = 0; i < STORES; i++)
		__atomic_store_n(counter, i, __ATOMIC_RELAXED);
	pthread_barrier_wait(&together);
	return NULL;
}

static uint64_t share(void)
{
	pthread_t threads[THREADS];
	uint64_t sum = 0;
	int i;

	pthread_barrier_init(&together, NULL, THREADS);
	for (i = 0; i < THREADS; i++)
		counters[i] = malloc(sizeof(uint64_t));	/* line: share */
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, counters[i]))
			abort();
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += *counters[i];
		free(counters[i]);
	}
	return sum;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "env")) {
		fill();
		puts(getenv("MOCA_PLACE") ? "a plan" : "no plan");
	} else {
		printf("%llu\n", (unsigned long long)(
			!strcmp(what, "share") ? share() :
			!strcmp(what, "map") ? map() : fill()));
	}
	return 0;
}
