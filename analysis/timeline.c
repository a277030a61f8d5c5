// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"
#include "lib/format/trace.h"

/*
 * Cursors that keep a descriptor. When there are more, each gives its own back
 * between two of its chunks, so that no number of tasks meets a limit of files.
 */
#define KEEPERS_MOST 128

/* One kind of record of one task. */
struct source {
	uint64_t time_ns;	/* of the record at hand */
	size_t task;		/* index in the trace */
	enum moca_timeline_kind kind;
	struct moca_cursor *cursor;
	int keeps;		/* one of the timeline's keepers */
	const struct moca_change *change;
	const struct moca_event *event;
	const struct moca_chunk *chunk;
	const struct moca_counts *counts;
	size_t at;		/* in the chunk */
};

/* A task whose records have not begun. */
struct waiting {
	uint64_t time_ns;
	size_t task;
};

struct moca_timeline {
	struct moca_trace *trace;
	struct moca_query query;
	struct waiting *waiting;	/* by time */
	size_t waiting_at;
	size_t waiting_count;
	struct source **heap;		/* the earliest is heap[0] */
	size_t count;
	size_t cap;
	unsigned keepers;
	struct moca_ahead *ahead;	/* for sources of accesses */
	int told;			/* heap[0] was returned: step it */
};

/* In the order of the timeline? */
static int before(const struct source *a, const struct source *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	if (a->kind != b->kind)
		return a->kind < b->kind;
	return a->task < b->task;
}

static inline void sift_down(struct moca_timeline *tl, size_t i)
{
	struct source *s = tl->heap[i];
	size_t child;

	while ((child = 2 * i + 1) < tl->count) {
		if (child + 1 < tl->count &&
		    before(tl->heap[child + 1], tl->heap[child]))
			child++;
		if (!before(tl->heap[child], s))
			break;
		tl->heap[i] = tl->heap[child];
		i = child;
	}
	tl->heap[i] = s;
}

static int push(struct moca_timeline *tl, struct source *s)
{
	size_t i, parent;
	int err = moca_vec_fit(tl->heap, tl->cap, tl->count + 1);

	if (err)
		return err;
	for (i = tl->count++; i; i = parent) {
		parent = (i - 1) / 2;
		if (!before(s, tl->heap[parent]))
			break;
		tl->heap[i] = tl->heap[parent];
	}
	tl->heap[i] = s;
	return 0;
}

static void source_free(struct moca_timeline *tl, struct source *s)
{
	tl->keepers -= s->keeps != 0;
	moca_cursor_close(s->cursor);
	free(s);
}

/* Accesses that are decoded already: the next one is at hand. 1 or 0. */
static inline int source_go_on(struct source *s)
{
	if (s->kind != MOCA_TIMELINE_ACCESSES || !s->chunk ||
	    s->at == s->chunk->count)
		return 0;
	s->time_ns = s->chunk->accesses[s->at].time_ns;
	return 1;
}

static int load_next(struct source *s)
{
	uint32_t task;
	int ret;

	switch (s->kind) {
	case MOCA_TIMELINE_CHANGE:
		ret = moca_cursor_change(s->cursor, &s->change, &task);
		if (ret > 0)
			s->time_ns = s->change->time_ns;
		return ret;
	case MOCA_TIMELINE_EVENT:
		ret = moca_cursor_event(s->cursor, &s->event, &task);
		if (ret > 0)
			s->time_ns = s->event->time_ns;
		return ret;
	case MOCA_TIMELINE_COUNTS:
		ret = moca_cursor_counts(s->cursor, &s->counts);
		if (ret > 0)
			s->time_ns = s->counts->begin_ns;
		return ret;
	default:
		while (!source_go_on(s)) {
			s->at = 0;
			ret = moca_cursor_chunk(s->cursor, &s->chunk);
			if (ret <= 0)
				return ret;
		}
		return 1;
	}
}

/* Load the next record. 1, 0 at the end, -errno. */
static int source_step(struct source *s)
{
	int ret = load_next(s);

	if (ret > 0 && !s->keeps)
		moca_cursor_park(s->cursor);
	return ret;
}

static int open_source(struct moca_timeline *tl, size_t task,
		       enum moca_timeline_kind kind)
{
	struct moca_query q = { .size = sizeof(q) };
	struct source *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return -ENOMEM;
	if (kind == MOCA_TIMELINE_ACCESSES || kind == MOCA_TIMELINE_COUNTS)
		q = tl->query;
	q.task = moca_trace_task(tl->trace, task)->id;
	q.one_task = 1;
	s->kind = kind;
	s->task = task;
	s->keeps = tl->keepers < KEEPERS_MOST;
	tl->keepers += s->keeps != 0;
	ret = moca_cursor_open(&s->cursor, tl->trace, &q);
	if (!ret && s->keeps)
		moca_cursor_ahead(s->cursor, tl->ahead);
	if (!ret)
		ret = source_step(s);
	if (ret > 0)
		ret = push(tl, s);
	else
		source_free(tl, s);
	return ret;
}

static int open_task(struct moca_timeline *tl, size_t task)
{
	const struct moca_task *t = moca_trace_task(tl->trace, task);
	const struct moca_query *q = &tl->query;
	int ret = open_source(tl, task, MOCA_TIMELINE_CHANGE);

	if (!ret && t->events)
		ret = open_source(tl, task, MOCA_TIMELINE_EVENT);
	if (!ret && t->accesses && (!q->one_task || q->task == t->id))
		ret = open_source(tl, task, MOCA_TIMELINE_ACCESSES);
	if (!ret && t->counts && (!q->one_task || q->task == t->id))
		ret = open_source(tl, task, MOCA_TIMELINE_COUNTS);
	return ret;
}

static int compare_waiting(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->task < y->task ? -1 : x->task > y->task;
}

/* When a task's first record may come: nothing known is as early as can be. */
static uint64_t first_time(const struct moca_trace *t, size_t i)
{
	uint64_t time = t->tasks[i].start_ns;
	size_t m;

	for (m = t->first_event[i]; m < t->first_event[i + 1]; m++)
		if (t->events[m].begin_ns < time)
			time = t->events[m].begin_ns;
	return time;
}

int moca_timeline_open(struct moca_timeline **out, struct moca_trace *t,
		       const struct moca_query *query)
{
	size_t i, n = moca_trace_task_count(t);
	struct moca_timeline *tl = calloc(1, sizeof(*tl));
	struct moca_cursor *c;
	int ret;

	if (!tl)
		return -ENOMEM;
	tl->trace = t;
	/* A cursor knows whether the query is one. */
	ret = moca_cursor_open(&c, t, query);
	if (ret)
		goto err_close;
	moca_cursor_close(c);
	if (query)
		tl->query = *query;
	tl->query.size = sizeof(tl->query);
	ret = -ENOMEM;
	tl->ahead = moca_ahead_new();
	tl->waiting = calloc(n + 1, sizeof(*tl->waiting));
	if (!tl->ahead || !tl->waiting)
		goto err_close;
	for (i = 0; i < n; i++) {
		tl->waiting[i].task = i;
		tl->waiting[i].time_ns = first_time(t, i);
	}
	tl->waiting_count = n;
	qsort(tl->waiting, n, sizeof(*tl->waiting), compare_waiting);
	*out = tl;
	return 0;
err_close:
	moca_timeline_close(tl);
	return ret;
}

void moca_timeline_close(struct moca_timeline *tl)
{
	if (!tl)
		return;
	while (tl->count)
		source_free(tl, tl->heap[--tl->count]);
	moca_ahead_free(tl->ahead);
	free(tl->heap);
	free(tl->waiting);
	free(tl);
}

/* Go on behind what was returned last, and put it in its place. */
static int step_told(struct moca_timeline *tl)
{
	struct source *s = tl->heap[0];
	int ret = source_go_on(s) ? 1 : source_step(s);

	tl->told = 0;
	if (ret < 0)
		return ret;
	if (!ret) {
		source_free(tl, s);
		tl->heap[0] = tl->heap[--tl->count];
	}
	if (tl->count)
		sift_down(tl, 0);
	return 0;
}

/* How many accesses of the earliest source come before all else. */
static inline size_t run_length(const struct moca_timeline *tl)
{
	const struct source *s = tl->heap[0], *next = NULL;
	const struct moca_access *a = s->chunk->accesses;
	size_t i = s->at, n = s->chunk->count;
	uint64_t limit = UINT64_MAX;
	int at_limit = 1;	/* those at the limit's very time come too */

	if (tl->count > 1)
		next = tl->heap[1];
	if (tl->count > 2 && before(tl->heap[2], next))
		next = tl->heap[2];
	if (next) {
		limit = next->time_ns;
		at_limit = next->kind == s->kind && s->task < next->task;
	}
	if (tl->waiting_at < tl->waiting_count &&
	    tl->waiting[tl->waiting_at].time_ns <= limit) {
		limit = tl->waiting[tl->waiting_at].time_ns;
		at_limit = 0;
	}
	/* The first comes in any case: it is the earliest. */
	for (i++; i < n; i++)
		if (a[i].time_ns >= limit &&
		    (a[i].time_ns > limit || !at_limit))
			break;
	return i - s->at;
}

static inline uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t waiting_time(const struct moca_timeline *tl)
{
	return tl->waiting_at < tl->waiting_count ?
		       tl->waiting[tl->waiting_at].time_ns : UINT64_MAX;
}

/* The next accesses of s that come before those of other, and before the limit. */
static inline struct moca_timeline_run take_run(struct source *s,
						const struct source *other,
						uint64_t limit)
{
	const struct moca_access *a = s->chunk->accesses;
	uint64_t until = earlier(other->time_ns, limit);
	int at_limit = other->time_ns < limit && s->task < other->task;
	size_t i = s->at, n = s->chunk->count;

	for (i++; i < n && (a[i].time_ns < until ||
			    (at_limit && a[i].time_ns == until)); i++)
		;
	n = s->at;
	s->at = i;
	return (struct moca_timeline_run){ a + n, i - n, s->task,
					   s->chunk->interval };
}

/*
 * Runs of the two earliest sources, if both are accesses, as long as all others are
 * later: most runs of threads that work together are an access or two.
 */
static size_t merge_two(struct moca_timeline *tl,
			struct moca_timeline_run *runs, size_t max)
{
	size_t n = 0, j = tl->count > 2 && before(tl->heap[2], tl->heap[1]) ?
				  2 : 1;
	const size_t others[] = { 3 - j, 2 * j + 1, 2 * j + 2 };
	struct source *a = tl->heap[0], *b, *x;
	uint64_t limit = waiting_time(tl);

	if (tl->count < 2 || tl->heap[j]->kind != MOCA_TIMELINE_ACCESSES)
		return 0;
	b = tl->heap[j];
	for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++)
		if (others[k] < tl->count)
			limit = earlier(limit, tl->heap[others[k]]->time_ns);
	while (n < max && a->time_ns < limit) {
		runs[n++] = take_run(a, b, limit);
		if (!source_go_on(a)) {
			tl->told = 1;
			break;
		}
		if (before(b, a)) {
			x = a;
			a = b;
			b = x;
		}
	}
	tl->heap[0] = a;
	tl->heap[j] = b;
	sift_down(tl, j);
	/* What was told last is the earliest still. */
	if (!tl->told)
		sift_down(tl, 0);
	return n;
}

size_t moca_timeline_more(struct moca_timeline *tl,
			  struct moca_timeline_run *runs, size_t max)
{
	struct source *s;
	size_t n = 0, merged;

	while (n < max) {
		if (tl->told) {
			if (!source_go_on(tl->heap[0]))
				break;
			tl->told = 0;
			sift_down(tl, 0);
		}
		s = tl->count ? tl->heap[0] : NULL;
		if (!s || s->kind != MOCA_TIMELINE_ACCESSES ||
		    waiting_time(tl) <= s->time_ns)
			break;
		merged = merge_two(tl, runs + n, max - n);
		n += merged;
		if (merged)
			continue;
		runs[n] = (struct moca_timeline_run){
			.accesses = s->chunk->accesses + s->at,
			.count = run_length(tl),
			.task_index = s->task,
			.interval = s->chunk->interval,
		};
		s->at += runs[n++].count;
		tl->told = 1;
	}
	return n;
}

int moca_timeline_next(struct moca_timeline *tl,
		       struct moca_timeline_item *out)
{
	struct source *s;
	int ret;

	if (tl->told) {
		ret = step_told(tl);
		if (ret)
			return ret;
	}
	while (tl->waiting_at < tl->waiting_count &&
	       (!tl->count ||
		tl->waiting[tl->waiting_at].time_ns <= tl->heap[0]->time_ns)) {
		ret = open_task(tl, tl->waiting[tl->waiting_at++].task);
		if (ret)
			return ret;
	}
	if (!tl->count)
		return 0;
	s = tl->heap[0];
	out->kind = s->kind;
	out->time_ns = s->time_ns;
	out->task = &tl->trace->tasks[s->task];
	out->task_index = s->task;
	out->change = s->change;
	out->event = s->event;
	out->counts = s->counts;
	if (s->kind == MOCA_TIMELINE_ACCESSES) {
		out->accesses = s->chunk->accesses + s->at;
		out->count = run_length(tl);
		out->interval = s->chunk->interval;
		s->at += out->count;
	} else {
		out->accesses = NULL;
		out->count = 0;
		out->interval = 0;
	}
	tl->told = 1;
	return 1;
}
