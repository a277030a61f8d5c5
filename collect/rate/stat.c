// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/rate/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By their place behind the name, from the state, 0. */
enum {
	PPID = 1, MINOR = 7, REAPED_MINOR, MAJOR, REAPED_MAJOR,
	REAPED_USER = 13, REAPED_SYSTEM, THREADS = 17, FIELDS
};
#define WANTED (1u << PPID | 1u << MINOR | 1u << REAPED_MINOR | 1u << MAJOR | \
		1u << REAPED_MAJOR | 1u << REAPED_USER |                     \
		1u << REAPED_SYSTEM | 1u << THREADS)

int rate_stat_parse(struct rate_stat *s, const char *text)
{
	/* A name may have blanks and parentheses: it ends at the last one. */
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	uint64_t v[FIELDS] = { 0 };
	const char *p;
	char *end;
	size_t n, i;

	if (!open || !close || close < open || close[1] != ' ' || !close[2])
		return -EBADMSG;
	n = (size_t)(close - open) - 1;
	if (n >= sizeof(s->name))
		n = sizeof(s->name) - 1;
	memcpy(s->name, open + 1, n);
	s->name[n] = 0;
	s->state = close[2];
	for (p = close + 3, i = 1; i < FIELDS; i++) {
		if (*p++ != ' ')
			return -EBADMSG;
		if (!(WANTED & 1u << i)) {
			p += strcspn(p, " ");
			continue;
		}
		v[i] = strtoull(p, &end, 10);
		if (end == p)
			return -EBADMSG;
		p = end;
	}
	s->ppid = (pid_t)v[PPID];
	s->minor = v[MINOR];
	s->reaped_minor = v[REAPED_MINOR];
	s->major = v[MAJOR];
	s->reaped_major = v[REAPED_MAJOR];
	s->reaped_ticks = v[REAPED_USER] + v[REAPED_SYSTEM];
	s->threads = (unsigned int)v[THREADS];
	return 0;
}

static int read_text(int fd, char *buf, size_t size)
{
	ssize_t n = pread(fd, buf, size - 1, 0);

	if (n < 0)
		return -errno;
	buf[n] = 0;
	return n ? 0 : -ESRCH;
}

int rate_stat_read(struct rate_stat *s, int fd)
{
	char buf[1024];
	int err = read_text(fd, buf, sizeof(buf));

	return err ? err : rate_stat_parse(s, buf);
}

int rate_run_read(uint64_t *ns, int fd)
{
	char buf[128], *end;
	int err = read_text(fd, buf, sizeof(buf));

	if (err)
		return err;
	*ns = strtoull(buf, &end, 10);
	return end == buf ? -EBADMSG : 0;
}

int rate_open(pid_t pid, pid_t tid, const char *what)
{
	char path[64];
	int fd;

	if (tid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid,
			 what);
	else
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
