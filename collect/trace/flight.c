// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The flight recorder: buffers are overwritten until somebody asks. All of it
 * runs in the drain.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/trace/tracer.h"
#include "lib/ring/clock.h"

static const char cut_short[] = "buffer: its program cut the file short";

static void add(struct tracer_found *f, const struct moca_ring_batch *b)
{
	f->events += b->events;
	f->lost += b->lost;
	f->torn += b->torn;
	f->corrupt += b->corrupt;
}

int tracer_flight_copy(struct tracer_session *s, struct tracer_stream *st,
		       enum moca_ring_read_how how, struct tracer_sink *to,
		       struct tracer_found *found)
{
	/* Twice around: a writer that is faster shall not hold us for ever. */
	unsigned int n, most = 2 * s->opt.subbufs;
	struct moca_ring_reader r;
	struct moca_ring_batch b;
	uint64_t lost;
	int ret;

	ret = moca_ring_reader_init(&r, st->ring.shm, s->opt.subbuf_size,
				    s->opt.subbufs, s->opt.mode);
	r.id_end = &s->catalog.end;
	for (n = 0; n < most && !ret; n++) {
		ret = tracer_ring_read(&r, how, &b);
		if (ret <= 0)
			break;
		ret = tracer_emit_batch(to, &b);
		if (ret == -EINVAL) {	/* nonsense: of this stream only */
			found->corrupt += b.words * 8;
			ret = 0;
		} else {
			add(found, &b);
		}
		if (how == MOCA_READ_ALL && b.end % s->opt.subbuf_size)
			break;
	}
	if (!ret)
		ret = tracer_ring_take_lost(&r, &lost);
	if (!ret) {
		found->lost += lost;
		ret = tracer_emit_lost(to, r.pos, lost);
	}
	moca_ring_reader_free(&r);
	return ret < 0 ? ret : 0;
}

/* It must make room for others: of its events nothing is left. */
static void let_go(struct tracer_session *s, struct tracer_stream *st)
{
	struct tracer_who who = tracer_stream_who(st);

	if (!atomic_load(&s->disk_error)) {
		tracer_emit_gap(&st->sink, st->end_ns,
				"events: the buffer of this ended thread was "
				"let go for newer ones");
		tracer_emit_end(&st->sink, &who, st->end_ns,
				atomic_load(&st->status));
	}
	atomic_fetch_sub(&s->totals.kept, 1);
	atomic_fetch_add(&s->totals.dropped, 1);
	s->kept_bytes -= st->size;
	tracer_stream_destroy(s, st);
}

void tracer_flight_keep(struct tracer_session *s, struct tracer_stream *st)
{
	struct tracer_stream **p, *old;

	tracer_stream_leave(s, st);
	st->end_ns = moca_now_ns();
	st->next = NULL;
	for (p = &s->kept; *p; p = &(*p)->next)
		;
	*p = st;
	s->kept_bytes += st->size;
	atomic_fetch_add(&s->totals.kept, 1);
	while (s->kept_bytes > s->opt.keep_bytes && s->kept) {
		old = s->kept;
		s->kept = old->next;
		let_go(s, old);
	}
}

/* A stream into the trace directory, at the end of the trace. */
static void finish_one(struct tracer_session *s, struct tracer_stream *st,
		       int ended)
{
	struct tracer_who who = tracer_stream_who(st);
	struct tracer_found found = { 0 };
	int err = atomic_load(&s->disk_error);

	if (!err)
		err = tracer_flight_copy(s, st, MOCA_READ_FINAL, &st->sink,
					 &found);
	if (err == -EFAULT) {
		atomic_fetch_add(&s->totals.spoiled, 1);
		err = tracer_emit_gap(&st->sink, moca_now_ns(), cut_short);
	}
	if (!err && ended)
		err = tracer_emit_end(&st->sink, &who, st->end_ns,
				      atomic_load(&st->status));
	if (err)
		tracer_disk_failed(s, err);
	atomic_fetch_add(&s->totals.events, found.events);
	atomic_fetch_add(&s->totals.lost, found.lost);
	atomic_fetch_add(&s->totals.torn, found.torn);
	atomic_fetch_add(&s->totals.corrupt, found.corrupt);
	tracer_stream_destroy(s, st);
}

void tracer_flight_finish(struct tracer_session *s)
{
	struct tracer_stream *st;

	while ((st = s->kept)) {
		s->kept = st->next;
		finish_one(s, st, 1);
	}
	while ((st = s->streams)) {
		s->streams = st->next;
		tracer_stream_leave(s, st);
		finish_one(s, st, 0);
	}
}

/* One stream into a snapshot's directory. */
static int copy_one(struct tracer_session *s, struct tracer_stream *st,
		    struct moca_event_writer *w, int ended,
		    struct tracer_found *found)
{
	struct tracer_who who = tracer_stream_who(st);
	struct tracer_sink to = {
		.writer = w, .clock = &s->clock, .stream = st->number,
		.last_ns = st->start_ns, .compress = 1,
		.subbuf_size = s->opt.subbuf_size,
	};
	int err = tracer_emit_start(&to, &who);

	if (!err)
		err = tracer_emit_lost(&to, 0, st->lost_before);
	if (!err)
		err = tracer_flight_copy(s, st, ended ? MOCA_READ_FINAL :
							MOCA_READ_ALL,
					 &to, found);
	if (err == -EFAULT)
		err = tracer_emit_gap(&to, moca_now_ns(), cut_short);
	if (!err && ended)
		err = tracer_emit_end(&to, &who, st->end_ns,
				      atomic_load(&st->status));
	return err;
}

static int copy_types(struct tracer_session *s, struct moca_event_writer *w)
{
	uint32_t id, end = tracer_catalog_end(&s->catalog);
	int err = 0;

	for (id = MOCA_REC_FIRST; id < end && !err; id++) {
		const struct tracer_type *t = &s->catalog.types[id];

		err = moca_event_writer_type(w, id, t->facility, t->name,
					      t->fields);
	}
	return err;
}

/* Streams first: a thread may come to know a type while we copy. */
static int copy_all(struct tracer_session *s, struct moca_event_writer *w,
		    struct tracer_job *job)
{
	struct tracer_found found = { 0 };
	struct tracer_stream *st;
	int err = 0;

	for (st = s->kept; st && !err; st = st->next, job->streams++)
		err = copy_one(s, st, w, 1, &found);
	for (st = s->streams; st && !err; st = st->next, job->streams++)
		err = copy_one(s, st, w, 0, &found);
	if (!err)
		err = copy_types(s, w);
	job->events = found.events;
	job->lost = found.lost;
	job->torn = found.torn;
	return err;
}

void tracer_snapshot(struct tracer_session *s, struct tracer_job *job)
{
	struct moca_event_writer *w;

	tracer_drain_look(s);
	job->error = moca_event_writer_create(&w, job->dirfd);
	if (job->error)
		return;
	job->error = copy_all(s, w, job);
	moca_event_writer_destroy(w);
	if (!job->error)
		job->error = tracer_describe_snapshot(s, job);
}
