// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/merge.h"

static void source_free(struct moca_source *s)
{
	if (!s)
		return;
	moca_file_close(&s->file);
	moca_decoder_free(&s->decoder);
	free(s);
}

void moca_merge_free(struct moca_merge *m)
{
	while (m->open_count)
		source_free(m->open[--m->open_count]);
	source_free(m->spare);
	m->spare = m->last = NULL;
}

static int in_time(const struct moca_query *q, uint64_t t)
{
	return t >= q->begin_ns && (!q->end_ns || t < q->end_ns);
}

static int wants_change(const struct moca_merge *m, const struct moca_source *s,
		       const struct moca_change *e)
{
	const struct moca_query *q = m->query;

	if (!in_time(q, e->time_ns))
		return 0;
	/* Of a task that has a file of its own, that file tells its life. */
	if (s->file.type == MOCA_FILE_EVENT &&
	    m->task < m->trace->file_count &&
	    (e->type == MOCA_CHANGE_TASK_START ||
	     e->type == MOCA_CHANGE_TASK_END))
		return 0;
	if (!e->len || (!q->addr_begin && !q->addr_end))
		return 1;
	return (!q->addr_end || e->addr < q->addr_end) &&
	       moca_add_sat(e->addr, e->len) > q->addr_begin;
}

/* The next wanted record of the chunk at hand. 1, 0 or -errno. */
static int next_record(const struct moca_merge *m, struct moca_source *s)
{
	if (m->kind == MOCA_KIND_CHANGES) {
		while (s->change_pos < s->change_end) {
			if (moca_change_decode(&s->change, &s->change_pos,
					      s->change_end, &s->change_ns))
				return -EBADMSG; /* was checked: a bug */
			s->time_ns = s->change.time_ns;
			if (wants_change(m, s, &s->change))
				return 1;
		}
		return 0;
	}
	while (moca_event_walk_next(&s->walk, &m->trace->types, &s->event)) {
		s->time_ns = s->event.time_ns;
		if (in_time(m->query, s->time_ns))
			return 1;
	}
	return 0;
}

/* Is the chunk to be unpacked? Times of events are raised to the floor. */
static int wants_chunk(const struct moca_merge *m, struct moca_source *s,
		       const struct moca_header *h, uint64_t floor_ns)
{
	const struct moca_query *q = m->query;
	uint64_t begin = h->begin_ns, end = h->end_ns;

	if (h->version != MOCA_FORMAT_VERSION || h->kind != m->kind)
		return 0;
	if (m->kind == MOCA_KIND_EVENTS) {
		if (!h->records)
			return 0;
		begin = begin > floor_ns ? begin : floor_ns;
		end = end > floor_ns ? end : floor_ns;
		s->floor_ns = end;
	}
	return end >= q->begin_ns && (!q->end_ns || begin < q->end_ns);
}

/* Step to the next wanted chunk. 1, 0 or -errno. */
static int next_chunk(const struct moca_merge *m, struct moca_source *s)
{
	struct moca_header h;
	uint64_t pos, floor_ns;
	int ret;

	for (;;) {
		ret = s->file.type == MOCA_FILE_EVENT ?
			      moca_file_next(&s->file, &h, &pos) :
			      moca_task_file_next(&s->file, m->trace, m->task,
						  &h, &pos);
		if (ret <= 0)
			return ret;
		floor_ns = s->floor_ns;
		if (!wants_chunk(m, s, &h, floor_ns))
			continue;
		if (m->kind == MOCA_KIND_EVENTS)
			ret = moca_decoder_events(&s->decoder, &s->file, &h,
						   pos, &m->trace->types,
						   floor_ns, &s->walk);
		else
			ret = moca_decoder_changes(&s->decoder, &s->file, &h,
						  pos);
		if (ret == -EBADMSG) {
			moca_trace_damaged_chunk(m->trace, &s->file, pos);
			continue;
		}
		if (ret)
			return ret;
		if (m->kind == MOCA_KIND_EVENTS)
			return 1;
		s->change_ns = 0;
		s->change_pos = s->decoder.changes.data;
		s->change_end = s->change_pos + s->decoder.changes.len;
		return 1;
	}
}

static int source_next(const struct moca_merge *m, struct moca_source *s)
{
	int ret;

	do {
		ret = next_record(m, s);
		if (ret)
			return ret;
		ret = next_chunk(m, s);
	} while (ret > 0);
	return ret;
}

/* No more of it is wanted; its buffers may do for another. */
static void retire(struct moca_merge *m, struct moca_source *s)
{
	size_t i;

	for (i = 0; i < m->open_count && m->open[i] != s; i++)
		;
	if (i < m->open_count)
		memmove(&m->open[i], &m->open[i + 1],
			(--m->open_count - i) * sizeof(*m->open));
	moca_file_close(&s->file);
	if (m->spare)
		source_free(s);
	else
		m->spare = s;
}

/*
 * Open an event file, or (NULL) what the task wrote itself, and go to its first
 * wanted record, if there is one.
 */
static int open_source(struct moca_merge *m, const struct moca_event_file *f)
{
	struct moca_source *s = m->spare;
	struct moca_decoder d;
	int ret;

	if (!s)
		s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	m->spare = NULL;
	d = s->decoder;
	memset(s, 0, sizeof(*s));
	s->decoder = d;
	ret = f ? moca_file_open(&s->file, m->trace->dirfd, MOCA_FILE_EVENT,
				 f->number, f->end) :
		  moca_task_file_open(&s->file, m->trace, m->task);
	if (!ret)
		ret = source_next(m, s);
	if (ret > 0) {
		m->open[m->open_count++] = s;
		return 0;
	}
	retire(m, s);
	return ret;
}

int moca_merge_start(struct moca_merge *m, size_t task)
{
	struct moca_trace *t = m->trace;

	m->task = task;
	m->next = t->first_event[task];
	m->end = m->task_files_only ? m->next : t->first_event[task + 1];
	if (m->kind == MOCA_KIND_CHANGES && task < t->file_count)
		return open_source(m, NULL);
	return 0;
}

/*
 * Does the next file's time begin before that of s? s may be NULL. There is
 * room for all at a time, unless a file was changed since the trace was opened.
 */
static int file_is_due(const struct moca_merge *m, const struct moca_source *s)
{
	return m->next < m->end && m->open_count < MOCA_MERGE_MAX &&
	       (!s || m->trace->events[m->next].begin_ns <= s->time_ns);
}

int moca_merge_next(struct moca_merge *m, struct moca_source **out)
{
	const struct moca_query *q = m->query;
	const struct moca_event_file *f;
	struct moca_source *s = m->last;
	size_t i;
	int ret;

	m->last = NULL;
	if (s) {
		ret = source_next(m, s);
		if (ret < 0)
			return ret;
		if (!ret)
			retire(m, s);
	}
	for (;;) {
		s = m->open_count ? m->open[0] : NULL;
		for (i = 1; i < m->open_count; i++)
			if (m->open[i]->time_ns < s->time_ns)
				s = m->open[i];
		if (!file_is_due(m, s))
			break;
		f = &m->trace->events[m->next++];
		if (m->streams_below && f->number >= m->streams_below)
			continue;
		if (f->end_ns < q->begin_ns ||
		    (q->end_ns && f->begin_ns >= q->end_ns))
			continue;
		ret = open_source(m, f);
		if (ret)
			return ret;
	}
	m->last = s;
	*out = s;
	return s != NULL;
}
