/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of the trace format share: results, traces, records. */
#ifndef TESTS_UNIT_TRACE_UTIL_H
#define TESTS_UNIT_TRACE_UTIL_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <moca/reader.h>

#include "lib/format/meta.h"
#include "lib/format/writer.h"

static int failures;
static char why[256];

#define CHECK(cond)							\
	do {								\
		if (!(cond)) {						\
			snprintf(why, sizeof(why), "%s:%d: %s",		\
				 __FILE__, __LINE__, #cond);		\
			return 1;					\
		}							\
	} while (0)

/* A case returns 0 (ok), 1 (failed, see why) or 2 (skipped, see why). */
static inline void run(const char *name, int (*test)(void))
{
	int ret;

	why[0] = 0;
	ret = test();
	if (!ret)
		printf("ok %s\n", name);
	else if (ret == 1)
		printf("not ok %s: %s\n", name, why);
	else
		printf("skip %s: %s\n", name, why);
	failures += ret == 1;
	fflush(stdout);
}

static char dir[64];
static int dirfd_ = -1;

/* A new empty directory, in place of the last. */
static inline void dir_new(void)
{
	char cmd[sizeof(dir) + 8];

	if (dir[0]) {
		close(dirfd_);
		snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
		if (system(cmd))
			abort();
	}
	if (snprintf(dir, sizeof(dir), "%s/moca-test-XXXXXX",
		     getenv("TMPDIR") ?: "/tmp") >= (int)sizeof(dir))
		strcpy(dir, "/tmp/moca-test-XXXXXX");
	if (!mkdtemp(dir))
		abort();
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static inline void dir_remove(void)
{
	char cmd[sizeof(dir) + 8];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	if (dir[0] && system(cmd))
		abort();
}

static inline void put_meta(const char *state)
{
	struct moca_meta *m = moca_meta_new();

	if (!m || moca_meta_set(m, "state", "%s", state) ||
	    moca_meta_write(m, dirfd_))
		abort();
	moca_meta_free(m);
}

static uint64_t rnd_state = 88172645463325252ull;

static inline uint64_t rnd(void)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return rnd_state;
}

static inline double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* The bytes of a file in dir; the caller frees. */
static inline uint8_t *slurp(const char *name, size_t *len)
{
	int fd = openat(dirfd_, name, O_RDONLY);
	off_t size = lseek(fd, 0, SEEK_END);
	uint8_t *p = malloc((size_t)size + 1);

	if (!p || pread(fd, p, (size_t)size, 0) != size)
		abort();
	close(fd);
	*len = (size_t)size;
	return p;
}

static inline void spill(const char *name, const uint8_t *p, size_t len)
{
	int fd = openat(dirfd_, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, p, len) != (ssize_t)len)
		abort();
	close(fd);
}

#endif
