// SPDX-License-Identifier: GPL-2.0-or-later
/* A program with a libmocatrace of its own: two tracers in each thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <moca/trace.h>

#define STEPS 500
#define THREADS 3

MOCA_EVENT(own, step, (u32, number));

static void *work(void *arg)
{
	void *p;
	int i;

	for (i = 0; i < STEPS; i++) {
		moca_trace_own_step(i);
		p = malloc(77777);
		__asm__ volatile("" : "+r"(p));
		free(p);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];
	int i;

	work(NULL);
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, work, NULL))
			return 1;
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	work(NULL);
	printf("steps %d\n", STEPS * (THREADS + 2));
	return 0;
}
