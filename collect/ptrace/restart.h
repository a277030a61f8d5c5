/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls that wait, and that a stop of ours, or a signal that the program
 * ignores, makes return EINTR, which it never does without a tracer. They are begun
 * again. One that waits for a time from now gets what is left of it: the kernel
 * would begin anew, so it is interrupted when the time is over, and its
 * result is what the kernel returns then. Supervisor thread only.
 */
#ifndef MOCA_PTRACE_RESTART_H
#define MOCA_PTRACE_RESTART_H

#include <sys/ptrace.h>

#include "collect/ptrace/task.h"

/*
 * t stands at the exit of a call, or at a later stop before any code of its own.
 * 1: a call that would return EINTR is begun again, or its time is over.
 */
int restart_interrupted(struct task *t);
/*
 * r, t's registers after our stop, are to stand still for calls of ours, which
 * overwrite what the kernel restarts a call by: make it begin again by itself.
 */
void restart_by_hand(struct task *t, struct tracee_regs *r);
/*
 * t is about to be left by its tracer: what is to begin again, the kernel sees to,
 * with the signals that come from now on.
 */
void restart_leave(struct task *t);
/* t is about to get a signal: of one that it ignores no call is to return, and by
 * one that it handles none goes on. */
void restart_signal(struct task *t, int sig);
/* t has stopped at the entry or the exit of a system call; info tells which. */
void restart_at_call(struct task *t, const struct __ptrace_syscall_info *info);
/* The same, of a launched program; attached ones have asked for info already. */
void restart_at_stop(struct task *t);
/* Whether t has to report its calls. */
int restart_follows(const struct task *t);
/* Interrupt those whose time is over. The wait loop calls it when it was woken. */
void restart_look(void);

#endif
