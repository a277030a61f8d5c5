// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/listed.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A program that lists its descriptors and closes them does so a few times; one
 * that begins anew until nothing is left has to get there. */
#define LISTED_MOST 16

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

static int is_listed(pid_t tid, int fd)
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

int listed_call(struct ctx *x)
{
	unsigned int fd = x->mm->remote_fd, first = x->a[0], last = x->a[1];
	int err;

	switch (x->nr) {
	case SYS_close:
		x->ret = is_listed(x->task->tid, (int)fd) ? 0 : -EBADF;
		/* Not of a vfork child, which ends or executes a program. */
		if (!x->ret && x->task->pid == x->mm->space.pid &&
		    ++x->mm->listed > LISTED_MOST)
			return mapcall_leave(x, "the program closes Moca's "
					     "descriptor again and again: real "
					     "faults only");
		return 0;
	case SYS_fcntl:
		x->ret = -EBADF;
		if (((int)x->a[1] == F_GETFD || (int)x->a[1] == F_SETFD) &&
		    is_listed(x->task->tid, (int)fd))
			x->ret = (int)x->a[1] == F_GETFD ? FD_CLOEXEC : 0;
		return 0;
#ifdef SYS_dup2
	case SYS_dup2:
#endif
	case SYS_dup3:
		return mapcall_leave(x, "the program uses Moca's descriptor number: "
				   "real faults only");
	}
	if (first > last || first > fd || last < fd)
		return run_own(x);
	/* close_range: around ours. */
	x->ret = 0;
	if (first < fd) {
		x->a[1] = fd - 1;
		err = run_own(x);
		if (err || failed(x->ret))
			return err;
	}
	if (last > fd) {
		x->a[0] = fd + 1;
		x->a[1] = last;
		return run_own(x);
	}
	return 0;
}
