// SPDX-License-Identifier: GPL-2.0-or-later
/* A library that starts a thread when it is loaded. */
#include <pthread.h>
#include <unistd.h>

static void *wait_on(void *arg)
{
	for (;;)
		pause();
	return arg;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t t;

	pthread_create(&t, NULL, wait_on, NULL);
}
