/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program to trace: it writes and checks memory, makes threads and children,
 * and, when held, says whether pages that it has are still made to fault.
 */
#ifndef MOCA_TESTS_VM_BUSY_H
#define MOCA_TESTS_VM_BUSY_H

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "session.h"

#define BUSY_PAGES 128		/* that are written and checked */
#define PROBE_PAGES 256		/* that are touched when held only */

struct busy {			/* shared with the parent */
	volatile int hold, held, stop, wrong;
	volatile long faults;	/* of touching the probe again, when held */
	volatile long late;	/* the same in a child that was made before */
	volatile long loops;
	volatile int children;	/* make some */
	pid_t pid;
};

static struct busy *busy_me;
static unsigned char *busy_probe;

/* Native faults of reading all of the probe: 0, but for what was injected. */
static long busy_retouch(void)
{
	struct rusage before, after;

	/* The first call brings our own pages here. */
	getrusage(RUSAGE_THREAD, &after);
	getrusage(RUSAGE_THREAD, &before);
	for (size_t i = 0; i < PROBE_PAGES; i++)
		(void)((volatile unsigned char *)busy_probe)[i * PAGE];
	getrusage(RUSAGE_THREAD, &after);
	return after.ru_minflt + after.ru_majflt - before.ru_minflt -
	       before.ru_majflt;
}

static void *busy_map(size_t pages)
{
	char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(90);
	madvise(p, pages * PAGE, MADV_NOHUGEPAGE);
	memset(p, 1, pages * PAGE);
	return p;
}

static void *busy_short_thread(void *arg)
{
	volatile char mine[3 * PAGE];

	mine[0] = mine[PAGE] = mine[2 * PAGE] = 1;
	return NULL;
}

static void *busy_threads(void *arg)
{
	while (!busy_me->stop) {
		pthread_t t;

		if (!busy_me->hold &&
		    !pthread_create(&t, NULL, busy_short_thread, NULL))
			pthread_join(t, NULL);
		else
			usleep(500);
	}
	return NULL;
}

static void busy_work(unsigned long *m, unsigned long round)
{
	for (size_t i = 0; i < BUSY_PAGES; i++)
		m[i * 512 + i % 512] = i * 31 + round;
	for (size_t i = 0; i < BUSY_PAGES; i++)
		if (m[i * 512 + i % 512] != i * 31 + round)
			busy_me->wrong = 1;
}

/* A child checks what it was given, and leaves it changed. */
static void busy_child(unsigned long *m, unsigned long round)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		for (size_t i = 0; i < BUSY_PAGES; i++)
			if (m[i * 512 + i % 512] != i * 31 + round)
				_exit(1);
		busy_work(m, ~round);
		_exit(busy_me->wrong);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		busy_me->wrong = 2;
}

static void busy_main(void)
{
	unsigned long *m = busy_map(BUSY_PAGES);
	pthread_t t;

	busy_probe = busy_map(PROBE_PAGES);
	/* A session's word to programs that know of it (MOCA_IOC_BUFFERS). */
	signal(SIGRTMIN + 3, SIG_IGN);
	if (pthread_create(&t, NULL, busy_threads, NULL))
		_exit(91);
	for (unsigned long round = 1; !busy_me->stop; round++) {
		/* Made while it is traced, looks when nobody traces. */
		int go[2] = { -1, -1 }, status;
		pid_t late = 0;

		if (busy_me->children && !pipe(go)) {
			late = fork();
			if (!late) {
				char c;

				close(go[1]);
				if (read(go[0], &c, 1) < 0)
					_exit(92);
				/* Else it may be traced still. */
				if (busy_me->hold)
					busy_me->late += busy_retouch();
				_exit(0);
			}
		}
		for (int i = 0; i < 4; i++, round++) {
			busy_work(m, round);
			if (busy_me->children)
				busy_child(m, round);
		}
		busy_me->loops++;
		if (busy_me->hold) {
			usleep(2000);	/* the other thread has stopped */
			busy_me->faults = busy_retouch();
		}
		if (late > 0) {
			close(go[0]);
			close(go[1]);
			if (waitpid(late, &status, 0) != late || status)
				busy_me->wrong = 3;
		}
		if (busy_me->hold) {
			busy_me->held = 1;
			while (busy_me->hold && !busy_me->stop)
				usleep(500);
			busy_me->late = 0;
			busy_me->held = 0;
		}
	}
	pthread_join(t, NULL);
	_exit(busy_me->wrong != 0);
}

static struct busy *busy_start(int children)
{
	struct busy *b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	if (b == MAP_FAILED)
		die("memory of a program");
	b->children = children;
	pid = fork();
	if (!pid) {
		busy_me = b;
		busy_main();
	}
	if (pid < 0)
		die("fork of a program");
	b->pid = pid;
	while (!b->loops)
		usleep(1000);
	return b;
}

/* Hold it, and let it look at its pages. */
static inline void busy_hold(struct busy *b)
{
	b->hold = 1;
	for (int i = 0; !b->held; i++) {
		if (i > 30000) {
			errno = ETIMEDOUT;
			die("a program that should wait");
		}
		usleep(1000);
	}
}

static inline void busy_release(struct busy *b)
{
	b->hold = 0;
	while (b->held)
		usleep(200);
}

/* 1 if its data were right to the end. */
static inline int busy_end(struct busy *b)
{
	int status, good;

	b->stop = 1;
	waitpid(b->pid, &status, 0);
	good = !status && !b->wrong;
	munmap(b, sizeof(*b));
	return good;
}

#endif
