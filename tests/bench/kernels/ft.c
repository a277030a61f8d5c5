/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A large Fourier transform as rows, transpose, rows, transpose, there and
 * back: SIZE x SIZE complex numbers (SIZE a power of two); the transposes
 * jump a row with every step.
 */
#include "kernel.h"

#include <complex.h>

typedef double complex cplx;

static cplx *root;		/* of unity, n of them */

static void transform_row(cplx *v, long n, int back)
{
	for (long i = 1, j = 0; i < n; i++) { /* bit reversal */
		long bit = n >> 1;

		for (; j & bit; bit >>= 1)
			j ^= bit;
		j ^= bit;
		if (i < j) {
			cplx t = v[i];

			v[i] = v[j];
			v[j] = t;
		}
	}
	for (long len = 2; len <= n; len *= 2)
		for (long i = 0; i < n; i += len)
			for (long k = 0; k < len / 2; k++) {
				cplx w = root[k * (n / len)];
				double wr = creal(w);
				double wi = back ? -cimag(w) : cimag(w);
				cplx *a = &v[i + k], *b = &v[i + k + len / 2];
				double br = creal(*b) * wr - cimag(*b) * wi;
				double bi = creal(*b) * wi + cimag(*b) * wr;
				cplx t = br + bi * I;

				*b = *a - t;
				*a += t;
			}
}

static void rows(cplx *v, long n, int back)
{
#pragma omp parallel for schedule(static)
	for (long i = 0; i < n; i++)
		transform_row(v + i * n, n, back);
}

static void transpose(cplx *to, const cplx *from, long n)
{
#pragma omp parallel for schedule(static)
	for (long i = 0; i < n; i += 4)
		for (long j = 0; j < n; j++)
			for (long k = i; k < i + 4; k++)
				to[k * n + j] = from[j * n + k];
}

int main(int argc, char **argv)
{
	long n = argument(argc, argv, 1, 2048);
	long iterations = argument(argc, argv, 2, 28);
	cplx *a = memory(n * n * sizeof(*a)), *b = memory(n * n * sizeof(*b));
	double worst = 0, sum = 0;

	root = memory(n * sizeof(*root));
	for (long i = 0; i < n; i++)
		root[i] = cexp(-2 * M_PI * I * i / n);
#pragma omp parallel for schedule(static)
	for (long i = 0; i < n * n; i++)
		a[i] = unit(i) + unit(~i) * I;
	for (long it = 0; it < iterations; it++) {
		rows(a, n, 0);
		transpose(b, a, n);
		rows(b, n, 0);
		sum += cabs(b[(it * 7919 + 1) % (n * n)]);
#pragma omp parallel for schedule(static)
		for (long i = 0; i < n * n; i++)
			b[i] /= (double)n * n;
		rows(b, n, 1);
		transpose(a, b, n);
		rows(a, n, 1);
	}
	for (long i = 0; i < n * n; i++) {
		double off = cabs(a[i] - (unit(i) + unit(~i) * I));

		worst = off > worst ? off : worst;
	}
	if (!(worst < 1e-9))
		return 1;
	printf("ft %.9e\n", sum);
	return 0;
}
