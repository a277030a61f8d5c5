// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load MIB SECONDS [ROUNDS]: two threads fill MIB of memory and work on it, for so long or
 * so many rounds, and print how many there were. Half of the memory is one array, which
 * thread 0 has prepared and both walk over, each its half of it; a quarter is a table
 * that both look up, in pages that lie anywhere; an eighth is each thread's own, written
 * all the time. In a round, each thread uses 2,048 pages of its half of the array, 1,024
 * of the table and 1,024 of its own, and none of them again before it has used all
 * others: the mix of pages is the same in intervals of any length.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 2
#define MIB (1ul << 20)
#define STEP (8 * MIB / sizeof(uint64_t))	/* of the array, in a round */
#define LOOKUPS 1024
#define PAGE (4096 / sizeof(uint64_t))
#define OWN (4 * MIB / sizeof(uint64_t))

static uint64_t *array, *table, *own[THREADS], sum[THREADS];
static size_t array_n, table_n, own_n;
static unsigned long rounds;
static double seconds;
static pthread_barrier_t barrier;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t *memory(size_t n)
{
	uint64_t *p = aligned_alloc(4096, n * sizeof(*p));

	if (!p)
		exit(3);
	return p;
}

static void fill(uint64_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = i * 0x9e3779b97f4a7c15;
}

static void work(unsigned t, unsigned long r)
{
	uint64_t *half = array + t * (array_n / 2), s = 0, page;
	size_t at = r % (array_n / 2 / STEP) * STEP;
	/* A power of two and an odd factor: each page once, then again. */
	uint64_t pages = table_n / PAGE;

	for (size_t i = at; i < at + STEP; i++)
		s += half[i];
	for (uint64_t k = r * LOOKUPS; k < (r + 1) * LOOKUPS; k++) {
		page = (k * 0x9e3779b1 + t * (pages / 2)) & (pages - 1);
		for (size_t i = 0; i < PAGE; i++)
			s += table[page * PAGE + i];
	}
	at = r % (own_n / OWN) * OWN;
	for (size_t i = at; i < at + OWN; i++)
		own[t][i] += s;
	sum[t] += s;
}

static void *run(void *arg)
{
	unsigned t = (unsigned)(uintptr_t)arg;
	static volatile int done;
	double began;
	unsigned long r;

	own[t] = memory(own_n);
	fill(own[t], own_n);
	if (!t) {
		fill(array, array_n);
		fill(table, table_n);
	}
	pthread_barrier_wait(&barrier);
	began = now();
	for (r = 0; !done; r++) {
		pthread_barrier_wait(&barrier);
		work(t, r);
		pthread_barrier_wait(&barrier);
		if (!t)
			done = rounds ? r + 1 >= rounds :
					now() - began >= seconds;
		pthread_barrier_wait(&barrier);
	}
	if (!t)
		rounds = r;
	return NULL;
}

int main(int argc, char **argv)
{
	size_t n = argc > 2 ? strtoul(argv[1], NULL, 10) * MIB / 8 : 0;
	pthread_t threads[THREADS];

	/* A power of two. */
	if (n < 128 * MIB || (n & (n - 1)))
		return 2;
	seconds = strtod(argv[2], NULL);
	rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	array_n = n / 2;
	table_n = n / 4;
	own_n = n / 8;
	array = memory(array_n);
	table = memory(table_n);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uintptr_t t = 0; t < THREADS; t++)
		if (pthread_create(&threads[t], NULL, run, (void *)t))
			return 3;
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	printf("%lu %lu\n", rounds, (unsigned long)(sum[0] ^ sum[1]));
	return 0;
}
