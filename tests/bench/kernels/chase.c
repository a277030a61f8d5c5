/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two threads follow a random cycle through SIZE MiB of cache lines, from two
 * places: nothing but latency, and a page per step.
 */
#include "kernel.h"

struct line {
	uint32_t next;
	uint32_t value;
	char rest[56];
};

int main(int argc, char **argv)
{
	long lines = argument(argc, argv, 1, 256) << 20 >> 6;
	long steps = argument(argc, argv, 2, 14000000);
	struct line *l = memory(lines * sizeof(*l));
	uint64_t sums[2] = { 0 };

	for (long i = 0; i < lines; i++) {
		l[i].next = i;
		l[i].value = noise(i);
	}
	for (long i = lines - 1; i > 0; i--) { /* Sattolo: a single cycle */
		long j = noise(i) % i;
		uint32_t t = l[i].next;

		l[i].next = l[j].next;
		l[j].next = t;
	}
#pragma omp parallel for schedule(static, 1)
	for (int t = 0; t < 2; t++) {
		uint32_t at = t * (lines / 2);
		uint64_t sum = 0;

		for (long s = 0; s < steps; s++) {
			sum += l[at].value;
			at = l[at].next;
		}
		sums[t] = sum;
	}
	printf("chase %016lx\n", sums[0] ^ sums[1] << 1);
	return 0;
}
