// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/subreaper.h"

#include <stdio.h>

#include "lib/base/err.h"
#include "lib/base/proc.h"

#define SUBREAPERS_MAX 256
#define ANCESTORS_MAX 1000	/* pids may change hands while we walk */

static pid_t known[SUBREAPERS_MAX];
static unsigned int count;

static int find(pid_t pid)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (known[i] == pid)
			return i;
	return -1;
}

void subreaper_set(pid_t pid, int on)
{
	int i = count ? find(pid) : -1;

	if (on && i < 0) {
		if (count == SUBREAPERS_MAX)
			moca_warn("process %d adopts orphans, as %u others do "
				  "already: its wait for all children may not "
				  "end before the recording", pid, count);
		else
			known[count++] = pid;
	} else if (!on && i >= 0) {
		known[i] = known[--count];
	}
}

static pid_t parent_of(pid_t pid)
{
	pid_t parent = 0;
	char text[512];

	moca_proc_stat(text, sizeof(text), pid);
	return sscanf(text, "%*c %d", &parent) == 1 ? parent : 0;
}

int subreaper_above(pid_t pid)
{
	unsigned int i;

	for (i = 0; count && pid > 1 && i < ANCESTORS_MAX; i++) {
		if (find(pid) >= 0)
			return 1;
		pid = parent_of(pid);
	}
	return 0;
}
