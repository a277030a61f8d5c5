// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/ctf-stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib/base/bytes.h"
#include "lib/cmdline/unfinished.h"

#define CTF_MAGIC 0xc1fc1fc1u
#define EVENT_HEADER 10u

/* Offsets in a packet, as export/ctf-metadata.c describes them. */
enum {
	AT_MAGIC = 0,
	AT_UUID = 4,
	AT_STREAM_ID = 20,
	AT_INSTANCE = 24,
	AT_BEGIN = 32,
	AT_END = 40,
	AT_CONTENT_SIZE = 48,
	AT_PACKET_SIZE = 56,
	AT_SEQUENCE = 64,
	AT_DISCARDED = 72,
	AT_PID = 80,
	AT_TID = 84,
	AT_NAME = 88,
};

int moca_ctf_stream_init(struct moca_ctf_stream *s, int dirfd)
{
	*s = (struct moca_ctf_stream){ .dirfd = dirfd, .fd = -1,
				       .time_max = INT64_MAX };
	if (getrandom(s->uuid, sizeof(s->uuid), 0) != sizeof(s->uuid))
		return -errno;
	/* Version 4: random. */
	s->uuid[6] = (s->uuid[6] & 0x0f) | 0x40;
	s->uuid[8] = (s->uuid[8] & 0x3f) | 0x80;
	s->buf = calloc(1, MOCA_CTF_PACKET);
	return s->buf ? 0 : -ENOMEM;
}

void moca_ctf_stream_free(struct moca_ctf_stream *s)
{
	moca_ctf_stream_abort(s);
	free(s->buf);
	s->buf = NULL;
}

void moca_ctf_stream_name(char buf[32], uint32_t task)
{
	snprintf(buf, 32, "task-%" PRIu32, task);
}

void moca_ctf_stream_begin(struct moca_ctf_stream *s,
			   const struct moca_task *task)
{
	/* Empty, babeltrace2 would show another's: see export/ctf-type.h. */
	const char *name = *task->name ? task->name : "[unknown]";
	size_t len = strnlen(name, 4096);
	uint8_t *b = s->buf;

	s->task = task;
	s->packets = s->discarded = s->last_ns = 0;
	s->events = 0;
	s->lossy = 0;
	moca_put32(b + AT_MAGIC, CTF_MAGIC);
	memcpy(b + AT_UUID, s->uuid, sizeof(s->uuid));
	moca_put32(b + AT_STREAM_ID, 0);
	moca_put64(b + AT_INSTANCE, task->id);
	moca_put32(b + AT_PID, task->pid);
	moca_put32(b + AT_TID, task->tid);
	memcpy(b + AT_NAME, name, len);
	b[AT_NAME + len] = 0;
	s->head = s->len = AT_NAME + len + 1;
}

static int write_all(struct moca_ctf_stream *s, const uint8_t *p, size_t len)
{
	while (len) {
		ssize_t n = write(s->fd, p, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			p += n;
			len -= n;
			s->bytes += n;
		}
	}
	return 0;
}

static int flush(struct moca_ctf_stream *s)
{
	uint8_t *b = s->buf;
	char name[32];
	int err;

	if (s->fd < 0) {
		moca_ctf_stream_name(name, s->task->id);
		s->fd = unfinished_file(s->dirfd, name, 0600);
		if (s->fd < 0)
			return s->fd;
	}
	moca_put64(b + AT_BEGIN, s->begin_ns);
	moca_put64(b + AT_END, s->last_ns);
	moca_put64(b + AT_CONTENT_SIZE, 8 * (uint64_t)s->len);
	moca_put64(b + AT_PACKET_SIZE, 8 * (uint64_t)s->len);
	moca_put64(b + AT_SEQUENCE, s->packets++);
	moca_put64(b + AT_DISCARDED, s->discarded);
	err = write_all(s, b, s->len);
	s->len = s->head;
	s->events = 0;
	s->lossy = 0;
	return err;
}

/* A time that may follow the one before. */
static uint64_t tell_time(struct moca_ctf_stream *s, uint64_t time_ns)
{
	if (time_ns > s->time_max)
		time_ns = s->time_max;
	return time_ns < s->last_ns ? s->last_ns : time_ns;
}

int moca_ctf_stream_event(struct moca_ctf_stream *s, unsigned id,
			  uint64_t time_ns, size_t len, uint8_t **out)
{
	uint64_t told = tell_time(s, time_ns);
	int err;

	if (len > MOCA_CTF_PACKET - EVENT_HEADER - s->head)
		return -E2BIG;
	if (s->len + EVENT_HEADER + len > MOCA_CTF_PACKET) {
		err = flush(s);
		if (err)
			return err;
	}
	s->moved += told != time_ns;
	if (!s->events++ && !s->lossy)
		s->begin_ns = told;
	s->last_ns = told;
	moca_put16(s->buf + s->len, id);
	moca_put64(s->buf + s->len + 2, told);
	*out = s->buf + s->len + EVENT_HEADER;
	s->len += EVENT_HEADER + len;
	return 0;
}

int moca_ctf_stream_lost(struct moca_ctf_stream *s, uint64_t n,
			 uint64_t time_ns)
{
	int err = 0;

	if (!n)
		return 0;
	/*
	 * Readers take the difference to the packet before: there must be one,
	 * if need be without events.
	 */
	if (!s->packets && !s->events)
		s->begin_ns = s->last_ns = tell_time(s, time_ns);
	if (!s->packets || s->events)
		err = flush(s);
	if (!s->lossy) {
		s->lossy = 1;
		s->begin_ns = s->last_ns;
	}
	s->last_ns = tell_time(s, time_ns);
	s->discarded = moca_add_sat(s->discarded, n);
	return err;
}

int moca_ctf_stream_settle(struct moca_ctf_stream *s)
{
	return s->lossy ? flush(s) : 0;
}

int moca_ctf_stream_end(struct moca_ctf_stream *s)
{
	int err = s->events || s->lossy ? flush(s) : 0;

	if (s->fd >= 0 && close(s->fd) && !err)
		err = -errno;
	s->fd = -1;
	return err;
}

void moca_ctf_stream_abort(struct moca_ctf_stream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
