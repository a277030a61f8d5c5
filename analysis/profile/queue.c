// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/profile/queue.h"

#include <errno.h>
#include <stdlib.h>

static void *run(void *arg)
{
	struct queue *q = arg;
	struct queue_batch *b;

	pthread_mutex_lock(&q->lock);
	for (;;) {
		while (q->taken == q->put && !q->ended)
			pthread_cond_wait(&q->changed, &q->lock);
		if (q->taken == q->put)
			break;
		b = &q->batches[q->taken % QUEUE_BATCHES];
		pthread_mutex_unlock(&q->lock);
		q->take(q->arg, b);
		pthread_mutex_lock(&q->lock);
		q->taken++;
		pthread_cond_signal(&q->changed);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

int queue_start(struct queue *q, void (*take)(void *arg, struct queue_batch *b),
		void *arg)
{
	int err;

	*q = (struct queue){ .take = take, .arg = arg };
	q->batches = calloc(QUEUE_BATCHES, sizeof(*q->batches));
	if (!q->batches)
		return -ENOMEM;
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->changed, NULL);
	err = pthread_create(&q->thread, NULL, run, q);
	if (!err)
		return 0;
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
	free(q->batches);
	return -err;
}

/* Hand over the batch that is being filled, and wait for another. */
static void hand_over(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->put++;
	pthread_cond_signal(&q->changed);
	while (q->put - q->taken == QUEUE_BATCHES)
		pthread_cond_wait(&q->changed, &q->lock);
	q->batches[q->put % QUEUE_BATCHES].count = 0;
	pthread_mutex_unlock(&q->lock);
}

void queue_put(struct queue *q, const struct moca_observed *x)
{
	struct queue_batch *b = &q->batches[q->put % QUEUE_BATCHES];
	struct queue_item *i = &b->items[b->count++];

	i->a = *x->access;
	i->x = *x;
	i->x.access = &i->a;
	if (b->count == QUEUE_BATCH)
		hand_over(q);
}

void queue_end(struct queue *q)
{
	if (q->batches[q->put % QUEUE_BATCHES].count)
		hand_over(q);
	pthread_mutex_lock(&q->lock);
	q->ended = 1;
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
	free(q->batches);
}
