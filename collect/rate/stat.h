/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc says of one process or thread. */
#ifndef MOCA_RATE_STAT_H
#define MOCA_RATE_STAT_H

#include <stdint.h>
#include <sys/types.h>

#define STAT_NAME 16

struct rate_stat {
	char name[STAT_NAME];
	char state;
	pid_t ppid;
	uint64_t minor, major;		/* of a process: of all its threads */
	uint64_t reaped_minor, reaped_major;	/* of children waited for */
	uint64_t reaped_ticks;		/* the same: CPU time, clock ticks */
	unsigned int threads;
};

/* The text of .../stat. 0 or -EBADMSG. */
int rate_stat_parse(struct rate_stat *s, const char *text);
/* Read it by an open descriptor. 0, -ESRCH (it is gone) or -errno. */
int rate_stat_read(struct rate_stat *s, int fd);
/* .../schedstat: time on a CPU, ns. 0, -ESRCH or -errno. */
int rate_run_read(uint64_t *ns, int fd);

/* Open /proc/PID/what, or /proc/PID/task/TID/what. A descriptor or -errno. */
int rate_open(pid_t pid, pid_t tid, const char *what);

#endif
