// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: many N THREADS
 * N small allocations in each thread, of which a window lives, in its own arena.
 */
#include <pthread.h>

#include "expect.h"

#define WINDOW 4096

static long count;

EXPECT_NOINLINE static char *make_node(long i)
{
	char *node = malloc(16 + i % 7 * 32);

	node[0] = 1;
	return node;
}

static void *churn(void *arg)
{
	char **window = calloc(WINDOW, sizeof(*window));

	for (long i = 0; i < count; i++) {
		free(window[i * 7919 % WINDOW]);
		window[i * 7919 % WINDOW] = make_node(i);
	}
	for (long i = 0; i < WINDOW; i++)
		free(window[i]);
	free(window);
	return arg;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t t[64];

	count = argc > 1 ? atol(argv[1]) : 1000;
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, churn, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	printf("small window[] %ld\n", count * threads);
	return 0;
}
