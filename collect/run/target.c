// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/target.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/vec.h"

int target_find(const char *name, char *out, size_t size)
{
	const char *path = getenv("PATH"), *end;
	int err = ENOENT;

	if (strchr(name, '/')) {
		snprintf(out, size, "%s", name);
		return access(out, X_OK) ? -errno : 0;
	}
	if (!path)
		path = "/bin:/usr/bin";
	for (;; path = end + 1) {
		struct stat st;

		end = strchrnul(path, ':');
		snprintf(out, size, "%.*s%s%s", (int)(end - path), path,
			 end == path ? "" : "/", name);
		if (!access(out, X_OK) && !stat(out, &st) && S_ISREG(st.st_mode))
			return 0;
		if (errno == EACCES)
			err = EACCES;
		if (!*end)
			return -err;
	}
}

int target_check(const char *program, int traced, int *code)
{
	char path[4096], cap[64];
	struct stat st;
	int err = target_find(program, path, sizeof(path));

	if (err) {
		*code = err == -ENOENT ? 127 : 126;
		moca_error("cannot execute %s: %s", program, strerror(-err));
		return err;
	}
	if (!traced || geteuid() == 0 || stat(path, &st))
		return 0;
	if (((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
	    ((st.st_mode & S_ISGID) && st.st_gid != getegid()) ||
	    getxattr(path, "security.capability", cap, sizeof(cap)) > 0) {
		*code = 125;
		moca_error("%s runs with another user's rights (set-user-ID, "
			   "set-group-ID or capabilities), which the kernel "
			   "takes away while it is traced: it would not do "
			   "what it does. Record it as root", path);
		return -EPERM;
	}
	return 0;
}

pid_t *target_threads(pid_t pid, size_t *count)
{
	pid_t *tids = NULL;
	size_t room = 0;
	struct dirent *e;
	char path[64];
	DIR *d;

	*count = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	if (!d)
		return NULL;
	while ((e = readdir(d))) {
		pid_t tid = atoi(e->d_name);

		if (tid <= 0)
			continue;
		if (moca_vec_fit(tids, room, *count + 1))
			break;
		tids[(*count)++] = tid;
	}
	closedir(d);
	return tids;
}
