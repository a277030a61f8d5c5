// SPDX-License-Identifier: GPL-2.0-or-later
/* One thread writes `written`, another reads `table`, until SIGTERM, SIGUSR1 or the end of stdin. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BYTES (4u << 20)

static char written[BYTES], table[BYTES];
static volatile sig_atomic_t end;

static void on_end(int sig)
{
	end = sig;
}

static void *writer(void *arg)
{
	for (unsigned i = 0; !end; i++)
		for (size_t k = 0; k < BYTES; k += 64)
			((volatile char *)written)[k] = (char)i;
	return arg;
}

static void *reader(void *arg)
{
	unsigned long sum = 0;

	while (!end)
		for (size_t k = 0; k < BYTES; k += 64)
			sum += (unsigned long)((volatile char *)table)[k];
	return sum == 1 ? NULL : arg;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = on_end };
	pthread_t a, b;
	char c;

	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	memset(table, 0, BYTES);
	if (pthread_create(&a, NULL, writer, NULL) ||
	    pthread_create(&b, NULL, reader, NULL))
		return 1;
	puts("begins");
	fflush(stdout);
	while (!end && read(STDIN_FILENO, &c, 1) > 0)
		;
	/* A signal that comes just before it is not missed for long. */
	while (!end)
		sleep(1);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	puts("ends in order");
	return 0;
}
