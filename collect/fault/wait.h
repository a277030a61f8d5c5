/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waiting for one task while others go on. The end of a thread-group leader
 * is reported only after its other threads were waited for, so waiting for it
 * alone may wait for ever: what comes in between is kept for the wait loop.
 */
#ifndef MOCA_FAULT_WAIT_H
#define MOCA_FAULT_WAIT_H

#include <sys/types.h>

/* The next event of this task. 0 or -errno. */
int wait_task(pid_t tid, int *status);

/* The next event of any task, kept ones first. As waitpid(-1). */
pid_t wait_any(int *status);

#endif
