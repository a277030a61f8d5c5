/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program's limits on descriptors, address space and data, which what we do
 * in it shall not meet. No task of the process runs its own code meanwhile. By the
 * thread that traces it: of other processes nothing is raised.
 */
#ifndef MOCA_PTRACE_LIMITS_H
#define MOCA_PTRACE_LIMITS_H

#include <sys/resource.h>
#include <sys/types.h>

#define LIMITS 3

struct limits {
	pid_t tid;
	struct rlimit was[LIMITS];
	int raised[LIMITS];
};

/* Those of the process of tid, which stands still, as high as we may. What we may
 * not raise stays as it is. */
void limits_raise(struct limits *l, pid_t tid);
/* The same of RLIMIT_DATA alone. */
void limits_raise_data(struct limits *l, pid_t tid);
void limits_restore(const struct limits *l);

#endif
