// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/perf/refused.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"

/* kernel.perf_event_paranoid; 99 where it cannot be read. */
static int paranoid(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = 99;

	if (f && fscanf(f, "%d", &level) != 1)
		level = 99;
	if (f)
		fclose(f);
	return level;
}

int refused_by_sysctl(int err)
{
	return (err == -EACCES || err == -EPERM) && paranoid() > 2;
}

void refused_explain(int err, const char *what)
{
	moca_error("cannot %s: %s; `moca doctor` says what this user may do%s",
		   what, strerror(-err), !refused_by_sysctl(err) ? "" :
		   ", and `sysctl kernel.perf_event_paranoid=2` (as root) "
		   "allows it");
}
