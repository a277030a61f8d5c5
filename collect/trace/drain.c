// SPDX-License-Identifier: GPL-2.0-or-later
/* The thread that carries what programs write to disk. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/trace/tracer.h"
#include "lib/base/err.h"
#include "lib/format/quota.h"
#include "lib/ring/clock.h"

#define FLUSH_NS 900000000ull	/* what is written gets to disk within this */
#define STUCK_NS 5000000000ull	/* a writer that takes longer never returns */
#define SETTLE_NS 100000000ull
#define SETTLE_LEAST_NS 2000000ull
#define SLEEP_NS 200000000	/* also the period of the clock's knots */

static void nap(long ns)
{
	struct timespec ts = { 0, ns };

	nanosleep(&ts, NULL);
}

struct tracer_who tracer_stream_who(const struct tracer_stream *st)
{
	return (struct tracer_who){ st->pid, st->tid, st->name, st->start_ns };
}

void tracer_disk_failed(struct tracer_session *s, int err)
{
	int none = 0;

	if (!atomic_compare_exchange_strong(&s->disk_error, &none, err))
		return;
	moca_error("cannot write into %s: %s; nothing more is recorded from "
		   "now on, and programs count what they drop. Free some room "
		   "and start the trace again; what is there can be read with: "
		   "moca dump %s", s->dir, strerror(-err), s->dir);
}

static void count(struct tracer_session *s, const struct moca_ring_batch *b)
{
	atomic_fetch_add(&s->totals.events, b->events);
	atomic_fetch_add(&s->totals.lost, b->lost);
	atomic_fetch_add(&s->totals.torn, b->torn);
	atomic_fetch_add(&s->totals.corrupt, b->corrupt);
}

/* Has the trace the size that it may have? Of the drain. */
static int full(struct tracer_session *s)
{
	if (!s->opt.quota || s->full)
		return s->full;
	moca_quota_set(s->opt.quota, MOCA_QUOTA_EVENTS,
		       moca_event_writer_bytes(s->writer));
	s->full = moca_quota_full(s->opt.quota, 0);
	return s->full;
}

/*
 * One batch to disk. What the disk has no room for is lost; what comes behind
 * --max-size is not of the recording any more.
 */
static void take(struct tracer_session *s, struct tracer_stream *st,
		 const struct moca_ring_batch *b)
{
	int err = atomic_load(&s->disk_error);

	if (!err && full(s))
		return;
	if (!err) {
		err = tracer_emit_batch(&st->sink, b);
		if (!err) {
			count(s, b);
			return;
		}
		if (err == -EINVAL) {	/* nonsense: of this stream only */
			atomic_fetch_add(&s->totals.corrupt, b->words * 8);
			return;
		}
		tracer_disk_failed(s, err);
	}
	atomic_fetch_add(&s->totals.unread, b->events);
	atomic_fetch_add(&s->totals.lost, b->lost);
	atomic_fetch_add(&s->totals.torn, b->torn);
}

/*
 * Read on until there is nothing more, but not for ever: a program may write
 * as fast as we read. Batches read, or -EFAULT.
 */
static int read_on(struct tracer_session *s, struct tracer_stream *st,
		   enum moca_ring_read_how how)
{
	unsigned int n, most = s->opt.subbufs + 1;
	struct moca_ring_batch b;
	int ret = 0;

	if (how == MOCA_READ_FINAL)
		most *= 2;
	st->busy = 0;
	for (n = 0; n < most; n++) {
		ret = tracer_ring_read(&st->ring, how, &b);
		st->busy = !ret ? b.busy : 0;
		if (ret <= 0)
			break;
		st->busy = b.busy;
		take(s, st, &b);
		ret = tracer_ring_release(&st->ring);
		if (ret)
			break;
		/* The rest of a subbuffer that is being filled: later. */
		if (how == MOCA_READ_ALL && b.end % s->opt.subbuf_size)
			break;
	}
	if (n)
		atomic_store(&st->wrote, 1);
	return ret < 0 ? ret : (int)n;
}

static void take_lost(struct tracer_session *s, struct tracer_stream *st)
{
	uint64_t lost;

	if (tracer_ring_take_lost(&st->ring, &lost) || !lost)
		return;
	atomic_fetch_add(&s->totals.lost, lost);
	if (!atomic_load(&s->disk_error))
		tracer_emit_lost(&st->sink, st->ring.pos, lost);
}

void tracer_stream_leave(struct tracer_session *s, struct tracer_stream *st)
{
	struct tracer_stream **p;

	pthread_mutex_lock(&s->lock);
	if (st->process) {
		for (p = &st->process->streams; *p != st; p = &(*p)->sibling)
			;
		*p = st->sibling;
		st->process = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	atomic_fetch_sub(&s->totals.live, 1);
}

/* The program took the memory away: what was in it is gone, no more. */
static void spoil(struct tracer_session *s, struct tracer_stream *st)
{
	if (!atomic_fetch_add(&s->totals.spoiled, 1))
		moca_warn("process %u cut the file of its buffer short: its "
			  "thread %u is not recorded any more, others are",
			  st->pid, st->tid);
	if (!atomic_load(&s->disk_error))
		tracer_emit_gap(&st->sink, moca_now_ns(),
				"buffer: its program cut the file short");
	tracer_stream_leave(s, st);
	tracer_stream_destroy(s, st);
}

/* The thread has ended, and all it wrote is read. */
static void end(struct tracer_session *s, struct tracer_stream *st)
{
	struct tracer_who who = tracer_stream_who(st);

	if (!atomic_load(&s->disk_error))
		tracer_emit_end(&st->sink, &who, moca_now_ns(),
				atomic_load(&st->status));
	tracer_stream_leave(s, st);
	tracer_stream_destroy(s, st);
}

/*
 * A slot that is never committed (a handler that left by longjmp) holds up all
 * that comes after it. When the buffer is full of that and nothing moved for
 * STUCK_NS, step over what is not committed in the oldest subbuffer: that is
 * reserved to its end, and a FINAL read does not leave it.
 */
static int unstick(struct tracer_session *s, struct tracer_stream *st,
		   const struct tracer_peek *peek, uint64_t now)
{
	struct moca_ring_batch b;
	int ret;

	if (st->ring.pos != st->stuck_pos ||
	    peek->limit - peek->reserve >= s->opt.subbuf_size) {
		st->stuck_pos = st->ring.pos;
		st->stuck_ns = now;
		return 0;
	}
	if (now - st->stuck_ns < STUCK_NS)
		return 0;
	ret = tracer_ring_read(&st->ring, MOCA_READ_FINAL, &b);
	if (ret <= 0)
		return ret;
	atomic_fetch_add(&s->totals.stuck, 1);
	take(s, st, &b);
	return tracer_ring_release(&st->ring) ? -EFAULT : 1;
}

/* Read what there is to be read now. >0: something was; -EFAULT. */
static int read_live(struct tracer_session *s, struct tracer_stream *st,
		     const struct tracer_peek *peek, uint64_t now)
{
	uint64_t backlog = peek->reserve - st->ring.pos;
	int ret;

	st->sink.compress = backlog <= st->ring.size / 2;
	if (now - st->flushed_ns >= FLUSH_NS) {
		st->flushed_ns = now;
		ret = read_on(s, st, MOCA_READ_ALL);
		if (ret >= 0)
			take_lost(s, st);
	} else {
		if ((st->ring.pos & (s->opt.subbuf_size - 1)) + backlog <
		    s->opt.subbuf_size)
			return 0;
		ret = read_on(s, st, MOCA_READ_WHOLE);
	}
	if (!ret && backlog)
		ret = unstick(s, st, peek, now);
	return ret;
}

/* One stream's turn. 1: there was something; 0; -1: it is no more. */
static int look_at(struct tracer_session *s, struct tracer_stream *st,
		   uint64_t now)
{
	int gone = atomic_load(&st->gone), ret;
	struct tracer_peek peek;

	ret = tracer_ring_peek(&st->ring, &peek);
	if (ret)
		goto err_spoilt;
	gone |= peek.ended == 1;
	if (s->opt.mode == MOCA_RING_OVERWRITE) {
		if (gone)
			tracer_flight_keep(s, st);
		return gone ? -1 : 0;
	}
	if (!gone && atomic_load(&s->disk_error))
		return 0;
	if (!gone) {
		ret = read_live(s, st, &peek, now);
		if (ret < 0)
			goto err_spoilt;
		return ret > 0;
	}
	if (read_on(s, st, MOCA_READ_FINAL) < 0)
		goto err_spoilt;
	take_lost(s, st);
	end(s, st);
	return -1;

err_spoilt:
	spoil(s, st);
	return -1;
}

static void begin(struct tracer_session *s, struct tracer_stream *st)
{
	struct tracer_who who = tracer_stream_who(st);
	int err;

	st->sink = (struct tracer_sink){
		.writer = s->writer, .clock = &s->clock, .stream = st->number,
		.last_ns = st->start_ns, .compress = 1,
		.subbuf_size = s->opt.subbuf_size,
	};
	st->flushed_ns = moca_now_ns();
	if (atomic_load(&s->disk_error))
		return;
	err = tracer_emit_start(&st->sink, &who);
	if (!err)
		err = tracer_emit_lost(&st->sink, 0, st->lost_before);
	if (err)
		tracer_disk_failed(s, err);
}

static void take_fresh(struct tracer_session *s)
{
	struct tracer_stream *st, *next;

	pthread_mutex_lock(&s->lock);
	st = s->fresh;
	s->fresh = NULL;
	pthread_mutex_unlock(&s->lock);
	for (; st; st = next) {
		next = st->next;
		begin(s, st);
		st->next = s->streams;
		s->streams = st;
	}
}

static void tick(struct tracer_session *s, uint64_t now)
{
	struct moca_event_writer *w;

	if (now - s->ticked_ns < TRACER_KNOT_NS)
		return;
	s->ticked_ns = now;
	tracer_clock_tick(&s->clock);
	pthread_mutex_lock(&s->lock);
	s->last_knot = s->clock.tip;
	w = s->writer;
	pthread_mutex_unlock(&s->lock);
	if (w)
		atomic_store(&s->totals.bytes, moca_event_writer_bytes(w));
}

/* Look at all streams. 1: there was something. */
static int pass(struct tracer_session *s)
{
	struct tracer_stream **p, *next;
	uint64_t now = moca_now_ns();
	int work = 0, ret;

	tick(s, now);
	take_fresh(s);
	for (p = &s->streams; *p;) {
		next = (*p)->next;
		ret = look_at(s, *p, now);
		work |= ret != 0;
		if (ret < 0)
			*p = next;
		else
			p = &(*p)->next;
	}
	return work;
}

void tracer_drain_look(struct tracer_session *s)
{
	pass(s);
}

/* All that is in the buffers to disk; the number of writers inside. */
static unsigned int flush(struct tracer_session *s)
{
	struct tracer_stream **p, *next;
	unsigned int busy = 0;

	take_fresh(s);
	if (s->opt.mode == MOCA_RING_OVERWRITE || atomic_load(&s->disk_error))
		return 0;
	for (p = &s->streams; *p;) {
		next = (*p)->next;
		if (read_on(s, *p, MOCA_READ_ALL) < 0) {
			spoil(s, *p);
			*p = next;
			continue;
		}
		take_lost(s, *p);
		busy += (*p)->busy != 0;
		p = &(*p)->next;
	}
	return busy;
}

/*
 * The slot says stop: wait until nobody is inside. Who looked before that and
 * has not reserved yet is not seen, hence the least time.
 */
static void settle(struct tracer_session *s)
{
	uint64_t begun = moca_now_ns(), now = begun;

	take_fresh(s);
	if (!s->streams)
		return;
	do {
		nap(1000000);
		now = moca_now_ns();
	} while (now - begun < SETTLE_LEAST_NS ||
		 (flush(s) && now - begun < SETTLE_NS));
	flush(s);
}

static void finish(struct tracer_session *s)
{
	struct tracer_stream *st;

	pass(s);	/* those that have ended */
	settle(s);
	if (s->opt.mode == MOCA_RING_OVERWRITE) {
		tracer_flight_finish(s);
	} else {
		while ((st = s->streams)) {
			s->streams = st->next;
			if (read_on(s, st, MOCA_READ_FINAL) < 0) {
				spoil(s, st);
				continue;
			}
			take_lost(s, st);
			if (atomic_load(&st->gone)) {
				end(s, st);
				continue;
			}
			/* It lives on: no end is told. */
			tracer_stream_leave(s, st);
			tracer_stream_destroy(s, st);
		}
	}
	s->ticked_ns = 0;
	tick(s, moca_now_ns());
}

static void run_job(struct tracer_session *s, struct tracer_job *job)
{
	uint64_t one = 1;

	switch (job->kind) {
	case TRACER_JOB_FLUSH:
		flush(s);
		break;
	case TRACER_JOB_SETTLE:
		settle(s);
		break;
	case TRACER_JOB_SNAPSHOT:
		tracer_snapshot(s, job);
		break;
	case TRACER_JOB_FINISH:
		finish(s);
		break;
	}
	s->ticked_ns = 0;	/* status tells bytes as of now */
	tick(s, moca_now_ns());
	pthread_mutex_lock(&s->lock);
	job->next = s->done;
	s->done = job;
	pthread_mutex_unlock(&s->lock);
	if (write(s->done_fd, &one, sizeof(one)) < 0)
		return;	/* full: then it is being read anyway */
}

static struct tracer_job *next_job(struct tracer_session *s)
{
	struct tracer_job *job;

	pthread_mutex_lock(&s->lock);
	job = s->jobs;
	if (job)
		s->jobs = job->next;
	pthread_mutex_unlock(&s->lock);
	return job;
}

void tracer_drain_wake(struct tracer_session *s)
{
	struct moca_doorbell *d = s->shm.doorbell;

	__atomic_fetch_add(&d->rings, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &d->rings, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void sleep_until_rung(struct tracer_session *s)
{
	struct moca_doorbell *d = s->shm.doorbell;
	struct timespec ts = { 0, SLEEP_NS };
	uint32_t rings;

	/* Pairs with ring_doorbell: it sees this, or we see its count. */
	__atomic_store_n(&d->sleeping, 1, __ATOMIC_SEQ_CST);
	rings = __atomic_load_n(&d->rings, __ATOMIC_SEQ_CST);
	if (!pass(s))
		syscall(SYS_futex, &d->rings, FUTEX_WAIT, rings, &ts, NULL, 0);
	__atomic_store_n(&d->sleeping, 0, __ATOMIC_RELAXED);
}

static void *drain_main(void *arg)
{
	struct tracer_session *s = arg;
	enum tracer_job_kind kind = TRACER_JOB_FLUSH;
	struct tracer_job *job;

	prctl(PR_SET_NAME, "moca-drain", 0, 0, 0);
	while (kind != TRACER_JOB_FINISH) {
		job = next_job(s);
		if (job) {
			kind = job->kind;
			run_job(s, job);	/* it is the server's again */
		} else if (!pass(s)) {
			sleep_until_rung(s);
		}
	}
	return NULL;
}

struct tracer_job *tracer_job_new(enum tracer_job_kind kind)
{
	struct tracer_job *job = calloc(1, sizeof(*job));

	if (job) {
		job->kind = kind;
		job->dirfd = -1;
	}
	return job;
}

void tracer_job_post(struct tracer_session *s, struct tracer_job *job)
{
	struct tracer_job **p;

	pthread_mutex_lock(&s->lock);
	for (p = &s->jobs; *p; p = &(*p)->next)
		;
	*p = job;
	pthread_mutex_unlock(&s->lock);
	tracer_drain_wake(s);
}

int tracer_drain_start(struct tracer_session *s)
{
	int err;

	err = pthread_create(&s->drain, NULL, drain_main, s);
	s->drain_runs = !err;
	return -err;
}

void tracer_drain_join(struct tracer_session *s)
{
	if (s->drain_runs)
		pthread_join(s->drain, NULL);
	s->drain_runs = 0;
}
