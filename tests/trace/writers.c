// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: writers THREADS COUNT [signals] [progress FILE] [pace] [wait] [together]
 *
 * THREADS threads emit COUNT numbered events each (0: for ever); thread i is
 * writer 4 (i mod 16). signals: each is interrupted by three timers, whose
 * handlers nest and emit as the writers 1, 2 and 3 above that. progress: after
 * each event its number is stored in FILE (u64 per thread and level, mapped),
 * for whoever kills us. pace: rest now and then, so that nothing need be
 * dropped. wait: do not begin before a line comes on stdin. together: no thread
 * goes on before each has emitted one. Prints how many events each level emitted.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "seq.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define LEVELS 3
#define THREADS_MAX 1024

struct state {
	uint32_t writer;
	uint64_t next[LEVELS + 1];
	uint64_t *progress;
};

static __thread struct state *self;
static struct state states[THREADS_MAX];
static uint64_t count;
static int with_signals, with_pace, together;
static pthread_barrier_t begun;

static void emit(int level)
{
	struct state *s = self;
	uint64_t n = s->next[level]++;

	seq_emit(s->writer + level, n);
	if (s->progress)
		__atomic_store_n(&s->progress[level], n + 1,
				 __ATOMIC_RELEASE);
}

static void handler(int sig)
{
	int i;

	for (i = 0; self && i < 3; i++)
		emit(sig - SIGRTMIN);
}

/* Each level may be interrupted by the ones above. */
static void start_timers(void)
{
	struct itimerspec period = { { 0, 0 }, { 0, 0 } };
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID };
	timer_t timer;
	int i;

	ev.sigev_notify_thread_id = syscall(SYS_gettid);
	for (i = 1; i <= LEVELS; i++) {
		ev.sigev_signo = SIGRTMIN + i;
		period.it_interval.tv_nsec = 40000 * (5 - i) + 1;
		period.it_value = period.it_interval;
		if (timer_create(CLOCK_MONOTONIC, &ev, &timer) ||
		    timer_settime(timer, 0, &period, NULL))
			perror("writers: timer");
	}
}

static void install_handlers(void)
{
	struct sigaction sa = { .sa_handler = handler };
	int i, j;

	for (i = 1; i <= LEVELS; i++) {
		sigemptyset(&sa.sa_mask);
		for (j = 1; j <= i; j++)
			sigaddset(&sa.sa_mask, SIGRTMIN + j);
		sigaction(SIGRTMIN + i, &sa, NULL);
	}
}

static void *work(void *arg)
{
	uint64_t i;
	sigset_t all;

	self = arg;
	if (with_signals)
		start_timers();
	for (i = 0; !count || i < count; i++) {
		emit(0);
		if (together && !i)
			pthread_barrier_wait(&begun);
		if (with_pace && i % 100 == 99)
			usleep(100);
	}
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	return NULL;
}

static void map_progress(const char *path, int threads)
{
	size_t len = threads * (LEVELS + 1) * sizeof(uint64_t);
	int fd = open(path, O_RDWR | O_CREAT, 0600), i;
	uint64_t *p;

	if (fd < 0 || ftruncate(fd, len)) {
		perror(path);
		exit(2);
	}
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		exit(2);
	close(fd);
	for (i = 0; i < threads; i++)
		states[i].progress = p + i * (LEVELS + 1);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	uint64_t emitted[LEVELS + 1] = { 0 };
	int i, j, n = argc > 2 ? atoi(argv[1]) : 0;

	if (n < 1 || n > THREADS_MAX) {
		fprintf(stderr, "usage: writers THREADS COUNT [signals] [progress FILE] [pace] [wait] [together]\n");
		return 2;
	}
	count = strtoull(argv[2], NULL, 0);
	for (i = 3; i < argc; i++) {
		if (!strcmp(argv[i], "signals"))
			with_signals = 1;
		else if (!strcmp(argv[i], "progress") && i + 1 < argc)
			map_progress(argv[++i], n);
		else if (!strcmp(argv[i], "pace"))
			with_pace = 1;
		else if (!strcmp(argv[i], "together"))
			together = 1;
		else if (!strcmp(argv[i], "wait"))
			getchar();
	}
	install_handlers();
	pthread_barrier_init(&begun, NULL, n);
	for (i = 0; i < n; i++) {
		states[i].writer = i % 16 * (LEVELS + 1);
		if (pthread_create(&threads[i], NULL, work, &states[i]))
			return 2;
	}
	for (i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		for (j = 0; j <= LEVELS; j++)
			emitted[j] += states[i].next[j];
	}
	for (j = 0; j <= LEVELS; j++)
		printf("%" PRIu64 "%s", emitted[j], j < LEVELS ? " " : "\n");
	return 0;
}
