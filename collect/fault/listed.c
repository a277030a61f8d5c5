// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/listed.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* As /proc/123/fd: of other folders nothing is asked, who serves them may wait for us. */
static int may_be_list(const char *name)
{
	size_t len = strlen(name);

	return len > 3 && !strcmp(name + len - 3, "/fd") &&
	       isdigit((unsigned char)name[len - 4]);
}

/* Its descriptor `at` is such a folder, and has fd in it. */
static int is_in(pid_t tid, const char *at, int fd)
{
	char path[PATH_MAX], name[PATH_MAX];
	struct statfs fs;
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%s", tid, at);
	n = readlink(path, name, sizeof(name) - 1);
	name[n > 0 ? n : 0] = 0;
	if (!may_be_list(name) || statfs(path, &fs) ||
	    fs.f_type != PROC_SUPER_MAGIC)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/fd/%s/%d", tid, at, fd);
	return !lstat(path, &st);
}

int listed_is(pid_t tid, int fd)
{
	struct dirent *e;
	char path[64];
	int found = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", tid);
	d = opendir(path);
	while (d && !found && (e = readdir(d)))
		found = isdigit((unsigned char)*e->d_name) &&
			is_in(tid, e->d_name, fd);
	if (d)
		closedir(d);
	return found;
}
