/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernels share. Usage of each: KERNEL [SIZE [ITERATIONS]]; it prints
 * its name and a checksum that does not depend on the number of threads.
 */
#ifndef MOCA_BENCH_KERNEL_H
#define MOCA_BENCH_KERNEL_H

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline long argument(int argc, char **argv, int n, long dflt)
{
	return argc > n ? atol(argv[n]) : dflt;
}

static inline void *memory(size_t bytes)
{
	void *p = malloc(bytes);

	if (!p) {
		fprintf(stderr, "no memory for %zu bytes\n", bytes);
		exit(1);
	}
	return p;
}

/* splitmix64: a random number for each i, in any order. */
static inline uint64_t noise(uint64_t i)
{
	i += 0x9e3779b97f4a7c15u;
	i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9u;
	i = (i ^ i >> 27) * 0x94d049bb133111ebu;
	return i ^ i >> 31;
}

static inline double unit(uint64_t i)
{
	return (double)(noise(i) >> 11) * 0x1p-53;
}

#endif
