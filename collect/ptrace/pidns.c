// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/pidns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * The numbers of a task, from our namespace (or the one of /proc) to its own:
 * how many there are, and the last of them. 0: it is gone.
 */
static int read_numbers(const char *who, pid_t *last)
{
	char path[64], line[512], *p, *end;
	int count = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/status", who);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		for (p = line + 6;; p = end) {
			long n = strtol(p, &end, 10);

			if (end == p)
				break;
			*last = (pid_t)n;
			count++;
		}
		break;
	}
	if (f)
		fclose(f);
	return count;
}

int pidns_is_nested(pid_t tid)
{
	static int ours;
	char who[16];
	pid_t last;

	if (!ours)
		ours = read_numbers("self", &last);
	snprintf(who, sizeof(who), "%d", tid);
	return read_numbers(who, &last) != ours;
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
	char who[16];
	pid_t last = 0;

	snprintf(who, sizeof(who), "%d", tid);
	return read_numbers(who, &last) ? last : 0;
}
