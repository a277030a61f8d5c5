/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where cgroups are, and what freezes a process. */
#ifndef MOCA_RUN_CGROUP_H
#define MOCA_RUN_CGROUP_H

#include <sys/types.h>

/* A container may have a part of a tree mounted: what is at root in all of it. */
struct cgroup_mount {
	const char *point, *root;
};

/*
 * each() with each mount of cgroups, the unified ones first, until it returns
 * something else than 0: that; 0; or -errno.
 */
int cgroup_each_mount(int (*each)(void *arg, const struct cgroup_mount *m),
		      void *arg);
/*
 * The folder of a cgroup that /proc/PID/cgroup names so, to be freed; NULL: it is
 * not below this mount, or memory is out. Its last part may not be there.
 */
char *cgroup_folder(const struct cgroup_mount *m, const char *path);
/*
 * The command of a shell that thaws the cgroup by which the process is frozen; to be
 * freed. NULL: none is.
 */
char *cgroup_frozen(pid_t pid);

#endif
