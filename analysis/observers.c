// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/observers.h"

#include <errno.h>
#include <stdlib.h>

#define BATCHES 32

struct batch {
	size_t count;
	struct moca_observed items[MOCA_OBSERVERS_BATCH];
};

struct observer {
	struct moca_observers *all;
	moca_observer_fn *take;
	void *arg;
	pthread_t thread;
	size_t taken;			/* batches so far */
};

struct moca_observers {
	struct observer observers[MOCA_OBSERVERS_MAX];
	size_t count;
	pthread_mutex_t lock;		/* of what follows, and of taken */
	pthread_cond_t put_one;
	pthread_cond_t took_one;
	size_t put;			/* batches so far */
	int ended;
	/* The walk's own: the batch that it fills. */
	struct batch *filling;
	struct batch batches[BATCHES];	/* number n is at n % BATCHES */
};

static void *run(void *arg)
{
	struct observer *o = arg;
	struct moca_observers *s = o->all;
	const struct batch *b;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		while (o->taken == s->put && !s->ended)
			pthread_cond_wait(&s->put_one, &s->lock);
		if (o->taken == s->put)
			break;
		b = &s->batches[o->taken % BATCHES];
		pthread_mutex_unlock(&s->lock);
		o->take(o->arg, b->items, b->count);
		pthread_mutex_lock(&s->lock);
		o->taken++;
		pthread_cond_signal(&s->took_one);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct moca_observers *moca_observers_new(void)
{
	struct moca_observers *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->put_one, NULL);
	pthread_cond_init(&s->took_one, NULL);
	s->filling = &s->batches[0];
	return s;
}

int moca_observers_add(struct moca_observers *s, moca_observer_fn *take,
		       void *arg)
{
	struct observer *o = &s->observers[s->count];
	int err;

	if (s->count == MOCA_OBSERVERS_MAX)
		return -EINVAL;
	*o = (struct observer){ .all = s, .take = take, .arg = arg };
	err = pthread_create(&o->thread, NULL, run, o);
	if (!err)
		s->count++;
	return -err;
}

/* Has each taken enough that the next batch may be filled? */
static int has_room(const struct moca_observers *s)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->put - s->observers[i].taken == BATCHES)
			return 0;
	return 1;
}

/* Hand over the batch that is being filled, and wait for another. */
static void hand_over(struct moca_observers *s)
{
	pthread_mutex_lock(&s->lock);
	s->put++;
	pthread_cond_broadcast(&s->put_one);
	while (!has_room(s))
		pthread_cond_wait(&s->took_one, &s->lock);
	pthread_mutex_unlock(&s->lock);
	s->filling = &s->batches[s->put % BATCHES];
	s->filling->count = 0;
}

void moca_observers_put(void *arg, const struct moca_observed *x)
{
	struct moca_observers *s = arg;
	struct batch *b = s->filling;

	b->items[b->count++] = *x;
	if (b->count == MOCA_OBSERVERS_BATCH)
		hand_over(s);
}

void moca_observers_end(struct moca_observers *s)
{
	size_t i;

	if (!s)
		return;
	if (s->filling->count)
		hand_over(s);
	pthread_mutex_lock(&s->lock);
	s->ended = 1;
	pthread_cond_broadcast(&s->put_one);
	pthread_mutex_unlock(&s->lock);
	for (i = 0; i < s->count; i++)
		pthread_join(s->observers[i].thread, NULL);
	pthread_cond_destroy(&s->took_one);
	pthread_cond_destroy(&s->put_one);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
