/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sanitizers see, and what they have nothing to say of; built with each. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int shared;
static void *volatile kept;

static void *add(void *arg)
{
	for (int i = 0; i < 1000; i++)
		shared++;
	return arg;
}

static int race(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, add, NULL);
	pthread_create(&b, NULL, add, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}

static int good(void)
{
	long sum = 0;
	pthread_t t;

	for (int i = 1; i < 3000; i++) {
		int *p = malloc(i * sizeof(*p));

		memset(p, i, i * sizeof(*p));
		sum += p[i / 2];
		free(p);
		if (i % 1000 == 0)
			usleep(30000);
	}
	pthread_create(&t, NULL, add, NULL);
	pthread_join(t, NULL);
	if (!fork())
		_exit(sum & 1);
	wait(NULL);
	printf("%ld %d\n", sum, shared);
	return 0;
}

int main(int argc, char **argv)
{
	volatile int n = argc + 30, *p = malloc(16 * sizeof(*p));
	const char *what = argv[1];

	usleep(60000);
	if (!strcmp(what, "good")) {
		free((void *)p);
		return good();
	}
	if (!strcmp(what, "race"))
		return race();
	if (!strcmp(what, "leak")) {
		for (int i = 0; i < 10; i++)
			kept = malloc(1000);
		kept = NULL;
		p = NULL;
	} else if (!strcmp(what, "overflow")) {
		p[n - 16] = 1;
	} else if (!strcmp(what, "freed")) {
		free((void *)p);
		p[3] = 1;
	} else if (!strcmp(what, "shift")) {
		printf("%d\n", 1 << n << 4);
	} else if (!strcmp(what, "unset")) {
		if (p[3])
			puts("set");
	}
	return 0;
}
