// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * churn [--keep]: allocates its work arrays in each step and frees them; malloc
 * gives their memory back to the kernel each time. --keep: allocates them once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAYS 4
#define SIZE (3l << 20)
#define STEPS 30

static double work(double *a, const double *from, int step)
{
	for (long i = 0; i < SIZE / 8; i++)
		a[i] = (from ? from[i] : (double)i) * 0.5 + step;
	for (long i = 1; i < SIZE / 8; i++)
		a[i] += a[i - 1] * 0.1;
	return a[step];
}

int main(int argc, char **argv)
{
	int keep = argc > 1 && !strcmp(argv[1], "--keep");
	double *a[ARRAYS] = { NULL }, sum = 0;

	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < ARRAYS; i++) {
			if (!a[i])
				a[i] = malloc(SIZE);
			if (!a[i])
				return 1;
			sum += work(a[i], i ? a[i - 1] : NULL, step);
		}
		for (int i = 0; i < ARRAYS && !keep; i++) {
			free(a[i]);
			a[i] = NULL;
		}
	}
	printf("%g\n", sum);
	return 0;
}
