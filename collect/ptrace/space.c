// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/space.h"

#include <stdlib.h>

#include "collect/ptrace/way.h"
#include "collect/run/queue.h"
#include "collect/run/recorder.h"

struct space *space_new(struct recorder *rec, pid_t pid)
{
	const struct trace_way *way = rec->way->traced;
	struct space *s = calloc(1, way->space_bytes);

	if (!s)
		return NULL;
	s->refs = 1;
	s->pid = pid;
	if (way->space_begin)
		way->space_begin(s);
	pthread_mutex_lock(&rec->space_lock);
	s->id = rec->space_count++;
	s->next = rec->spaces;
	rec->spaces = s;
	pthread_mutex_unlock(&rec->space_lock);
	return s;
}

struct space *space_get(struct space *s)
{
	s->refs++;
	s->shared = 1;
	return s;
}

void space_put(struct recorder *rec, struct space *s)
{
	struct message *m;

	if (!s || --s->refs)
		return;
	if (rec->way->traced->space_end)
		rec->way->traced->space_end(rec, s);
	m = message_new(rec->queue, MSG_SPACE_END, 0, NULL);
	if (!m)
		return;
	m->space = s;
	queue_push(rec->queue, m);
}

void space_free(struct recorder *rec, struct space *s)
{
	struct space **p;

	pthread_mutex_lock(&rec->space_lock);
	for (p = &rec->spaces; *p; p = &(*p)->next)
		if (*p == s) {
			*p = s->next;
			break;
		}
	pthread_mutex_unlock(&rec->space_lock);
	if (rec->way->traced->space_free)
		rec->way->traced->space_free(s);
	free(s);
}
