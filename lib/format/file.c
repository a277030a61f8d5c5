// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW (64u << 10)

/* Its number is that of its task, or none. 0 or -errno. */
static int open_regular(struct moca_file *f, struct stat *st)
{
	char name[MOCA_FILE_NAME_MAX];

	moca_file_name(name, f->type, f->task);
	f->fd = openat(f->dirfd, name,
		       O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0)
		return -errno;
	if (fstat(f->fd, st) < 0 || !S_ISREG(st->st_mode)) {
		moca_file_close(f);
		return -EINVAL;
	}
	return 0;
}

int moca_file_open(struct moca_file *f, int dirfd, enum moca_file_type type,
		   uint32_t number, uint64_t limit)
{
	struct stat st;
	int ret;

	*f = (struct moca_file){
		.dirfd = dirfd, .type = type, .task = number,
	};
	ret = open_regular(f, &st);
	if (ret)
		return ret;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->end = (uint64_t)st.st_size < limit ? (uint64_t)st.st_size : limit;
	return 0;
}

void moca_file_close(struct moca_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	f->parked = 0;
}

void moca_file_park(struct moca_file *f)
{
	if (f->fd < 0)
		return;
	moca_file_close(f);
	f->parked = 1;
}

static int unpark(struct moca_file *f)
{
	struct stat st;
	int ret = open_regular(f, &st);

	if (ret)
		return ret;
	f->parked = 0;
	if (st.st_dev == f->dev && st.st_ino == f->ino)
		return 0;
	moca_file_close(f);
	return -ESTALE;
}

/* Up to len bytes at pos: the number, less only at the end; or -EIO. */
static ssize_t read_at(const struct moca_file *f, uint8_t *buf, size_t len,
		       uint64_t pos)
{
	size_t done = 0;
	ssize_t n;

	if (len > f->end - pos)
		len = f->end - pos;
	while (done < len) {
		n = pread(f->fd, buf + done, len - done, (off_t)(pos + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -EIO;
		if (!n)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* 1 if a whole chunk begins at pos, of which buf holds the first bytes. */
static int is_chunk(const struct moca_file *f, struct moca_header *h,
		    const uint8_t *buf, size_t len, uint64_t pos)
{
	return len >= MOCA_HEADER_MIN && !moca_header_get(h, buf, len) &&
	       (uint64_t)h->header_len + h->payload_len <= f->end - pos;
}

/* The first whole chunk at or after pos: 1, 0 or -errno. */
static int resync(struct moca_file *f, struct moca_header *h, uint64_t pos)
{
	uint8_t *buf = malloc(WINDOW), *p;
	ssize_t len;
	size_t at;
	int ret = 0;

	if (!buf)
		return -ENOMEM;
	while (pos < f->end) {
		len = read_at(f, buf, WINDOW, pos);
		if (len < MOCA_HEADER_MIN) {
			ret = len < 0 ? (int)len : 0;
			break;
		}
		for (at = 0;; at++) {
			p = memmem(buf + at, (size_t)len - at, MOCA_MAGIC,
				   MOCA_MAGIC_LEN);
			if (!p) {
				at = (size_t)len - MOCA_MAGIC_LEN + 1;
				break;
			}
			at = (size_t)(p - buf);
			/* Cut off by the window: read on from here. */
			if (at && (size_t)len - at < MOCA_HEADER_MAX &&
			    pos + (size_t)len < f->end)
				break;
			ret = is_chunk(f, h, p, (size_t)len - at, pos + at);
			if (ret)
				break;
		}
		pos += at;
		if (ret)
			break;
	}
	f->pos = pos;
	free(buf);
	return ret;
}

/* Only where chunks were when the trace was opened. */
static int next_place(struct moca_file *f, struct moca_header *h, uint64_t *pos)
{
	uint8_t buf[MOCA_HEADER_MAX];
	ssize_t len;

	while (f->place_count) {
		f->place_count--;
		*pos = *f->places++;
		if (*pos >= f->end) {
			f->gaps++;
			continue;
		}
		len = read_at(f, buf, sizeof(buf), *pos);
		if (len < 0)
			return (int)len;
		if (is_chunk(f, h, buf, (size_t)len, *pos))
			return 1;
		f->gaps++;
	}
	return 0;
}

int moca_file_next(struct moca_file *f, struct moca_header *h, uint64_t *pos)
{
	uint8_t buf[MOCA_HEADER_MAX];
	uint64_t bad = f->pos;
	ssize_t len;
	int ret;

	if (f->parked) {
		ret = unpark(f);
		if (ret)
			return ret;
	}
	if (f->places)
		return next_place(f, h, pos);
	if (f->pos >= f->end)
		return 0;
	len = read_at(f, buf, sizeof(buf), f->pos);
	if (len < 0)
		return (int)len;
	if (!is_chunk(f, h, buf, (size_t)len, f->pos)) {
		ret = resync(f, h, f->pos + 1);
		if (ret < 0)
			return ret;
		if (!ret) {
			f->tail = f->end - bad;
			f->pos = f->end;
			return 0;
		}
		f->gaps++;
	}
	*pos = f->pos;
	f->pos += h->header_len + h->payload_len;
	return 1;
}

void moca_decoder_free(struct moca_decoder *d)
{
	moca_buf_free(&d->payload);
	moca_buf_free(&d->changes);
	moca_buf_free(&d->records);
	ZSTD_freeDCtx(d->in.dctx);
	free(d->recs);
	free(d->scratch);
	free(d->rows);
	free(d->counts);
	*d = (struct moca_decoder){ 0 };
}

int moca_decoder_load(struct moca_decoder *d, const struct moca_file *f,
		      const struct moca_header *h, uint64_t pos)
{
	uint8_t *p;

	if (h->task != f->task || h->records > MOCA_CHUNK_RECORDS_MAX ||
	    h->reads > h->records || h->writes > h->records - h->reads ||
	    h->begin_ns > h->end_ns || !h->payload_len ||
	    (h->kind == MOCA_KIND_ACCESSES && !moca_weights_valid(h)))
		return -EBADMSG;
	if (!d->in.dctx)
		d->in.dctx = ZSTD_createDCtx();
	d->payload.len = 0;
	if (!d->in.dctx || moca_buf_reserve(&d->payload, h->payload_len))
		return -ENOMEM;
	p = d->payload.data;
	/* The file may have been cut since it was opened. */
	if (read_at(f, p, h->payload_len, pos + h->header_len) !=
	    (ssize_t)h->payload_len)
		return -EBADMSG;
	if (moca_payload_sum(p, h->payload_len, NULL, 0) != h->payload_sum)
		return -EBADMSG;
	return moca_stream_parse(&d->in, p, h->payload_len);
}

/* Do the accesses in d weigh what the header says? */
static int has_weights(const struct moca_decoder *d,
		       const struct moca_header *h)
{
	struct moca_weights w = { 0 };
	uint32_t i;

	if (!(h->flags & MOCA_CHUNK_WEIGHTS))
		return !moca_stream_len(&d->in, MOCA_S_WEIGHT);
	for (i = 0; i < h->records; i++)
		moca_weights_add(&w, &d->recs[i]);
	return w.all == h->weights.all && w.top == h->weights.top &&
	       w.reads == h->weights.reads && w.writes == h->weights.writes;
}

int moca_decoder_accesses(struct moca_decoder *d, const struct moca_file *f,
			  const struct moca_header *h, uint64_t pos)
{
	uint32_t n = h->records, of_type[4];
	int ret;

	if (!d->recs)
		d->recs = malloc(MOCA_CHUNK_RECORDS_MAX * sizeof(*d->recs));
	if (!d->scratch)
		d->scratch = malloc(sizeof(*d->scratch));
	if (!d->recs || !d->scratch)
		return -ENOMEM;
	ret = moca_decoder_load(d, f, h, pos);
	if (!ret && (d->addr_begin || d->addr_end)) {
		ret = moca_access_meets(d->scratch, &d->in, h->records,
					d->addr_begin, d->addr_end);
		ret = ret < 0 ? ret : !ret;
	}
	if (!ret)
		ret = moca_access_decode(d->scratch, &d->in, d->recs, n,
					 h->begin_ns, of_type);
	if (ret)
		return ret;
	if (!has_weights(d, h))
		return -EBADMSG;
	if (of_type[MOCA_ACCESS_READ] + of_type[MOCA_ACCESS_EXEC] != h->reads ||
	    of_type[MOCA_ACCESS_WRITE] != h->writes ||
	    (n && d->recs[n - 1].time_ns > h->end_ns))
		return -EBADMSG;
	return 0;
}

int moca_decoder_counts(struct moca_decoder *d, const struct moca_file *f,
			const struct moca_header *h, uint64_t pos)
{
	int ret;

	if (!d->rows)
		d->rows = malloc(MOCA_CHUNK_RECORDS_MAX * sizeof(*d->rows));
	if (!d->counts)
		d->counts = malloc(sizeof(*d->counts));
	if (!d->rows || !d->counts)
		return -ENOMEM;
	ret = moca_decoder_load(d, f, h, pos);
	return ret ? ret : moca_counts_decode(d->counts, &d->in, d->rows, h);
}

int moca_decoder_bytes(struct moca_decoder *d, const struct moca_file *f,
		       const struct moca_header *h, uint64_t pos, uint8_t id,
		       size_t max)
{
	size_t len;
	int ret;

	ret = moca_decoder_load(d, f, h, pos);
	if (ret)
		return ret;
	len = moca_stream_len(&d->in, id);
	if (!len || len > max)
		return -EBADMSG;
	d->changes.len = 0;
	if (moca_buf_reserve(&d->changes, len))
		return -ENOMEM;
	if (moca_stream_get(&d->in, id, d->changes.data, len))
		return -EBADMSG;
	d->changes.len = len;
	return 0;
}

int moca_decoder_changes(struct moca_decoder *d, const struct moca_file *f,
			const struct moca_header *h, uint64_t pos)
{
	const uint8_t *p, *end;
	uint64_t prev = 0;
	struct moca_change e;
	uint32_t i;
	int ret;

	ret = moca_decoder_bytes(d, f, h, pos, MOCA_S_CHANGES,
				 MOCA_CHANGES_RAW_MAX);
	if (ret)
		return ret;
	p = d->changes.data;
	end = p + d->changes.len;
	for (i = 0; i < h->records; i++)
		if (moca_change_decode(&e, &p, end, &prev))
			return -EBADMSG;
	return p == end ? 0 : -EBADMSG;
}

int moca_decoder_each_change(struct moca_decoder *d, const struct moca_file *f,
			    const struct moca_header *h, uint64_t pos,
			    int (*each)(void *arg, const struct moca_change *e),
			    void *arg)
{
	const uint8_t *p, *end;
	struct moca_change e;
	uint64_t prev = 0;
	int ret;

	ret = moca_decoder_changes(d, f, h, pos);
	if (ret)
		return ret;
	p = d->changes.data;
	end = p + d->changes.len;
	while (p < end && !ret && !moca_change_decode(&e, &p, end, &prev))
		ret = each(arg, &e);
	return ret;
}
