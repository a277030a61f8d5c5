// SPDX-License-Identifier: GPL-2.0-or-later
/* What programs ask for. Every word of it may be a lie. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/trace/tracer.h"
#include "lib/base/err.h"

#define STREAMS_MAX 4194303u	/* as the format has it */
#define LOST_MAX (1ull << 48)	/* of one thread; more is no count */

static uint64_t believe(uint64_t lost)
{
	return lost > LOST_MAX ? 0 : lost;
}

/* Count each thread once, though it asks again every second: nearly. */
static void count_refused(struct tracer_session *s, pid_t pid, uint32_t tid,
			  int err)
{
	uint64_t h = ((uint64_t)pid << 32 | tid) * 0x9e3779b97f4a7c15ull;
	uint8_t *byte = &s->refused_seen[h >> 51];

	if (*byte & 1u << (h >> 48 & 7))
		return;
	*byte |= (uint8_t)(1u << (h >> 48 & 7));
	if (atomic_fetch_add(&s->totals.refused, 1))
		return;
	s->refused_error = err;
	if (atomic_load(&s->disk_error))
		return;		/* that was said */
	moca_warn("thread %u of process %d gets no buffer in %s: %s; its "
		  "events are dropped and counted, and so are those of others "
		  "that get none; %s", tid, pid, s->shm.path, strerror(-err),
		  tracer_shm_advice(err));
}

static int add_stream(struct tracer_session *s, struct tracer_connection *c,
		      pid_t pid, const struct moca_msg_join *join,
		      struct tracer_stream **out, int *fd)
{
	struct tracer_process *p;
	int err;

	if (s->finish)
		return -ESHUTDOWN;
	if (atomic_load(&s->disk_error))
		return -ENOSPC;
	if (s->next_stream >= STREAMS_MAX)
		return -ENOSPC;
	err = tracer_directory_open(s);
	if (err)
		return err;
	p = tracer_process_get(s, pid, join->incarnation, c);
	if (!p)
		return -ENOMEM;
	tracer_process_replace(s, p, join->incarnation, join->tid);
	err = tracer_stream_create(s, out, join, pid, fd);
	if (err)
		return err;
	s->next_stream++;
	(*out)->tid_known = pid && tracer_thread_exists(pid, join->tid);
	pthread_mutex_lock(&s->lock);
	(*out)->process = p;
	(*out)->sibling = p->streams;
	p->streams = *out;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

void tracer_request_join(struct tracer_session *s, struct tracer_connection *c,
			 pid_t pid, const void *payload, size_t len)
{
	struct moca_msg_join join;
	struct tracer_stream *st;
	int fds[2], err;

	if (len != sizeof(join)) {
		tracer_connection_reply(s, c, -EPROTO, 0, NULL, NULL, 0);
		return;
	}
	memcpy(&join, payload, sizeof(join));
	join.lost = believe(join.lost);
	join.name[sizeof(join.name) - 1] = 0;
	join.tid = tracer_thread_number(pid, join.tid);
	err = join.word_bits == 32 || join.word_bits == 64 ? 0 : -EPROTO;
	if (!err)
		err = add_stream(s, c, pid, &join, &st, &fds[0]);
	if (err) {
		if (err != -ESHUTDOWN && err != -EPROTO)
			count_refused(s, pid, join.tid, err);
		/* 1: they are counted, so it need not tell them again. */
		atomic_fetch_add(&s->totals.lost_outside, join.lost);
		tracer_connection_reply(s, c, err, 1, NULL, NULL, 0);
		return;
	}
	fds[1] = s->shm.doorbell_fd;
	tracer_connection_reply(s, c, 0, st->number, NULL, fds, 2);
	close(fds[0]);
	atomic_fetch_add(&s->totals.lost, join.lost);
	atomic_fetch_add(&s->totals.streams, 1);
	atomic_fetch_add(&s->totals.live, 1);
	pthread_mutex_lock(&s->lock);
	st->next = s->fresh;
	s->fresh = st;
	pthread_mutex_unlock(&s->lock);
}

/* The next NUL-terminated string, or NULL. */
static const char *next_string(const char **p, const char *end)
{
	const char *s = *p, *nul = memchr(s, 0, (size_t)(end - s));

	if (!nul)
		return NULL;
	*p = nul + 1;
	return s;
}

/* An id for a new kind of event: on disk before it is told. */
static int add_type(struct tracer_session *s, const char *facility,
		    const char *name, const char *fields, uint32_t *id)
{
	int err;

	if (s->finish)
		return -ESHUTDOWN;
	*id = tracer_catalog_next(&s->catalog);
	if (!*id || atomic_load(&s->disk_error))
		return -ENOSPC;
	err = tracer_directory_open(s);
	if (err)
		return err;
	err = moca_event_writer_type(s->types, *id, facility, name, fields);
	if (err && err != -EINVAL && err != -ENOMEM)
		tracer_disk_failed(s, err);
	return err ? err : tracer_catalog_add(&s->catalog, facility, name,
					      fields);
}

/* The next event that is described; 0 or -errno, -EPROTO: it is none. */
static int next_event(struct tracer_session *s, const char **p,
		      const char *end, uint32_t *id)
{
	const char *facility = next_string(p, end);
	const char *name = facility ? next_string(p, end) : NULL;
	const char *fields = name ? next_string(p, end) : NULL;

	if (!fields)
		return -EPROTO;
	*id = tracer_catalog_find(&s->catalog, facility, name, fields);
	return *id ? 0 : add_type(s, facility, name, fields, id);
}

void tracer_request_event(struct tracer_session *s,
			  struct tracer_connection *c, const char *payload,
			  size_t len)
{
	const char *p = payload, *end = payload + len;
	uint32_t ids[MOCA_MSG_EVENTS_MAX] = { 0 };
	unsigned int n = 0;
	int err = len ? 0 : -EPROTO;

	while (!err && p < end) {
		if (n == MOCA_MSG_EVENTS_MAX)
			err = -EPROTO;
		else
			err = next_event(s, &p, end, &ids[n]);
		n += !err;
	}
	/* Those before it have theirs. */
	if (n && err != -EPROTO)
		tracer_connection_reply_ids(s, c, ids, n);
	else
		tracer_connection_reply(s, c, err, 0, NULL, NULL, 0);
}

void tracer_request_lost(struct tracer_session *s, struct tracer_connection *c,
			 const void *payload, size_t len)
{
	struct moca_msg_lost lost;

	if (len != sizeof(lost)) {
		tracer_connection_reply(s, c, -EPROTO, 0, NULL, NULL, 0);
		return;
	}
	memcpy(&lost, payload, sizeof(lost));
	atomic_fetch_add(&s->totals.lost_outside, believe(lost.count));
	tracer_connection_reply(s, c, 0, 0, NULL, NULL, 0);
}
