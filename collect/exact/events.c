// SPDX-License-Identifier: GPL-2.0-or-later
/* Events on their way to the trace: kept, put into order, written by many. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/exact/harvest.h"
#include "collect/run/queue.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"

#define ANCESTORS_MAX 64

struct kept {
	struct moca_change event;	/* event.name is ours */
	size_t number;			/* to keep what is of the same time */
};

static void clear(struct counted_task *t)
{
	for (size_t i = 0; i < t->event_count; i++)
		free((char *)t->events[i].event.name);
	t->event_count = 0;
}

/* Its name, as a reader of its changes finds it. */
static void keep_name(struct counted_task *t, const struct moca_change *e)
{
	const char *slash = e->type == MOCA_CHANGE_EXEC && e->name ?
				    strrchr(e->name, '/') : NULL;

	if (e->name && (e->type == MOCA_CHANGE_TASK_START ||
			e->type == MOCA_CHANGE_NAME ||
			e->type == MOCA_CHANGE_EXEC))
		snprintf(t->name, sizeof(t->name), "%.15s",
			 slash ? slash + 1 : e->name);
}

void events_add(struct harvest *h, struct counted_task *t, const struct moca_change *e)
{
	struct kept *p;

	if (t->event_count >= TASK_EVENTS)
		events_write(h, t);
	if (moca_vec_fit(t->events, t->event_room, t->event_count + 1))
		goto lost;
	p = &t->events[t->event_count];
	p->event = *e;
	p->event.name = strdup(e->name ? e->name : "");
	p->number = t->event_count;
	keep_name(t, e);
	if (e->type == MOCA_CHANGE_TASK_START)
		t->parent = e->parent;
	if (!p->event.name)
		goto lost;
	t->event_count++;
	return;
lost:
	queue_lose(h->rec->queue, 1);
}

void events_place(struct counted_task *t, const struct moca_exact_slot *s)
{
	for (size_t i = 0; i < t->event_count; i++) {
		struct moca_change *e = &t->events[i].event;

		if (e->type != MOCA_CHANGE_TASK_START ||
		    !(e->flags & MOCA_TASK_THREAD))
			continue;
		e->addr = s->stack;
		e->offset = s->tls;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->event.time_ns != y->event.time_ns)
		return x->event.time_ns < y->event.time_ns ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* The stack of a thread is known when its slot is. */
static int must_wait(const struct counted_task *t)
{
	return t->arena && t->slot < 0 && t->fresh &&
	       t->event_count < TASK_EVENTS;
}

static void write_events(struct harvest *h, struct counted_task *t)
{
	struct moca_change list[TASK_EVENTS];
	size_t n;
	int err;

	if (h->recording.failed) {
		clear(t);
		return;
	}
	/* The supervisor's and the agent's come by different ways. */
	qsort(t->events, t->event_count, sizeof(*t->events), by_time);
	for (n = 0; n < t->event_count; n++) {
		list[n] = t->events[n].event;
		if (list[n].time_ns < t->last_ns)
			list[n].time_ns = t->last_ns;
		t->last_ns = list[n].time_ns;
	}
	err = moca_writer_changes(h->writer, t->id, list, n);
	clear(t);
	if (err)
		recording_fail(&h->recording, err, "write the trace");
}

void events_write(struct harvest *h, struct counted_task *t)
{
	struct counted_task *line[ANCESTORS_MAX];
	size_t n = 0;

	if (!t->event_count || must_wait(t))
		return;
	/*
	 * Who made it first: wherever the disk is full, no file speaks of a task
	 * that there is none of.
	 */
	for (; t && n < ANCESTORS_MAX; t = harvest_task(h, t->parent)) {
		line[n++] = t;
		if (t->last_ns || t->parent >= t->id)
			break;
	}
	while (n--)
		if (line[n]->event_count)
			write_events(h, line[n]);
}
