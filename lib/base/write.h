/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In a header: libmoca and libmocatrace each have it, and link nothing more. */
#ifndef MOCA_BASE_WRITE_H
#define MOCA_BASE_WRITE_H

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/* Write all of buf, in as many pieces as it takes. 0 or -errno. */
static inline int moca_write_all(int fd, const void *buf, size_t len)
{
	const char *p = buf;
	ssize_t n;

	while (len) {
		n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

#endif
