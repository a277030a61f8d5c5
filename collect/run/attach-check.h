/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a process can be attached to, as far as can be known beforehand. */
#ifndef MOCA_RUN_ATTACH_CHECK_H
#define MOCA_RUN_ATTACH_CHECK_H

#include <sys/types.h>

/*
 * Before the trace's folder is made. by_ptrace: the way needs to be its tracer;
 * sees_all: CAP_SYS_PTRACE is held. 0, or an error after a message.
 */
int attach_check(pid_t pid, int by_ptrace, int sees_all);

/*
 * From now on a process that has ended is no error that is told: it was a member
 * of a list, and named by nobody.
 */
void attach_expect_ends(void);

/* The kernel refused to attach, or to show the process, with -errno: a message.
 * All ways explain it here. */
void attach_refused(pid_t pid, int err);

#endif
