/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread executes a program, while the leader, whose thread id it takes, makes
 * calls that memory or processes come from. Again and again: each image is the
 * next round.
 */
#include "case.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define ROUNDS 15
/* Copying so much takes the kernel a while, before it ends the leader. */
#define FILLERS 14
#define FILLER (120ul << 10)

static char **args;
static int round_number;
static atomic_int busy;	/* calls of the leader */

static void *executes(void *how)
{
	char *argv[FILLERS + 4] = { args[0], args[1] }, number[16];
	char *filler = malloc(FILLER);

	CHECK(filler);
	memset(filler, 'x', FILLER - 1);
	filler[FILLER - 1] = 0;
	snprintf(number, sizeof(number), "%d", round_number + 1);
	argv[2] = number;
	for (int i = 0; i < FILLERS; i++)
		argv[3 + i] = filler;
	while (atomic_load(&busy) < 3)
		;
	if (how)	/* these are refused */
		for (int i = 0; i < 3; i++)
			CHECK(execv("/nonexistent", argv) < 0 &&
			      errno == ENOENT);
	execv("/proc/self/exe", argv);
	CHECK(!"exec");
	return NULL;
}

/* 1: the last round. */
static int last_round(void *how)
{
	pthread_t t;
	int status;

	/* What earlier images have begun. */
	while (wait(&status) > 0)
		CHECK(!status);
	CHECK(errno == ECHILD);
	if (round_number == ROUNDS) {
		printf("round %d\n", round_number);
		return 1;
	}
	CHECK(!pthread_create(&t, NULL, executes, how));
	return 0;
}

static void maps(void)
{
	if (last_round(NULL))
		return;
	for (;; atomic_fetch_add(&busy, 1))
		CHECK(!munmap(map_pages(1), PAGE));
}

static void forks(void)
{
	pid_t pid;

	if (last_round(NULL))
		return;
	for (;; atomic_fetch_add(&busy, 1)) {
		pid = fork();
		if (!pid)
			_exit(0);
		wait_ok(pid);
	}
}

static void refused(void)
{
	if (last_round(""))
		return;
	for (;; atomic_fetch_add(&busy, 1))
		CHECK(!munmap(map_pages(1), PAGE));
}

static const struct test_case cases[] = {
	{ "maps", maps },
	{ "forks", forks },
	{ "refused", refused },
	{ 0 },
};

int main(int argc, char **argv)
{
	args = argv;
	round_number = argc > 2 ? atoi(argv[2]) : 0;
	return cases_main(argc, argv, cases);
}
