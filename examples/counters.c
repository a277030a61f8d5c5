// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * counters [--apart]: two threads count, each its own counter. The counters are
 * neighbours in one cache line, which goes from CPU to CPU (false sharing).
 * --apart: each counter has a line of its own.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define THREADS 2
#define LINE 64
#define STEPS 100000000

struct counter {
	volatile long n;
	long step;
};

#define PER_LINE (LINE / sizeof(struct counter))

static _Alignas(LINE) struct counter counters[THREADS * PER_LINE];

static void *count(void *of)
{
	struct counter *c = of;

	for (long i = 0; i < STEPS; i++)
		c->n += c->step;
	return NULL;
}

int main(int argc, char **argv)
{
	int apart = argc > 1 && !strcmp(argv[1], "--apart");
	struct counter *of[THREADS] = { counters,
					counters + (apart ? PER_LINE : 1) };
	pthread_t t[THREADS];
	long sum = 0;

	for (int i = 0; i < THREADS; i++) {
		of[i]->step = 1;
		if (pthread_create(t + i, NULL, count, of[i]))
			return 1;
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		sum += of[i]->n;
	}
	printf("%ld\n", sum);
	return 0;
}
