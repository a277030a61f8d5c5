/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a sanitizer has to look at: memory that is lost when it has an argument,
 * and else memory that a running thread holds in a register or on its stack.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_barrier_t barrier;
static void *kept;

static void *lose(void *arg)
{
	volatile char *p = malloc(12345);

	p[0] = 1;
	p = NULL;
	return arg;
}

static void *hold(void *arg)
{
	volatile char *p = malloc(777);

	pthread_barrier_wait(&barrier);
	for (;;)
		p[2]++;
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	kept = malloc(100);
	memset(kept, 1, 100);
	pthread_barrier_init(&barrier, NULL, 2);
	if (argc > 1) {
		pthread_create(&t, NULL, lose, NULL);
		pthread_join(t, NULL);
		lose(NULL);
	}
	pthread_create(&t, NULL, hold, NULL);
	pthread_barrier_wait(&barrier);
	printf("%s: %d\n", argc > 1 ? argv[1] : "none", ((char *)kept)[3]);
	return 0;
}
