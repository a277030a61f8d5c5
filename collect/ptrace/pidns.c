// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/pidns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/proc.h"

/*
 * The numbers of a task, from our namespace (or the one of /proc) to its own:
 * how many there are, and the last of them. 0: it is gone.
 */
static int read_numbers(pid_t tid, pid_t *last)
{
	char text[512], *p = text, *end;
	int count = 0;

	moca_proc_status(text, sizeof(text), tid, "NSpid:");
	for (;; p = end, count++) {
		long n = strtol(p, &end, 10);

		if (end == p)
			break;
		*last = (pid_t)n;
	}
	return count;
}

int pidns_is_nested(pid_t tid)
{
	static int ours;
	pid_t last;

	if (!ours)
		ours = read_numbers(0, &last);
	return read_numbers(tid, &last) != ours;
}

int pidns_children_leave(pid_t tid)
{
	struct stat ours, theirs;
	char path[64];

	/* After unshare(CLONE_NEWPID) this is not where it is itself. */
	snprintf(path, sizeof(path), "/proc/%d/ns/pid_for_children", tid);
	return stat("/proc/self/ns/pid", &ours) || stat(path, &theirs) ||
	       ours.st_ino != theirs.st_ino || ours.st_dev != theirs.st_dev;
}

pid_t pidns_number(pid_t tid)
{
	pid_t last = 0;

	return read_numbers(tid, &last) ? last : 0;
}
