// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/pidns.h"

#include <stdio.h>
#include <sys/stat.h>

#include "lib/base/proc.h"

int pidns_is_nested(pid_t tid)
{
	static int ours;
	pid_t last;

	if (!ours)
		ours = moca_proc_numbers(0, &last);
	return moca_proc_numbers(tid, &last) != ours;
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

	return moca_proc_numbers(tid, &last) ? last : 0;
}
