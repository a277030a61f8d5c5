/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that is not the leader executes a program: the kernel ends the leader
 * without a report, and gives its thread id to that thread. What is done to the
 * leader then happens to the new image, and whoever lets it go loses its
 * PTRACE_EVENT_EXEC: the image would run unrecorded. So the leader's stops wait
 * until the exec is over. tracee.c finds what cannot be seen coming (exact mode,
 * where no call stops). Supervisor thread.
 */
#ifndef MOCA_PTRACE_TAKEOVER_H
#define MOCA_PTRACE_TAKEOVER_H

#include <sys/ptrace.h>
#include <sys/wait.h>

#include "collect/ptrace/task.h"

/*
 * t is at the entry of a call and about to go on. 1: it is such an exec, and
 * shall stop at the call's exit, where takeover_end is due if it failed.
 */
int takeover_begin(struct task *t, const struct tracee_regs *regs);
/* The exec of t is over, or t is; tid: its thread id when it began. */
void takeover_end(struct task *t, pid_t tid);
/*
 * The wait loop was interrupted: of an exec that takes long (its file is on a
 * server that hangs) the leader waits no longer.
 */
void takeover_look(void);

/* t is not handled before whom it is held by (also debugger.h) lets it go. */
static inline int task_waits(const struct task *t, int status)
{
	return t->held_by && WIFSTOPPED(status & ~TASK_STATUS_SET) &&
	       status >> 16 != PTRACE_EVENT_EXEC;
}

/* t is held no longer: the wait loop sees its stop. */
void task_let_go(struct task *t);
/* The same of all that tid holds. */
void tasks_let_go(pid_t tid);

#endif
