// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/report-live-folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"

#define NAME "moca-live-"
#define RANDOM 6	/* characters behind it */
#define MARK ".moca-view"	/* tells it from what others call so */

/* Open the folder if it is ours; no link, and nobody else's. */
static int open_own(int in, const char *name)
{
	int fd = openat(in, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid())) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* With names as we and `moca report` give them. */
static int is_ours(const char *name)
{
	return !strcmp(name, "open.html") || !strcmp(name, "messages") ||
	       !strncmp(name, "report.html", strlen("report.html"));
}

/* Remove our files, the mark last. 0; -1: there are others. */
static int empty(int fd)
{
	int again = dup(fd), left = 0;
	DIR *d = again < 0 ? NULL : fdopendir(again);
	struct dirent *e;

	if (!d) {
		if (again >= 0)
			close(again);
		return -1;
	}
	rewinddir(d);
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    strcmp(e->d_name, MARK))
			left += !is_ours(e->d_name) ||
				unlinkat(fd, e->d_name, 0);
	closedir(d);
	return left ? -1 : unlinkat(fd, MARK, 0);
}

/* Those of our user that nobody has locked: their moca view was killed. */
static void remove_left(const char *tmp)
{
	DIR *d = opendir(tmp);
	struct dirent *e;
	int fd;

	while (d && (e = readdir(d))) {
		if (strncmp(e->d_name, NAME, strlen(NAME)) ||
		    strlen(e->d_name) != strlen(NAME) + RANDOM)
			continue;
		fd = open_own(dirfd(d), e->d_name);
		if (fd < 0)
			continue;
		/* Locked until it is gone. */
		if (!flock(fd, LOCK_EX | LOCK_NB) &&
		    !faccessat(fd, MARK, F_OK, AT_SYMLINK_NOFOLLOW) &&
		    !empty(fd))
			unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
		close(fd);
	}
	if (d)
		closedir(d);
}

static int mark(int fd)
{
	int file = openat(fd, MARK, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			  0600);

	return file < 0 ? -errno : close(file);
}

/* Before it has a mark nobody takes it for left. */
static int make_locked(char *path, size_t size, const char *tmp, int *fd)
{
	int err;

	if (snprintf(path, size, "%s/" NAME "XXXXXX", tmp) >= (int)size)
		return -ENAMETOOLONG;
	if (!mkdtemp(path))
		return -errno;
	*fd = open_own(AT_FDCWD, path);
	if (*fd < 0) {
		rmdir(path);
		return -EACCES;
	}
	/* Where there are no locks, as on some network file systems, nobody removes it. */
	while (flock(*fd, LOCK_EX) && errno == EINTR)
		;
	err = mark(*fd);
	if (err) {
		close(*fd);
		rmdir(path);
	}
	return err;
}

int live_folder_make(char *path, size_t size, int *fd)
{
	const char *tmp = getenv("TMPDIR");
	int err;

	if (!tmp || !*tmp)
		tmp = "/tmp";
	remove_left(tmp);
	err = make_locked(path, size, tmp, fd);
	if (!err)
		return 0;
	moca_error("view: cannot make a folder for the page in %s: %s (TMPDIR names another one)",
		   tmp, strerror(-err));
	path[0] = 0;
	return err;
}

void live_folder_remove(const char *path, int fd)
{
	if (!empty(fd))
		rmdir(path);
	close(fd);
}
