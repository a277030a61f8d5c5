// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "collect/run/jit.h"
#include "collect/run/recorder.h"
#include "lib/base/bytes.h"

struct queue {
	pthread_mutex_t lock;
	struct message *head, **tail;
	int fd;
	uint64_t lost, missed;	/* read when all other threads ended */
	struct jit *jit;
};

struct queue *queue_new(struct jit *jit)
{
	struct queue *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	pthread_mutex_init(&q->lock, NULL);
	q->jit = jit;
	q->tail = &q->head;
	q->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (q->fd < 0) {
		free(q);
		return NULL;
	}
	return q;
}

struct message *message_new(struct queue *q, enum message_kind kind, size_t n,
			    const char *name)
{
	size_t len = name ? strlen(name) + 1 : 0;
	struct message *m;

	m = calloc(1, sizeof(*m) + n * sizeof(struct extent) + len);
	if (!m) {
		queue_lose(q, 1);
		return NULL;
	}
	m->kind = kind;
	m->task = MOCA_NO_TASK;
	m->extents = (struct extent *)(m + 1);
	m->event.name = "";
	if (name)
		m->event.name = memcpy(&m->extents[n], name, len);
	return m;
}

struct message *message_of_extents(struct queue *q, enum message_kind kind,
				   struct space *space, uint64_t start,
				   uint64_t end, const struct extent *extents,
				   size_t n, const char *name)
{
	struct message *m = message_new(q, kind, n, name);

	if (!m)
		return NULL;
	if (n)
		memcpy(m->extents, extents, n * sizeof(*extents));
	m->extent_count = n;
	m->space = space;
	m->start = start;
	m->end = end;
	return m;
}

void message_free(struct message *m)
{
	if (m)
		free(m->placed);
	free(m);
}

void queue_push(struct queue *q, struct message *m)
{
	jit_message(q->jit, m);
	pthread_mutex_lock(&q->lock);
	/* Stamped under the lock, so that order is order of time. */
	m->time_ns = moca_now_ns();
	m->event.time_ns = m->time_ns;
	m->next = NULL;
	*q->tail = m;
	q->tail = &m->next;
	pthread_mutex_unlock(&q->lock);
}

void queue_lose(struct queue *q, uint64_t n)
{
	pthread_mutex_lock(&q->lock);
	q->lost = moca_add_sat(q->lost, n);
	pthread_mutex_unlock(&q->lock);
}

void queue_miss(struct queue *q, uint64_t n)
{
	pthread_mutex_lock(&q->lock);
	q->missed = moca_add_sat(q->missed, n);
	pthread_mutex_unlock(&q->lock);
}

uint64_t queue_lost(const struct queue *q)
{
	return q->lost;
}

uint64_t queue_missed(const struct queue *q)
{
	return q->missed;
}

void queue_wake(struct queue *q)
{
	uint64_t one = 1;

	if (write(q->fd, &one, sizeof(one)) < 0)
		return;		/* full: it is awake */
}

void queue_visit(struct queue *q,
		 void (*visit)(const struct message *m, void *arg), void *arg)
{
	pthread_mutex_lock(&q->lock);
	for (const struct message *m = q->head; m; m = m->next)
		visit(m, arg);
	pthread_mutex_unlock(&q->lock);
}

struct message *queue_take(struct queue *q)
{
	struct message *m;

	pthread_mutex_lock(&q->lock);
	m = q->head;
	q->head = NULL;
	q->tail = &q->head;
	pthread_mutex_unlock(&q->lock);
	return m;
}

struct message *queue_append(struct queue *q, struct message **list)
{
	while (*list)
		list = &(*list)->next;
	*list = queue_take(q);
	return *list;
}

void queue_awake(struct queue *q)
{
	uint64_t n;

	if (read(q->fd, &n, sizeof(n)) < 0)
		return;		/* nobody called */
}

int queue_fd(const struct queue *q)
{
	return q->fd;
}
