/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording all members of a cgroup, of a container: each is attached to by a
 * recorder of its own, as one is by -p, and has the trace DIR/rank-N.
 */
#ifndef MOCA_CLI_RECORD_CGROUP_H
#define MOCA_CLI_RECORD_CGROUP_H

#include <sys/types.h>

#include "collect/run/record.h"

struct cgroup_options {
	const char *path;	/* --cgroup; or NULL */
	const char *container;	/* --container; or NULL */
};

/* How to record one process, in a process of its own: an exit code. */
struct cgroup_way {
	int (*record)(void *arg, pid_t pid);
	void *arg;
};

/*
 * The folder of the cgroup that g names, in /sys/fs/cgroup mostly; to be freed.
 * NULL after a message.
 */
char *cgroup_find(const struct cgroup_options *g);

/*
 * Record its members, and those of cgroups below it, until all have ended or a
 * signal asks for the end. o: dir, or NULL; rank, job, dir and quiet are set for
 * each member. An exit code.
 */
int cgroup_record(const struct cgroup_options *g, struct moca_record_options *o,
		  const struct cgroup_way *way);

#endif
