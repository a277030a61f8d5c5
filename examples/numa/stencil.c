// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stencil whose memory ends up on one node, and the cure.
 *
 *     gcc -O2 -g -fopenmp -o stencil stencil.c
 *     moca record -o before -- ./stencil
 *     moca record -o after -- ./stencil --parallel-init
 *
 * One thread fills the grids, so that Linux places all of their pages near that
 * thread; then all threads work on them. With --parallel-init each thread fills
 * the rows that it works on later. doc/HOWTO_numa.md tells the story.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 1024
#define COLUMNS 1024
#define SWEEPS 1000

static double *grid, *next;

static double start(long row, long column)
{
	return (double)((row * 31 + column * 17) % 101);
}

static void init_serial(void)
{
	for (long i = 0; i < ROWS; i++)
		for (long j = 0; j < COLUMNS; j++)
			grid[i * COLUMNS + j] = next[i * COLUMNS + j] =
				start(i, j);
}

static void init_parallel(void)
{
#pragma omp parallel for schedule(static)
	for (long i = 0; i < ROWS; i++)
		for (long j = 0; j < COLUMNS; j++)
			grid[i * COLUMNS + j] = next[i * COLUMNS + j] =
				start(i, j);
}

static void sweep(double *to, const double *from)
{
#pragma omp parallel for schedule(static)
	for (long i = 0; i < ROWS; i++) {
		const double *up = from + (i ? i - 1 : i) * COLUMNS;
		const double *at = from + i * COLUMNS;
		const double *down = from + (i < ROWS - 1 ? i + 1 : i) *
						    COLUMNS;

		for (long j = 1; j < COLUMNS - 1; j++)
			to[i * COLUMNS + j] = 0.2 * (at[j - 1] + at[j] +
						     at[j + 1] + up[j] +
						     down[j]);
	}
}

int main(int argc, char **argv)
{
	double sum = 0, *swap;

	grid = malloc(ROWS * COLUMNS * sizeof(double));
	next = malloc(ROWS * COLUMNS * sizeof(double));
	if (!grid || !next)
		return 1;
	if (argc > 1 && !strcmp(argv[1], "--parallel-init"))
		init_parallel();
	else
		init_serial();
	for (int s = 0; s < SWEEPS; s++) {
		sweep(next, grid);
		swap = grid;
		grid = next;
		next = swap;
	}
	for (long i = 0; i < ROWS * COLUMNS; i += 1001)
		sum += grid[i];
	printf("stencil %.9e\n", sum);
	return 0;
}
