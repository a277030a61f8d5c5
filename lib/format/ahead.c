// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/ahead.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

enum { QUEUED, RUNNING, DONE };

struct moca_ahead {
	pthread_t thread;
	int threads;			/* -1 = not yet started, 0 = cannot be */
	unsigned cursors;
	pthread_mutex_t lock;		/* of what follows, and of states */
	pthread_cond_t put_one;
	pthread_cond_t did_one;
	struct moca_ahead_job *first;	/* queued, in the order of put */
	uint64_t done;
	int ended;
};

static void *run(void *arg)
{
	struct moca_ahead *a = arg;
	struct moca_ahead_job *job;

	pthread_mutex_lock(&a->lock);
	for (;;) {
		while (!a->first && !a->ended)
			pthread_cond_wait(&a->put_one, &a->lock);
		job = a->first;
		if (!job)
			break;
		a->first = job->next;
		job->state = RUNNING;
		pthread_mutex_unlock(&a->lock);
		job->work(job);
		pthread_mutex_lock(&a->lock);
		job->state = DONE;
		a->done++;
		pthread_cond_signal(&a->did_one);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* May this process use more than one CPU? More than fit into a set are many. */
static int has_cpus(void)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) ||
	       CPU_COUNT(&cpus) > 1;
}

static int start(struct moca_ahead *a)
{
	sigset_t all, old;
	int err;

	if (!has_cpus())
		return 0;
	/* Signals are the caller's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&a->thread, NULL, run, a);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return !err;
}

struct moca_ahead *moca_ahead_new(void)
{
	struct moca_ahead *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->threads = -1;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->put_one, NULL);
	pthread_cond_init(&a->did_one, NULL);
	return a;
}

void moca_ahead_free(struct moca_ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->ended = 1;
	pthread_cond_signal(&a->put_one);
	pthread_mutex_unlock(&a->lock);
	if (a->threads > 0)
		pthread_join(a->thread, NULL);
	pthread_cond_destroy(&a->did_one);
	pthread_cond_destroy(&a->put_one);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

int moca_ahead_join(struct moca_ahead *a)
{
	if (a->threads < 0)
		a->threads = start(a);
	if (!a->threads || a->cursors == MOCA_AHEAD_CURSORS_MAX)
		return 0;
	a->cursors++;
	return 1;
}

void moca_ahead_leave(struct moca_ahead *a)
{
	a->cursors--;
}

void moca_ahead_put(struct moca_ahead *a, struct moca_ahead_job *job)
{
	struct moca_ahead_job **at = &a->first;

	pthread_mutex_lock(&a->lock);
	while (*at)
		at = &(*at)->next;
	job->next = NULL;
	job->state = QUEUED;
	*at = job;
	pthread_cond_signal(&a->put_one);
	pthread_mutex_unlock(&a->lock);
}

int moca_ahead_take(struct moca_ahead *a, struct moca_ahead_job *job)
{
	struct moca_ahead_job **at = &a->first;
	int done;

	pthread_mutex_lock(&a->lock);
	while (job->state == RUNNING)
		pthread_cond_wait(&a->did_one, &a->lock);
	done = job->state == DONE;
	if (!done) {
		while (*at != job)
			at = &(*at)->next;
		*at = job->next;
	}
	pthread_mutex_unlock(&a->lock);
	return done;
}

uint64_t moca_ahead_done(struct moca_ahead *a)
{
	uint64_t done;

	pthread_mutex_lock(&a->lock);
	done = a->done;
	pthread_mutex_unlock(&a->lock);
	return done;
}
