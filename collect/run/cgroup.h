/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where cgroups are, and what freezes a process. */
#ifndef MOCA_RUN_CGROUP_H
#define MOCA_RUN_CGROUP_H

#include <sys/types.h>

/*
 * each() with each mount of cgroups, the unified ones first, until it returns
 * something else than 0: that; 0; or -errno.
 */
int cgroup_each_mount(int (*each)(void *arg, const char *point), void *arg);
/*
 * The command of a shell that thaws the cgroup by which the process is frozen; to be
 * freed. NULL: none is.
 */
char *cgroup_frozen(pid_t pid);

#endif
