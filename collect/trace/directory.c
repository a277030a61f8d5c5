// SPDX-License-Identifier: GPL-2.0-or-later
/* The directory of a trace. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collect/trace/tracer.h"
#include "lib/base/err.h"

static int is_empty(int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d && (e = readdir(d)))
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return !n;
}

/* BASE-DATE, or one with a number when there is one. */
static void make_dated(char *buf, size_t size, const char *base)
{
	time_t now = time(NULL);
	char when[32];
	struct tm tm;
	int i;

	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	snprintf(buf, size, "%s-%s", base, when);
	for (i = 1; mkdir(buf, 0700) && errno == EEXIST && i <= 100; i++)
		snprintf(buf, size, "%s-%s.%d", base, when, i);
}

/* Open it and see that it is empty. A descriptor or -errno. */
static int open_empty(const char *name)
{
	int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS)) {
		int err = -errno;

		close(fd);
		return err;
	}
	if (!is_empty(fd)) {
		close(fd);
		return -ENOTEMPTY;
	}
	return fd;
}

int tracer_directory_try(const char *name, char **path, int *fd)
{
	if (mkdir(name, 0700) && errno != EEXIST)
		return -errno;
	*fd = open_empty(name);
	if (*fd < 0)
		return *fd;
	*path = realpath(name, NULL);
	if (*path)
		return 0;
	close(*fd);
	return -errno;
}

int tracer_directory_make(const char *wanted, const char *base, char **path,
			  int *fd)
{
	char buf[PATH_MAX];
	int err;

	if (!wanted)
		make_dated(buf, sizeof(buf), base);
	err = tracer_directory_try(wanted ? wanted : buf, path, fd);
	if (err == -ENOTEMPTY)
		moca_error("the directory %s for the trace is not empty; "
			   "choose another with -o, or remove it first",
			   wanted);
	else if (err)
		moca_error("cannot write into the directory %s for the trace: "
			   "%s; %s", wanted ? wanted : buf, strerror(-err),
			   tracer_advice(err, "choose another with -o"));
	return err;
}


int tracer_directory_lock(int dirfd)
{
	if (!flock(dirfd, LOCK_EX | LOCK_NB))
		return 0;
	return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

/* Where moca record was told to write, as others can find it. */
static void note_directory(struct tracer_session *s)
{
	char *path = realpath(s->dir, NULL);

	if (path)
		tracer_shm_note_directory(&s->shm, path);
	free(path);
}

int tracer_directory_open(struct tracer_session *s)
{
	struct moca_event_writer *writer;
	int err;

	if (s->types)
		return 0;
	if (s->dirfd < 0)
		s->dirfd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dirfd < 0)
		return -errno;
	/* Not all file systems can; the lock in shared memory holds too. */
	tracer_directory_lock(s->dirfd);
	err = s->opt.beside ? tracer_describe_beside(s) : 0;
	if (!err)
		err = moca_event_writer_create(&writer, s->dirfd);
	if (err)
		return err;
	err = moca_event_writer_create(&s->types, s->dirfd);
	if (err) {
		moca_event_writer_destroy(writer);
		return err;
	}
	if (s->opt.beside)
		note_directory(s);
	/* The drain may look at it at any time. */
	pthread_mutex_lock(&s->lock);
	s->writer = writer;
	pthread_mutex_unlock(&s->lock);
	return 0;
}
