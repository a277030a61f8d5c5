// SPDX-License-Identifier: GPL-2.0-or-later
/* openmp CASE [fixed]: as threads.c, in C with OpenMP. */
#include <malloc.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1l << 20)
#define BALANCED 0.7071067811865476	/* of a triangle's rows: half its area */

static int fixed;
static uint64_t result;

static uint64_t noise(uint64_t i)
{
	i += 0x9e3779b97f4a7c15u;
	i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9u;
	i = (i ^ i >> 27) * 0x94d049bb133111ebu;
	return i ^ i >> 31;
}

static void *memory(size_t bytes)
{
	void *p = malloc(bytes);

	if (!p)
		exit(1);
	return p;
}

/* Zeroed by one thread; fixed: by those that work on it. */
static void zeroed(void)
{
	long n = 4 * MIB;
	double *grid = memory((size_t)n * 8);

	/* gcc makes a calloc of malloc and memset, which touches nothing. */
	__asm__ volatile("" : "+r"(grid));
	if (!fixed)
		memset(grid, 0, (size_t)n * 8); /* FAULT o-zeroed */
#pragma omp parallel for schedule(static)
	for (long i = 0; i < n; i++)
		grid[i] = 0;
	for (int r = 0; r < 1000; r++)
#pragma omp parallel for schedule(static)
		for (long i = 0; i < n; i++)
			grid[i] = grid[i] * 0.5 + r;
	result += (uint64_t)grid[77];
}

#define FIELDS 24

/* Two dozen structures of which none matters alone. */
static void fields(void)
{
	static double *field[FIELDS];
	long n = MIB / 4;

	for (int k = 0; k < FIELDS; k++)
		field[k] = memory((size_t)n * 8);
	if (fixed) {
#pragma omp parallel for schedule(static)
		for (long i = 0; i < n; i++)
			for (int k = 0; k < FIELDS; k++)
				field[k][i] = 1;
	} else {
		for (int k = 0; k < FIELDS; k++)
			for (long i = 0; i < n; i++)
				field[k][i] = 1; /* FAULT o-fields */
	}
	for (int r = 0; r < 60; r++)
#pragma omp parallel for schedule(static)
		for (long i = 0; i < n; i++)
			for (int k = 1; k < FIELDS; k++)
				field[k][i] += field[k - 1][i] * 0.5;
	result += (uint64_t)field[3][77];
}

/* Parts of unequal work are dealt out anew each time; fixed: the same ones. */
static void dynamic(void)
{
	long n = 4 * MIB, chunk = MIB / 4, threads = omp_get_max_threads();
	double *cells = memory((size_t)n * 8); /* FAULT o-dynamic */

#pragma omp parallel for schedule(static)
	for (long i = 0; i < n; i++)
		cells[i] = (double)i;
	for (int r = 0; r < 900; r++) {
		/* Which thread comes first is chance; here it goes round. */
#pragma omp parallel
		for (long c = 0; c < n / chunk; c++) {
			long part = fixed ? c * threads / (n / chunk) :
					    (long)noise((uint64_t)(c + r * 64)) &
						    0xffff;

			if (part % threads != omp_get_thread_num())
				continue;
			for (long i = c * chunk; i < (c + 1) * chunk; i++)
				cells[i] = cells[i] * 0.5 + r;
		}
	}
	result += (uint64_t)cells[77];
}

/* A sum for each thread, in one line. */
static void sums(void)
{
	static volatile double sum[64 * 8] __attribute__((aligned(64)));

#pragma omp parallel
	{
		int t = omp_get_thread_num();

		for (long i = 0; i < 150000000; i++)
			sum[fixed ? 8 * t : t] += 0.5; /* FAULT o-sums */
	}
	result += (uint64_t)sum[0];
}

/* Keys to where they belong, by all threads; fixed: each fills its own range. */
static void buckets(void)
{
	long n = 6 * MIB, threads = omp_get_max_threads();
	uint32_t *keys = memory((size_t)n * 4), *sorted;

	sorted = memory((size_t)n * 4); /* FAULT o-buckets */
#pragma omp parallel for schedule(static)
	for (long i = 0; i < n; i++) {
		keys[i] = (uint32_t)noise((uint64_t)i);
		sorted[i] = 0;
	}
	for (int r = 0; r < 160; r++)
#pragma omp parallel
	{
		long t = omp_get_thread_num(), from = n / threads * t;

		for (long i = from; i < from + n / threads; i++) {
			uint64_t to = noise(keys[i] + (uint64_t)r);

			if (fixed)
				sorted[from + (long)(to %
						     (uint64_t)(n / threads))] = keys[i];
			else
				sorted[to % (uint64_t)n] = keys[i];
		}
	}
	result += sorted[77];
}

/* Rows of a triangle: the second half has three quarters of the work. */
static void triangle(void)
{
	long n = 3000, cut = fixed ? (long)(n * BALANCED) : n / 2;
	double *rows = calloc((size_t)(n * (n + 1) / 2), 8); /* FAULT o-triangle */

	for (int r = 0; rows && r < 1200; r++)
#pragma omp parallel num_threads(2)
	{
		long from = omp_get_thread_num() ? cut : 0;
		long to = omp_get_thread_num() ? n : cut;

		for (long i = from * (from + 1) / 2; i < to * (to + 1) / 2; i++)
			rows[i] = rows[i] * 0.5 + r;
	}
	result += rows ? (uint64_t)rows[77] : 0;
}

/* What one thread worked with becomes another's; fixed: each has its own. */
static void recycled(void)
{
	long n = 2 * MIB;

	/* malloc keeps what is freed. */
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	double *first = NULL, *second = NULL;

#pragma omp parallel num_threads(2)
	{
		int t = omp_get_thread_num();

		if (t == (fixed ? 1 : 0)) {
			first = memory((size_t)n * 8);
			for (int r = 0; r < 100; r++)
				for (long i = 0; i < n; i++)
					first[i] = (double)i;
		}
#pragma omp barrier
#pragma omp master
		{
			free(first);
			second = memory((size_t)n * 8); /* FAULT o-recycled */
		}
#pragma omp barrier
		if (t == 1)
			for (int r = 0; r < 2000; r++)
				for (long i = 0; i < n; i++)
					second[i] = r ? second[i] * 0.5 : 1;
	}
	result += (uint64_t)second[77];
}

/* All write one array, each its own half: as it should be. */
static void halves(void)
{
	long n = 4 * MIB;
	double *a = memory((size_t)n * 8), *b = memory((size_t)n * 8);

	for (int r = 0; r < 300; r++) {
#pragma omp parallel for schedule(static)
		for (long i = 0; i < n; i++)
			a[i] = r ? b[i] * 0.5 : 1;
#pragma omp parallel for schedule(static)
		for (long i = 0; i < n; i++)
			b[i] = a[i] + 1;
	}
	result += (uint64_t)b[77];
}

/* The sum of all is a reduction: nothing is shared but once. */
static void reduction(void)
{
	long n = 4 * MIB;
	double *a = memory((size_t)n * 8), sum = 0;

#pragma omp parallel for schedule(static)
	for (long i = 0; i < n; i++)
		a[i] = (double)i;
	for (int r = 0; r < 800; r++)
#pragma omp parallel for schedule(static) reduction(+ : sum)
		for (long i = 0; i < n; i++)
			sum += a[i];
	result += (uint64_t)sum;
}

/* Each thread counts by itself, in its own table; then they are added up. */
static void tables(void)
{
	uint64_t n = 6 * MIB / 4, sum = 0;

#pragma omp parallel reduction(+ : sum)
	{
		uint32_t *own = memory(n * 4);
		uint64_t t = (uint64_t)omp_get_thread_num();

		memset(own, 0, n * 4);
		for (uint64_t i = 0; i < 100000000; i++)
			own[noise(2 * i + t) % n]++;
		for (uint64_t i = 0; i < n; i++)
			sum += own[i] * i;
	}
	result += sum;
}

/* Initialised by one thread, then used by that one nearly alone. */
static void mostly_one(void)
{
	long n = 4 * MIB;
	double *a = memory((size_t)n * 8);

	for (long i = 0; i < n; i++)
		a[i] = (double)i;
	for (int r = 0; r < 800; r++)
		for (long i = 0; i < n; i++)
			a[i] = a[i] * 0.5 + r;
#pragma omp parallel for schedule(static)
	for (long i = 0; i < n; i++)
		a[i] += 1;
	result += (uint64_t)a[77];
}

static const struct {
	const char *name;
	void (*work)(void);
} works[] = {
	{ "o-zeroed", zeroed }, { "o-fields", fields }, { "o-dynamic", dynamic },
	{ "o-sums", sums }, { "o-buckets", buckets }, { "o-triangle", triangle },
	{ "o-recycled", recycled }, { "o-halves", halves },
	{ "o-reduction", reduction }, { "o-mostly-one", mostly_one },
	{ "o-tables", tables },
};

int main(int argc, char **argv)
{
	fixed = argc > 2;
	for (size_t i = 0; i < sizeof(works) / sizeof(*works); i++)
		if (argc > 1 && !strcmp(works[i].name, argv[1])) {
			works[i].work();
			printf("%lu\n", (unsigned long)result);
			return 0;
		}
	return 2;
}
