/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accesses, from the thread that reads the trace and finds their objects to one
 * that looks at their pages: each takes about as long as the other. In batches;
 * the reader waits when all are full.
 */
#ifndef MOCA_PROFILE_QUEUE_H
#define MOCA_PROFILE_QUEUE_H

#include <pthread.h>

#include "analysis/objects/objects.h"

#define QUEUE_BATCH 4096
#define QUEUE_BATCHES 8

struct queue_item {
	struct moca_observed x;	/* x.access is a below */
	struct moca_access a;
	uint64_t hash;		/* for who takes it */
};

struct queue_batch {
	size_t count;
	struct queue_item items[QUEUE_BATCH];
};

struct queue {
	void (*take)(void *arg, struct queue_batch *b);
	void *arg;
	pthread_t thread;
	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t changed;
	size_t put, taken;		/* batches so far */
	int ended;
	struct queue_batch *batches;	/* number n is at n % QUEUE_BATCHES */
};

/* take is called in a thread of its own. 0 or -errno. */
int queue_start(struct queue *q, void (*take)(void *arg, struct queue_batch *b),
		void *arg);
void queue_put(struct queue *q, const struct moca_observed *x);
/* Wait until all are taken. */
void queue_end(struct queue *q);

#endif
