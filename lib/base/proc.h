/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the kernel tells of a task in /proc; pid 0 is who asks. A task may end, or
 * not be ours to look at, at any time: an error of open(2) says so.
 */
#ifndef MOCA_BASE_PROC_H
#define MOCA_BASE_PROC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/maps.h"

/*
 * What stands behind `field` at the begin of a line, without blanks, a colon and
 * the line's end around it. 0; -ENOENT: no such field; -errno. buf is "" then.
 */
int moca_proc_field(char *buf, size_t size, const char *path,
		    const char *field);
/* The same of /proc/PID/status, "Uid:" for instance. */
int moca_proc_status(char *buf, size_t size, pid_t pid, const char *field);
/* The decimal number that it begins with; 0 when it cannot be had. */
uint64_t moca_proc_number(pid_t pid, const char *field);

/*
 * The numbers of a task, from our PID namespace (or the one of /proc) to its own:
 * how many there are, and the last of them. 0: it is gone.
 */
int moca_proc_numbers(pid_t pid, pid_t *last);

/*
 * /proc/PID/stat from its third field on, the state: the name before it may hold
 * anything. 0 or -errno; buf is "" then.
 */
int moca_proc_stat(char *buf, size_t size, pid_t pid);

/*
 * Of one thread of pid's process: what it ran, and what it waited for a CPU while it
 * could run, ns. 0 or -errno; -ENODATA: it never ran. Both are 0 then.
 */
int moca_proc_schedstat(pid_t pid, pid_t tid, uint64_t *run_ns,
			uint64_t *wait_ns);
/* The same of fd, /proc/PID/task/TID/schedstat that is open. */
int moca_proc_schedstat_of(int fd, uint64_t *run_ns, uint64_t *wait_ns);

#define MOCA_MAPS_BUF 8192	/* the longest path, and what stands before it */

/*
 * Opens /proc/PID/maps, to be read by moca_maps_next(), which returns -errno then.
 * 0 or -errno; the caller closes m->fd.
 */
int moca_proc_maps(struct moca_maps *m, pid_t pid, char *buf, size_t size);
/* The same of fd, /proc/PID/maps that is open: of the memory that PID had then. */
int moca_proc_maps_again(struct moca_maps *m, int fd, char *buf, size_t size);

#define MOCA_AUXV_MAX 64	/* pairs; some 25 there are */

struct moca_auxv {
	uint64_t words[2 * MOCA_AUXV_MAX + 2];	/* AT_*, value; ends with zeros */
};

/* Of a 64-bit program. 0 or -errno; all zeros then. */
int moca_proc_auxv(struct moca_auxv *aux, pid_t pid);
/* A value; 0: there is none. */
uint64_t moca_auxv_value(const struct moca_auxv *aux, uint64_t type);

#endif
