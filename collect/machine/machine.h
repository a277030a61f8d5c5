/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describing the machine that is recorded on, in the file `machine` of the
 * trace. A process of its own does it beside the program's start: hwloc takes
 * milliseconds, loads what it finds, and grows with the machine.
 */
#ifndef MOCA_COLLECT_MACHINE_H
#define MOCA_COLLECT_MACHINE_H

#include <stdint.h>
#include <sys/types.h>

struct machine_job {
	pid_t pid;	/* 0: none; a child of who began */
	int fd;		/* readable when it is done */
};

/*
 * Begin to describe the machine into the trace directory dirfd. program: whose
 * CPU and memory masks are told; 0 = the caller's, which its children inherit.
 * A failure is told by machine_wait. Before other threads are made.
 */
void machine_begin(struct machine_job *j, int dirfd, pid_t program,
		   uint64_t now_ns);
/*
 * Wait until it is done, in the caller of machine_begin or in a child of it. 0
 * or -errno, also when it was too slow (-ETIMEDOUT). Once.
 */
int machine_wait(struct machine_job *j);

/* How many NUMA nodes are online; 0 = cannot be read. */
unsigned machine_nodes(void);

#endif
