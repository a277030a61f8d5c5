// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/listed.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As /proc/123/fd. */
static int may_be_list(const char *name)
{
	size_t len = strlen(name);

	return len > 3 && !strcmp(name + len - 3, "/fd") &&
	       isdigit((unsigned char)name[len - 4]);
}

/*
 * Is what its descriptor `at` is of in a mounted /proc? The folder itself is not
 * asked: who serves it (FUSE) may wait for us.
 */
static int is_of_proc(pid_t tid, const char *at)
{
	char path[PATH_MAX], line[8192], *type;
	int mount = -1, id, found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", tid, at);
	f = fopen(path, "re");
	while (f && mount < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "mnt_id: %d", &id) == 1)
			mount = id;
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", tid);
	f = mount < 0 ? NULL : fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		type = strstr(line, " - ");
		found = sscanf(line, "%d", &id) == 1 && id == mount && type &&
			!strncmp(type, " - proc ", 8);
	}
	if (f)
		fclose(f);
	return found;
}

/* Its descriptor `at` is such a folder, and has fd in it. */
static int is_in(pid_t tid, const char *at, int fd)
{
	char path[PATH_MAX], name[PATH_MAX];
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%s", tid, at);
	n = readlink(path, name, sizeof(name) - 1);
	name[n > 0 ? n : 0] = 0;
	if (!may_be_list(name) || !is_of_proc(tid, at))
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
