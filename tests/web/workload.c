// SPDX-License-Identifier: GPL-2.0-or-later
/* What tests/web/run records: two threads, a buffer of each, one of both. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define PAGES 256
#define PAGE 4096

static volatile char *shared_buffer;

static void *work(void *arg)
{
	volatile char *own_buffer = malloc(PAGES * PAGE);
	long number = (long)arg, i, k;
	struct timespec t = { .tv_nsec = 2000000 };

	for (k = 0; k < 100; k++) {
		for (i = 0; i < PAGES; i++)
			own_buffer[i * PAGE]++;
		for (i = number; i < PAGES; i += 2)
			shared_buffer[i * PAGE] += shared_buffer[(i ^ 1) * PAGE];
		nanosleep(&t, NULL);
	}
	free((void *)own_buffer);
	return NULL;
}

int main(void)
{
	pthread_t t;
	long i;

	shared_buffer = malloc(PAGES * PAGE);
	for (i = 0; i < PAGES; i++)
		shared_buffer[i * PAGE] = 1;
	if (pthread_create(&t, NULL, work, (void *)1))
		return 1;
	work((void *)0);
	pthread_join(t, NULL);
	return 0;
}
