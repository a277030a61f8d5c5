/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Multigrid V-cycles with 27-point stencils on a cube of SIZE^3 (a power of
 * two) doubles with periodic borders: every page of every level, again and
 * again; the dearest case for anything that makes pages fault.
 */
#include "kernel.h"

#define LEVELS 20

struct grid {
	long n;
	double *u, *r;		/* solution and residual */
};

static struct grid level[LEVELS];

#define AT(p, n, i, j, k) ((p)[((i) * (n) + (j)) * (n) + (k)])

/* out = in smoothed with weights by distance, added to out where add. */
static void stencil(double *out, const double *in, long n, const double w[4],
		    int add)
{
#pragma omp parallel for schedule(static)
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++) {
			const double *row[3][3];
			double *o = &AT(out, n, i, j, 0);

			for (int a = 0; a < 3; a++)
				for (int b = 0; b < 3; b++)
					row[a][b] = &AT(in, n,
							(i + a - 1 + n) % n,
							(j + b - 1 + n) % n, 0);
			for (long k = 0; k < n; k++) {
				long l = k ? k - 1 : n - 1;
				long r = k + 1 < n ? k + 1 : 0;
				double s[4] = { 0 };

				for (int a = 0; a < 3; a++)
					for (int b = 0; b < 3; b++) {
						const double *p = row[a][b];
						int d = (a != 1) + (b != 1);

						s[d] += p[k];
						s[d + 1] += p[l] + p[r];
					}
				o[k] = (add ? o[k] : 0) + w[0] * s[0] +
				       w[1] * s[1] + w[2] * s[2] + w[3] * s[3];
			}
		}
}

static void restrict_to(const struct grid *fine, struct grid *coarse)
{
	long n = coarse->n, m = fine->n;

#pragma omp parallel for schedule(static)
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++)
			for (long k = 0; k < n; k++) {
				double s = 0;

				for (int a = 0; a < 8; a++)
					s += AT(fine->r, m, 2 * i + (a >> 2),
						2 * j + (a >> 1 & 1),
						2 * k + (a & 1));
				AT(coarse->r, n, i, j, k) = s / 8;
				AT(coarse->u, n, i, j, k) = 0;
			}
}

static void prolong(const struct grid *coarse, struct grid *fine)
{
	long n = fine->n;

#pragma omp parallel for schedule(static)
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++)
			for (long k = 0; k < n; k++)
				AT(fine->u, n, i, j, k) +=
					AT(coarse->u, coarse->n, i / 2, j / 2,
					   k / 2);
}

int main(int argc, char **argv)
{
	static const double smooth[4] = { 0.12, 0.01, 0.004, 0.001 };
	static const double residual[4] = { 0.5, -0.02, -0.01, -0.005 };
	long n = argument(argc, argv, 1, 256);
	long iterations = argument(argc, argv, 2, 13);
	int levels = 0;
	double norm = 0;

	for (long m = n; m >= 4 && levels < LEVELS; m /= 2, levels++) {
		level[levels].n = m;
		level[levels].u = memory(m * m * m * sizeof(double));
		level[levels].r = memory(m * m * m * sizeof(double));
		memset(level[levels].u, 0, m * m * m * sizeof(double));
	}
#pragma omp parallel for schedule(static)
	for (long i = 0; i < n * n * n; i++)
		level[0].r[i] = unit(i) - 0.5;
	for (long it = 0; it < iterations; it++) {
		for (int l = 0; l + 1 < levels; l++)
			restrict_to(&level[l], &level[l + 1]);
		for (int l = levels - 1; l >= 0; l--) {
			stencil(level[l].u, level[l].r, level[l].n, smooth, 1);
			if (l)
				prolong(&level[l], &level[l - 1]);
		}
		stencil(level[0].r, level[0].u, n, residual, 0);
	}
	for (long i = 0; i < n * n * n; i++)
		norm += level[0].r[i] * level[0].r[i];
	printf("stencil %.9e\n", sqrt(norm / (n * n * n)));
	return 0;
}
