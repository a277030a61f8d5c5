// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/seal.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/base/bytes.h"
#include "lib/format/file.h"
#include "lib/format/meta.h"

#define KEY_FILES "files.count"
#define KEY_CHUNKS "files.chunks"
#define KEY_BYTES "files.bytes"
#define KEY_SUM "files.sum"

struct walk {
	struct moca_seal *seal;
	struct moca_buf payload;
	int payloads;
};

static int check_payload(struct walk *w, const struct moca_file *f,
			 const struct moca_header *h, uint64_t pos)
{
	ssize_t n;

	if (!h->payload_len)
		return 0;
	w->payload.len = 0;
	if (moca_buf_reserve(&w->payload, h->payload_len))
		return -ENOMEM;
	do
		n = pread(f->fd, w->payload.data, h->payload_len,
			  (off_t)(pos + h->header_len));
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)h->payload_len ||
	    moca_payload_sum(w->payload.data, h->payload_len, NULL, 0) !=
		    h->payload_sum)
		w->seal->bad_payloads++;
	return 0;
}

void moca_seal_file(struct moca_seal *s, XXH64_state_t *sum,
		    const struct moca_file *f)
{
	uint8_t b[24];

	s->bytes += f->end;
	XXH64_reset(sum, 0);
	moca_put64(b, (uint64_t)f->type);
	moca_put64(b + 8, f->task);
	moca_put64(b + 16, f->end);
	XXH64_update(sum, b, sizeof(b));
}

void moca_seal_chunk(struct moca_seal *s, XXH64_state_t *sum,
		     const struct moca_header *h, uint64_t pos)
{
	uint8_t b[16];

	/* The header has a checksum over all its other bytes: that is summed. */
	moca_put64(b, pos);
	moca_put64(b + 8, h->header_sum);
	XXH64_update(sum, b, sizeof(b));
	s->chunks++;
}

/*
 * Sums of files are added: so they need no order, and a directory of a million
 * files no list.
 */
void moca_seal_file_end(struct moca_seal *s, const XXH64_state_t *sum)
{
	s->sum += XXH64_digest(sum);
}

static int add_file(struct walk *w, int dirfd, enum moca_file_type type,
		    uint32_t number)
{
	struct moca_seal *s = w->seal;
	struct moca_header h;
	struct moca_file f;
	XXH64_state_t sum;
	uint64_t pos;
	int ret;

	s->files++;
	if (moca_file_open(&f, dirfd, type, number, INT64_MAX)) {
		s->unreadable++;
		return 0;
	}
	moca_seal_file(s, &sum, &f);
	while ((ret = moca_file_next(&f, &h, &pos)) > 0) {
		moca_seal_chunk(s, &sum, &h, pos);
		ret = w->payloads ? check_payload(w, &f, &h, pos) : 0;
		if (ret)
			break;
	}
	moca_seal_file_end(s, &sum);
	s->damaged += f.gaps + (f.tail != 0);
	moca_file_close(&f);
	return ret;
}

int moca_seal_take(struct moca_seal *out, int dirfd, int payloads)
{
	struct walk w = { .seal = out, .payloads = payloads };
	int fd, ret = 0, known;
	enum moca_file_type type;
	struct dirent *de;
	uint32_t number;
	DIR *dir;

	*out = (struct moca_seal){ 0 };
	fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		ret = -errno;
		if (fd >= 0)
			close(fd);
		return ret;
	}
	while (!ret && (de = readdir(dir))) {
		known = moca_file_name_parse(de->d_name, &type, &number);
		if (known > 0)
			ret = add_file(&w, dirfd, type, number);
		else if (known < 0)
			out->unreadable++;
	}
	closedir(dir);
	moca_buf_free(&w.payload);
	return ret;
}

int moca_seal_write(struct moca_meta *m, int dirfd)
{
	struct moca_seal s;
	int ret = moca_seal_take(&s, dirfd, 0);

	if (!ret)
		ret = moca_meta_set(m, KEY_FILES, "%" PRIu64, s.files);
	if (!ret)
		ret = moca_meta_set(m, KEY_CHUNKS, "%" PRIu64, s.chunks);
	if (!ret)
		ret = moca_meta_set(m, KEY_BYTES, "%" PRIu64, s.bytes);
	if (!ret)
		ret = moca_meta_set(m, KEY_SUM, "%016" PRIx64, s.sum);
	if (!ret)
		ret = moca_meta_write(m, dirfd);
	/* What is written from here on is of other files. */
	moca_meta_unset(m, KEY_FILES);
	moca_meta_unset(m, KEY_CHUNKS);
	moca_meta_unset(m, KEY_BYTES);
	moca_meta_unset(m, KEY_SUM);
	return ret;
}

int moca_seal_get(struct moca_seal *out, const struct moca_meta *m)
{
	const char *sum = moca_meta_get(m, KEY_SUM);
	int end = 0;

	*out = (struct moca_seal){ 0 };
	if (!sum || sscanf(sum, "%16" SCNx64 "%n", &out->sum, &end) != 1 ||
	    end != 16 || sum[end])
		return 0;
	out->files = moca_meta_u64(m, KEY_FILES, UINT64_MAX);
	out->chunks = moca_meta_u64(m, KEY_CHUNKS, UINT64_MAX);
	out->bytes = moca_meta_u64(m, KEY_BYTES, UINT64_MAX);
	return 1;
}
