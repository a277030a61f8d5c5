/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symmetric over-relaxation in a cube of SIZE^3 cells of five unknowns, swept
 * forth and back as a wavefront: plane by plane, each row of a plane waits
 * for the row before it, so the threads hand pages to one another.
 */
#include "kernel.h"

#define U 5

static double *v, *rhs;
static long n;

static double *cell(double *p, long i, long j, long k)
{
	return p + ((i * n + j) * n + k) * U;
}

/* Relax a cell from its three neighbours behind (step 1) or ahead (-1). */
static void relax(long i, long j, long k, long step)
{
	double *c = cell(v, i, j, k);
	const double *a = cell(v, i - step, j, k);
	const double *b = cell(v, i, j - step, k);
	const double *d = cell(v, i, j, k - step);
	const double *r = cell(rhs, i, j, k);

	for (int m = 0; m < U; m++) {
		int o = (m + 1) % U;

		c[m] += 0.6 * (r[m] + 0.15 * (a[m] + b[m] + d[m]) +
			       0.03 * (a[o] + b[o] - d[o]) - c[m]);
	}
}

/* Rows of cells whose i + j is the same depend only on the front before. */
static void sweep(long step)
{
	long last = 2 * (n - 2);

#pragma omp parallel
	for (long f = 2; f <= last; f++) {
		long front = step > 0 ? f : last + 2 - f;
		long low = front - (n - 2) > 1 ? front - (n - 2) : 1;
		long high = front - 1 < n - 2 ? front - 1 : n - 2;

#pragma omp for schedule(static)
		for (long i = low; i <= high; i++)
			for (long k = 1; k < n - 1; k++)
				relax(i, front - i, step > 0 ? k : n - 1 - k,
				      step);
	}
}

int main(int argc, char **argv)
{
	long iterations = argument(argc, argv, 2, 110);
	double norm = 0;

	n = argument(argc, argv, 1, 128);
	v = memory(n * n * n * U * sizeof(*v));
	rhs = memory(n * n * n * U * sizeof(*rhs));
#pragma omp parallel for schedule(static)
	for (long i = 0; i < n * n * n * U; i++) {
		v[i] = 0;
		rhs[i] = unit(i);
	}
	for (long it = 0; it < iterations; it++) {
		sweep(1);
		sweep(-1);
	}
	for (long i = 0; i < n * n * n * U; i++)
		norm += v[i] * v[i];
	printf("lu %.9e\n", sqrt(norm / (n * n * n)));
	return 0;
}
