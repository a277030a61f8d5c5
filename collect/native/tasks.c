// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/native/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/run/jit.h"
#include "collect/run/queue.h"
#include "lib/base/vec.h"
#include "lib/format/writer.h"

/* Records kept for one task, and for all, before they are written early. */
#define TASK_RECORDS 32768u
#define ALL_RECORDS 400000u
#define MANY_RECORDS 256u
/* Events kept for one task. */
#define TASK_EVENTS 512u

struct native_task *native_task(struct native_tasks *ts, pid_t tid)
{
	struct native_task **bucket = &ts->buckets[(unsigned int)tid %
						   NATIVE_BUCKETS];
	struct native_task *t = *bucket;

	while (t && t->tid != tid)
		t = t->next;
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->tid = tid;
	t->id = MOCA_NO_TASK;
	t->next = *bucket;
	*bucket = t;
	return t;
}

void native_task_each(const struct native_tasks *ts, native_task_visit visit,
		      void *arg)
{
	for (unsigned int i = 0; i < NATIVE_BUCKETS; i++)
		for (struct native_task *t = ts->buckets[i], *next; t; t = next) {
			next = t->next;
			visit(t, arg);
		}
}

struct search {
	const struct native_space *space;
	struct native_task *best;
};

/* The first of its process, if it is there. */
static void visit_search(struct native_task *t, void *arg)
{
	struct search *s = arg;

	if (t->known && t->space == s->space &&
	    (!s->best || t->id < s->best->id))
		s->best = t;
}

struct native_task *native_task_of(const struct native_tasks *ts,
				   const struct native_space *s)
{
	struct search search = { s, NULL };

	native_task_each(ts, visit_search, &search);
	return search.best;
}

/* --- accesses ------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct moca_access *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

void native_task_write(struct native_tasks *ts, struct native_task *t,
		       uint64_t end_ns, int more)
{
	struct moca_chunk_info info = {
		.task = t->id, .interval = ts->interval,
		.begin_ns = ts->begin_ns, .end_ns = end_ns,
	};
	size_t done = 0, n;
	int err = 0;

	if (!t->known || (!t->count && !t->lost))
		return;
	info.lost = t->lost + ts->lost;
	ts->lost = 0;
	/* They come ring by ring: out of order where it moved between CPUs. */
	qsort(t->recs, t->count, sizeof(*t->recs), by_time);
	for (size_t i = 0; i < t->count && t->recs[i].time_ns < ts->begin_ns; i++)
		t->recs[i].time_ns = ts->begin_ns;
	while (recording_goes_on(ts->recording) && (done < t->count || info.lost)) {
		n = t->count - done < TASK_RECORDS ? t->count - done :
						     TASK_RECORDS;
		info.more = more || done + n < t->count;
		err = moca_writer_accesses(ts->recording->writer, &info,
					   t->recs + done, n);
		if (err)
			break;
		done += n;
		ts->cert->chunks++;
		ts->cert->records += n;
		ts->cert->lossy_chunks += info.lost != 0;
		info.lost = 0;
	}
	if (err)
		recording_fail(ts->recording, err, "write the trace");
	ts->buffered -= t->count;
	t->count = 0;
	t->lost = 0;
	recording_check_size(ts->recording);
}

struct cut {
	struct native_tasks *ts;
	uint64_t end_ns;
};

static void visit_relieve(struct native_task *t, void *arg)
{
	const struct cut *c = arg;

	if (t->count >= MANY_RECORDS)
		native_task_write(c->ts, t, c->end_ns, 1);
}

void native_tasks_lose(struct native_tasks *ts, struct native_task *last,
		       uint64_t lost)
{
	ts->cert->lost += lost;
	if (last && last->known)
		last->lost += lost;
	else
		ts->lost += lost;
}

void native_task_access(struct native_tasks *ts, struct native_task *t,
			const struct moca_access *a)
{
	struct cut c = { ts, a->time_ns };

	if (moca_vec_fit(t->recs, t->room, t->count + 1)) {
		native_tasks_lose(ts, t, 1);
		return;
	}
	t->recs[t->count++] = *a;
	ts->buffered++;
	if (t->count >= TASK_RECORDS)
		native_task_write(ts, t, a->time_ns, 1);
	if (ts->buffered >= ALL_RECORDS)
		native_task_each(ts, visit_relieve, &c);
}

/* --- events --------------------------------------------------------------------- */

static void write_events(struct native_tasks *ts, struct native_task *t)
{
	struct moca_change list[TASK_EVENTS];
	struct message *m = t->events, *next;
	size_t n = 0;
	int err = 0;

	if (!m)
		return;
	for (; m && n < TASK_EVENTS; m = m->next)
		list[n++] = m->event;
	if (!ts->recording->failed)
		err = moca_writer_changes(ts->recording->writer,
					  t->events->task, list, n);
	for (m = t->events; m; m = next) {
		next = m->next;
		message_free(m);
	}
	t->events = NULL;
	t->event_count = 0;
	if (err)
		recording_fail(ts->recording, err, "write the trace");
}

void native_task_event(struct native_tasks *ts, struct native_task *t,
		       struct message *m)
{
	/* A thread that executed a program took over another's number. */
	if (t->events && t->events->task != m->task) {
		write_events(ts, t);
		t->event_ns = 0;
	}
	if (m->event.time_ns < t->event_ns)
		m->event.time_ns = t->event_ns;
	t->event_ns = m->event.time_ns;
	m->next = NULL;
	if (!t->events)
		t->events_tail = &t->events;
	*t->events_tail = m;
	t->events_tail = &m->next;
	if (++t->event_count >= TASK_EVENTS)
		write_events(ts, t);
}

void native_task_change(struct native_tasks *ts, struct native_task *t,
			const struct moca_change *e)
{
	struct message *m = message_new(ts->recording->rec->queue, MSG_EVENT, 0,
					e->name);
	const char *name;

	if (!m)
		return;
	name = m->event.name;
	m->event = *e;
	m->event.name = name;
	m->event.pid = (uint32_t)t->pid;
	m->event.tid = (uint32_t)t->tid;
	m->task = t->id;
	jit_message(ts->recording->rec->jit, m);
	native_task_event(ts, t, m);
}

/* --- ends ----------------------------------------------------------------------- */

static void visit_cut(struct native_task *t, void *arg)
{
	const struct cut *c = arg;

	own_faults_tell(c->ts->recording->rec->own_faults, &t->own, t->pid,
			t->tid);
	write_events(c->ts, t);
	native_task_write(c->ts, t, c->end_ns, 0);
}

void native_tasks_cut(struct native_tasks *ts, uint64_t end_ns)
{
	struct native_task first = { .known = 1 };
	struct cut c = { ts, end_ns };

	native_task_each(ts, visit_cut, &c);
	/* Lost samples of an unknown task: a chunk of task 0 without records tells them. */
	first.lost = ts->lost;
	ts->lost = 0;
	native_task_write(ts, &first, end_ns, 0);
	ts->interval++;
	ts->begin_ns = end_ns;
}

static void free_task(struct native_tasks *ts, struct native_task *t)
{
	struct message *next;

	for (struct message *m = t->events; m; m = next) {
		next = m->next;
		message_free(m);
	}
	ts->buffered -= t->count;
	free(t->recs);
	free(t);
}

void native_task_end(struct native_tasks *ts, pid_t tid, uint64_t end_ns)
{
	struct native_task **p = &ts->buckets[(unsigned int)tid % NATIVE_BUCKETS];
	struct native_task *t;
	struct cut c = { ts, end_ns };

	while (*p && (*p)->tid != tid)
		p = &(*p)->next;
	t = *p;
	if (!t)
		return;
	visit_cut(t, &c);
	*p = t->next;
	free_task(ts, t);
}

void native_tasks_free(struct native_tasks *ts)
{
	for (unsigned int i = 0; i < NATIVE_BUCKETS; i++)
		for (struct native_task *t = ts->buckets[i], *next; t; t = next) {
			next = t->next;
			free_task(ts, t);
		}
}
