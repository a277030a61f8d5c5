// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: loops KIND LENGTH ITERATIONS
 *
 * Loops whose addresses are affine, each LENGTH iterations long, again and again;
 * prints the nanoseconds of CPU time that an iteration takes, and a checksum.
 * heat: a cube with edges of LENGTH + 2; matmul: matrices of LENGTH.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOT_INLINED __attribute__((noipa))

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double *doubles(size_t n)
{
	double *p = malloc(n * sizeof(*p));

	if (!p)
		exit(1);
	for (size_t i = 0; i < n; i++)
		p[i] = (double)(i % 17);
	return p;
}

static NOT_INLINED void triad(double *a, const double *b, const double *c,
			      long n)
{
	for (long i = 0; i < n; i++)
		a[i] = b[i] + 3 * c[i];
}

static NOT_INLINED double sum(const double *a, long n)
{
	double s = 0;

	for (long i = 0; i < n; i++)
		s += a[i];
	return s;
}

static NOT_INLINED void copy(int *a, const int *b, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = b[i];
}

/* The inner loop's alone, of a stencil of 7 points: rows is its rows' distance. */
static NOT_INLINED void heat(double *to, const double *from, long n, long row,
			     long plane)
{
	for (long k = 0; k < n; k++)
		to[k] = 0.4 * from[k] +
			0.1 * (from[k - 1] + from[k + 1] + from[k - row] +
			       from[k + row] + from[k - plane] +
			       from[k + plane]);
}

static NOT_INLINED void matmul(double *c, const double *a, const double *b,
			       long n)
{
	for (long i = 0; i < n; i++)
		for (long k = 0; k < n; k++) {
			double x = a[i * n + k];

			for (long j = 0; j < n; j++)
				c[i * n + j] += x * b[k * n + j];
		}
}

static void heat_all(double *to, const double *from, long n, long times)
{
	long row = n + 2, plane = row * row;

	for (long t = 0, i = 0, j = 0; t < times; t++) {
		long at = (i + 1) * plane + (j + 1) * row + 1;

		heat(to + at, from + at, n, row, plane);
		j = j + 1 == n ? 0 : j + 1;
		i = j ? i : i + 1 == n ? 0 : i + 1;
	}
}

int main(int argc, char **argv)
{
	const char *kind = argc > 3 ? argv[1] : "";
	long n = argc > 3 ? atol(argv[2]) : 0, edge = n + 2;
	long times = n > 0 ? atol(argv[3]) / n : 0;
	size_t size = (size_t)(strcmp(kind, "heat") ? strcmp(kind, "matmul") ?
			       n : n * n : edge * edge * edge);
	double *a, *b, *c, s = 0, began;

	if (times <= 0)
		return 2;
	a = doubles(size), b = doubles(size), c = doubles(size);
	began = seconds();
	if (!strcmp(kind, "triad"))
		for (long t = 0; t < times; t++)
			triad(a, b, c, n);
	else if (!strcmp(kind, "sum"))
		for (long t = 0; t < times; t++)
			s += sum(a, n);
	else if (!strcmp(kind, "copy"))
		for (long t = 0; t < times; t++)
			copy((int *)a, (int *)b, n);
	else if (!strcmp(kind, "heat"))
		heat_all(a, b, n, times);
	else if (!strcmp(kind, "matmul"))
		for (long t = 0; t < times; t += n * n)
			matmul(a, b, c, n);
	else
		return 2;
	if (!strcmp(kind, "matmul"))
		times = (times + n * n - 1) / (n * n) * n * n;
	printf("%.4f %g\n", (seconds() - began) * 1e9 / (double)(times * n),
	       s + a[size / 2]);
	return 0;
}
