/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenMP: loops, tasks and a reduction whose result is exact. */
#include "case.h"

#include <omp.h>

#define N (4 * MIB)

static uint64_t fib(int n)
{
	uint64_t a, b;

	if (n < 2)
		return n;
	if (n < 16)
		return fib(n - 1) + fib(n - 2);
#pragma omp task shared(a)
	a = fib(n - 1);
#pragma omp task shared(b)
	b = fib(n - 2);
#pragma omp taskwait
	return a + b;
}

int main(void)
{
	uint64_t *v = map_pages(N * 8 / PAGE), sum = 0, f = 0;

	for (int round = 0; round < 5; round++) {
#pragma omp parallel for schedule(dynamic, 4096)
		for (size_t i = 0; i < N; i++)
			v[i] += i * (round + 1);
#pragma omp parallel for reduction(+ : sum)
		for (size_t i = 0; i < N; i++)
			sum += v[i] ^ i;
	}
#pragma omp parallel
#pragma omp single
	f = fib(27);
	printf("%lu %lu\n", sum, f);
	return 0;
}
