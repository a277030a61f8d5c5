// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/format/access.h"
#include "lib/format/chunk.h"
#include "lib/format/event.h"
#include "lib/format/stream.h"

struct task_state {
	uint64_t next_number[MOCA_KIND_EVENTS + 1]; /* by kind */
	int created;
};

struct moca_writer {
	int dirfd;
	struct task_state *tasks;
	size_t task_cap;
	struct moca_stream_out stream;
	struct moca_buf events;
	struct moca_access_scratch *scratch;
	uint64_t bytes;
	uint64_t access_bytes;
};

int moca_writer_create(struct moca_writer **out, int dirfd)
{
	struct moca_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->dirfd = dirfd;
	w->scratch = malloc(sizeof(*w->scratch));
	if (moca_stream_out_init(&w->stream) || !w->scratch) {
		moca_writer_destroy(w);
		return -ENOMEM;
	}
	*out = w;
	return 0;
}

void moca_writer_destroy(struct moca_writer *w)
{
	if (!w)
		return;
	moca_stream_out_free(&w->stream);
	moca_buf_free(&w->events);
	free(w->scratch);
	free(w->tasks);
	free(w);
}

/* The task's state, made on first use; NULL if there is no memory. */
static struct task_state *task_state(struct moca_writer *w, uint32_t task)
{
	size_t cap = w->task_cap ? w->task_cap : 64;
	struct task_state *p;

	if (task < w->task_cap)
		return &w->tasks[task];
	while (cap <= task)
		cap *= 2;
	p = realloc(w->tasks, cap * sizeof(*p));
	if (!p)
		return NULL;
	memset(p + w->task_cap, 0, (cap - w->task_cap) * sizeof(*p));
	w->tasks = p;
	w->task_cap = cap;
	return &p[task];
}

static int write_all(int fd, struct iovec *iov, int count)
{
	ssize_t n;

	while (count) {
		n = writev(fd, iov, count);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -EIO;
		while (count && (size_t)n >= iov->iov_len) {
			n -= (ssize_t)iov->iov_len;
			iov++;
			count--;
		}
		if (count) {
			iov->iov_base = (char *)iov->iov_base + n;
			iov->iov_len -= (size_t)n;
		}
	}
	return 0;
}

/* Append to the task's file all of iov or nothing. */
static int append(struct moca_writer *w, uint32_t task, struct task_state *t,
		  struct iovec *iov, int count)
{
	/* A file that is there before its first chunk is not ours. */
	int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK |
		    (t->created ? 0 : O_CREAT | O_EXCL);
	struct stat st;
	char name[32];
	int fd, ret;

	snprintf(name, sizeof(name), "task-%u", task);
	fd = openat(w->dirfd, name, flags, 0600);
	if (fd < 0)
		return -errno;
	t->created = 1;
	if (fstat(fd, &st) < 0) {
		ret = -errno;
		goto out;
	}
	ret = write_all(fd, iov, count);
	/* If even this fails, readers find the next chunk by its magic. */
	if (ret && ftruncate(fd, st.st_size) < 0)
		goto out;
out:
	close(fd);
	return ret;
}

/* Write the chunk that h and w->stream hold. */
static int write_chunk(struct moca_writer *w, struct moca_header *h)
{
	struct moca_stream_out *s = &w->stream;
	struct task_state *t = task_state(w, h->task);
	uint8_t buf[MOCA_HEADER_MAX];
	struct iovec iov[3];
	uint64_t total;
	int ret;

	if (!t)
		return -ENOMEM;
	if (s->dir.len + s->body.len > MOCA_PAYLOAD_MAX)
		return -E2BIG;
	h->payload_len = (uint32_t)(s->dir.len + s->body.len);
	h->payload_sum = moca_payload_sum(s->dir.data, s->dir.len,
					  s->body.data, s->body.len);
	h->number = t->next_number[h->kind];
	iov[0].iov_base = buf;
	iov[0].iov_len = moca_header_put(h, buf);
	iov[1].iov_base = s->dir.data;
	iov[1].iov_len = s->dir.len;
	iov[2].iov_base = s->body.data;
	iov[2].iov_len = s->body.len;
	total = iov[0].iov_len + h->payload_len;
	ret = append(w, h->task, t, iov, s->body.len ? 3 : 2);
	if (ret)
		return ret;
	t->next_number[h->kind]++;
	w->bytes += total;
	if (h->kind == MOCA_KIND_ACCESSES)
		w->access_bytes += total;
	return 0;
}

/* Check the records and take from them what the header says. */
static int summarise(struct moca_header *h, const struct moca_access *recs,
		     size_t n)
{
	const struct moca_access *r;
	uint64_t prev = 0;
	uint32_t word;
	size_t i;

	for (i = 0; i < n; i++) {
		r = &recs[i];
		if (r->time_ns < prev || r->type > MOCA_ACCESS_EXEC ||
		    r->mode > MOCA_MODE_KERNEL)
			return -EINVAL;
		prev = r->time_ns;
		h->writes += r->type == MOCA_ACCESS_WRITE;
		h->reads += r->type == MOCA_ACCESS_READ ||
			    r->type == MOCA_ACCESS_EXEC;
		word = r->cpu / 64;
		if (word >= MOCA_CPUMASK_WORDS)
			continue;
		h->cpumask[word] |= 1ull << r->cpu % 64;
		if (word >= h->cpu_words)
			h->cpu_words = word + 1;
	}
	if (!n)
		return 0;
	/* Queries skip chunks by these bounds: every record is within. */
	if (recs[0].time_ns < h->begin_ns)
		h->begin_ns = recs[0].time_ns;
	if (prev >= h->end_ns)
		h->end_ns = moca_add_sat(prev, 1);
	return 0;
}

int moca_writer_accesses(struct moca_writer *w,
			 const struct moca_chunk_info *info,
			 const struct moca_access *recs, size_t n)
{
	struct moca_header h = {
		.kind = MOCA_KIND_ACCESSES,
		.flags = info->more ? MOCA_CHUNK_MORE : 0,
		.task = info->task,
		.interval = info->interval,
		.begin_ns = info->begin_ns,
		.end_ns = info->end_ns,
		.lost = info->lost,
	};
	int ret;

	if (n > MOCA_CHUNK_RECORDS_MAX)
		return -E2BIG;
	if (info->task >= MOCA_TASKS_MAX || info->end_ns < info->begin_ns)
		return -EINVAL;
	h.records = (uint32_t)n;
	ret = summarise(&h, recs, n);
	if (ret)
		return ret;
	moca_stream_reset(&w->stream);
	if (n)
		ret = moca_access_encode(w->scratch, &w->stream, recs, n,
					 h.begin_ns);
	return ret ? ret : write_chunk(w, &h);
}

/* Write the events gathered in w->events, of which h knows the rest. */
static int flush_events(struct moca_writer *w, struct moca_header *h,
			uint64_t *prev_ns)
{
	int ret;

	if (!h->records)
		return 0;
	moca_stream_reset(&w->stream);
	ret = moca_stream_put(&w->stream, MOCA_S_EVENTS, w->events.data,
			      w->events.len, 1);
	if (!ret)
		ret = write_chunk(w, h);
	h->records = 0;
	w->events.len = 0;
	*prev_ns = 0;
	return ret;
}

int moca_writer_events(struct moca_writer *w, uint32_t task,
		       const struct moca_event *events, size_t n)
{
	struct moca_header h = { .kind = MOCA_KIND_EVENTS, .task = task };
	uint64_t prev = 0, t;
	size_t i;
	int ret;

	if (task >= MOCA_TASKS_MAX)
		return -EINVAL;
	w->events.len = 0;
	for (i = 0; i < n; i++) {
		t = events[i].time_ns;
		if (!h.records)
			h.begin_ns = h.end_ns = t;
		if (t < h.begin_ns)
			h.begin_ns = t;
		if (t > h.end_ns)
			h.end_ns = t;
		ret = moca_event_encode(&w->events, &events[i], &prev);
		if (ret)
			return ret;
		h.records++;
		if (h.records < MOCA_CHUNK_RECORDS_MAX &&
		    w->events.len <= MOCA_EVENTS_RAW_MAX - MOCA_EVENT_BYTES_MAX)
			continue;
		ret = flush_events(w, &h, &prev);
		if (ret)
			return ret;
	}
	return flush_events(w, &h, &prev);
}

uint64_t moca_writer_bytes(const struct moca_writer *w)
{
	return w->bytes;
}

uint64_t moca_writer_access_bytes(const struct moca_writer *w)
{
	return w->access_bytes;
}
