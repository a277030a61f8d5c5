// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * live GO STOP: uses the array `early` until there is a file GO, then `late` as well
 * until there is a file STOP. What tests/web/live.py watches. With a third argument,
 * it tells signals, goes on behind SIGINT, and ends by SIGTERM.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGES 512
#define PAGE 4096

static void use(volatile char *a)
{
	for (long i = 0; i < PAGES; i++)
		a[i * PAGE]++;
}

static void tell(int sig)
{
	const char *text = sig == SIGINT ? "SIGINT\n" : "SIGTERM\n";

	if (write(STDOUT_FILENO, text, sig == SIGINT ? 7 : 8) < 0 ||
	    sig == SIGTERM)
		_exit(3);
}

int main(int argc, char **argv)
{
	volatile char *early, *late;

	if (argc < 3)
		return 1;
	/* Ahead of the array, which a page may show before it is used. */
	if (argc > 3) {
		signal(SIGINT, tell);
		signal(SIGTERM, tell);
	}
	early = malloc(PAGES * PAGE);
	if (!early)
		return 1;
	puts("begins");
	fflush(stdout);
	while (access(argv[1], F_OK))
		use(early);
	late = malloc(PAGES * PAGE);
	if (!late)
		return 1;
	while (access(argv[2], F_OK)) {
		use(early);
		use(late);
	}
	puts("ends in order");
	return 0;
}
