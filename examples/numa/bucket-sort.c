// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A bucket sort whose key buffer all threads share, and the cure.
 *
 *     gcc -O2 -g -fopenmp -o bucket-sort bucket-sort.c -lm
 *     moca record -o before -- ./bucket-sort
 *     moca record -o after -- ./bucket-sort --fixed-parts
 *
 * Keys are Gaussian, so buckets in the middle are fuller than others, and are
 * dealt out dynamically: each time a bucket is sorted, by whichever thread is
 * free. So no page has a thread it belongs to. With --fixed-parts each thread
 * has neighbouring buckets, always the same, of as many keys as the others'.
 * doc/HOWTO_numa.md tells the story.
 */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS (4l << 20)
#define BUCKETS 256
#define SPAN 8192		/* values of a bucket */
#define ROUNDS 100

static uint32_t *keys;
static long from[BUCKETS + 1];	/* of each bucket, in keys */
static int fixed_parts;

static uint64_t noise(uint64_t i)
{
	i += 0x9e3779b97f4a7c15u;
	i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9u;
	i = (i ^ i >> 27) * 0x94d049bb133111ebu;
	return i ^ i >> 31;
}

/* Bounds of the buckets: the Gaussian, in the middle of all. */
static void lay_out(void)
{
	double weight[BUCKETS], sum = 0, before = 0;

	for (int b = 0; b < BUCKETS; b++) {
		double x = (b + 0.5 - BUCKETS / 2) / (BUCKETS / 6.);

		weight[b] = exp(-x * x / 2) + 0.01;
		sum += weight[b];
	}
	for (int b = 0; b < BUCKETS; b++) {
		from[b] = (long)(before / sum * KEYS);
		before += weight[b];
	}
	from[BUCKETS] = KEYS;
}

static void fill(int b)
{
	for (long i = from[b]; i < from[b + 1]; i++)
		keys[i] = (uint32_t)b * SPAN + noise(i) % SPAN;
}

/* Change some keys of the bucket, and sort it by counting. */
static void sort_bucket(int b, int round)
{
	uint32_t count[SPAN] = { 0 };
	long at = from[b];

	for (long i = from[b]; i < from[b + 1]; i++) {
		if (noise(i + round) % 16 == 0)
			keys[i] = (uint32_t)b * SPAN +
				  noise(i * 3 + round) % SPAN;
		count[keys[i] - (uint32_t)b * SPAN]++;
	}
	for (uint32_t v = 0; v < SPAN; v++)
		for (; count[v]; count[v]--)
			keys[at++] = (uint32_t)b * SPAN + v;
}

static void work(int b, int round)
{
	if (round)
		sort_bucket(b, round);
	else
		fill(b);
}

/* Does bucket b begin in the part of that thread? Parts have equal keys. */
static int is_mine(int b, int thread, int threads)
{
	return from[b] >= KEYS * thread / threads &&
	       from[b] < KEYS * (thread + 1) / threads;
}

static void one_round(int round)
{
	if (!fixed_parts) {
#pragma omp parallel for schedule(dynamic, 1)
		for (int b = 0; b < BUCKETS; b++)
			work(b, round);
		return;
	}
#pragma omp parallel
	for (int b = 0; b < BUCKETS; b++)
		if (is_mine(b, omp_get_thread_num(), omp_get_num_threads()))
			work(b, round);
}

int main(int argc, char **argv)
{
	uint64_t check = 0;

	fixed_parts = argc > 1 && !strcmp(argv[1], "--fixed-parts");
	keys = malloc(KEYS * sizeof(*keys));
	if (!keys)
		return 1;
	lay_out();
	for (int round = 0; round <= ROUNDS; round++)
		one_round(round);
	for (long i = 1; i < KEYS; i++) {
		if (keys[i - 1] > keys[i])
			return 1;
		check = check * 31 + keys[i];
	}
	printf("bucket-sort %016lx\n", (unsigned long)check);
	return 0;
}
