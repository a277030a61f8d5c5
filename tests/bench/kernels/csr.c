/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Power iteration with a sparse matrix in compressed rows: streaming through
 * the matrix, gathering from the vector at random. SIZE rows of 24.
 */
#include "kernel.h"

#define PER_ROW 24

int main(int argc, char **argv)
{
	long n = argument(argc, argv, 1, 700000);
	long iterations = argument(argc, argv, 2, 130);
	long *start = memory((n + 1) * sizeof(*start));
	int *column = memory(n * PER_ROW * sizeof(*column));
	double *value = memory(n * PER_ROW * sizeof(*value));
	double *x = memory(n * sizeof(*x)), *y = memory(n * sizeof(*y));
	double sum = 0;

#pragma omp parallel for schedule(static)
	for (long i = 0; i < n; i++) {
		start[i] = i * PER_ROW;
		x[i] = 1;
		for (long k = i * PER_ROW; k < (i + 1) * PER_ROW; k++) {
			long near = i + (long)(noise(k) % 4096) - 2048;

			column[k] = k % 4 ? (near + n) % n : (long)(noise(~k) % n);
			value[k] = unit(k) / PER_ROW * 2;
		}
	}
	start[n] = n * PER_ROW;
	for (long it = 0; it < iterations; it++) {
		double *swap = x;

#pragma omp parallel for schedule(static)
		for (long i = 0; i < n; i++) {
			double s = 0;

			for (long k = start[i]; k < start[i + 1]; k++)
				s += value[k] * x[column[k]];
			y[i] = s;
		}
		x = y;
		y = swap;
	}
	for (long i = 0; i < n; i++)
		sum += x[i];
	printf("csr %.9e\n", sum / n);
	return 0;
}
