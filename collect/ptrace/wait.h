/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waiting for one task while others go on. The end of a thread-group leader
 * is reported only after its other threads were waited for, so waiting for it
 * alone may wait for ever: what comes in between is kept for the wait loop.
 */
#ifndef MOCA_PTRACE_WAIT_H
#define MOCA_PTRACE_WAIT_H

#include <sys/types.h>

/* The next event of this task, a kept one first. 0 or -errno. */
int wait_task(pid_t tid, int *status);
/*
 * The same for a task that was let go on just now: an event of it that is
 * kept is the stop from which it went on, and not what is waited for.
 */
int wait_resumed(pid_t tid, int *status);
/* 1 with its event if there is one by now, 0 if not, or -errno. */
int wait_poll(pid_t tid, int *status);
/* 1: nothing will ever be reported of this task. */
int wait_is_over(pid_t tid);
/* Keep an event for wait_any. */
void wait_keep(pid_t tid, int status);

/* A child of ours is no tracee any more: wait_any tells when it is stopped by
 * ^Z, and goes on, as well. */
void wait_plain(void);
/* The next event of any task, kept ones first. As waitpid(-1). */
pid_t wait_any(int *status);

#endif
