// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/append.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

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

/* Cut the file off behind a->end, if it is longer. */
static int cut(int fd, struct moca_append *a)
{
	struct stat st;

	if (fstat(fd, &st) < 0 ||
	    ((uint64_t)st.st_size > a->end && ftruncate(fd, (off_t)a->end) < 0))
		return -errno;
	a->tail = 0;
	return 0;
}

/* Append to the file all of iov or nothing. */
static int append(int dirfd, struct moca_append *a, struct iovec *iov,
		  int count)
{
	int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
	char name[MOCA_FILE_NAME_MAX];
	struct stat st;
	int fd, ret;

	moca_file_name(name, a->type, a->number);
	fd = openat(dirfd, name, flags | a->flags, 0600);
	if (fd < 0)
		return -errno;
	a->flags = 0;
	ret = a->tail ? cut(fd, a) : 0;
	if (!ret && fstat(fd, &st) < 0)
		ret = -errno;
	if (ret)
		goto out;
	ret = write_all(fd, iov, count);
	if (ret) {
		/* If this fails, the next append does it, or readers do. */
		a->tail = 1;
		a->end = (uint64_t)st.st_size;
		cut(fd, a);
	}
out:
	close(fd);
	return ret;
}

int moca_append_chunk(int dirfd, struct moca_append *a, struct moca_header *h,
		      const struct moca_stream_out *s, uint64_t *next_number,
		      uint64_t *bytes)
{
	uint8_t buf[MOCA_HEADER_MAX];
	struct iovec iov[3];
	int ret;

	if (s->dir.len + s->body.len > MOCA_PAYLOAD_MAX)
		return -E2BIG;
	h->payload_len = (uint32_t)(s->dir.len + s->body.len);
	h->payload_sum = moca_payload_sum(s->dir.data, s->dir.len,
					  s->body.data, s->body.len);
	h->number = next_number[h->kind];
	iov[0].iov_base = buf;
	iov[0].iov_len = moca_header_put(h, buf);
	iov[1].iov_base = s->dir.data;
	iov[1].iov_len = s->dir.len;
	iov[2].iov_base = s->body.data;
	iov[2].iov_len = s->body.len;
	*bytes = iov[0].iov_len + h->payload_len;
	ret = append(dirfd, a, iov, s->body.len ? 3 : 2);
	if (!ret)
		next_number[h->kind]++;
	return ret;
}
