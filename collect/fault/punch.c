// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/punch.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int overwrite(int fd, uint64_t off, uint64_t end)
{
	static const char zeros[1 << 16];
	off_t data;
	ssize_t n;

	/* What has no page is zero, and stays without one. */
	while ((data = lseek(fd, off, SEEK_DATA)) >= 0 &&
	       (uint64_t)data < end) {
		off = data;
		n = end - off < sizeof(zeros) ? end - off : sizeof(zeros);
		n = pwrite(fd, zeros, n, off);
		if (n <= 0)
			return n ? -errno : -EIO;
		off += n;
	}
	return data < 0 && errno != ENXIO ? -errno : 0;
}

int memfd_punch(int fd, uint64_t off, uint64_t len)
{
	if (!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off,
		       len))
		return 0;
	return overwrite(fd, off, off + len);
}
