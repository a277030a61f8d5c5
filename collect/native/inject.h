/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the program's tasks do for us while they stand still. Supervisor thread. */
#ifndef MOCA_NATIVE_INJECT_H
#define MOCA_NATIVE_INJECT_H

#include "collect/ptrace/task.h"

/* trace_way.after_exec, after_fork, child_announced, exiting and call. */
int native_after_exec(struct recorder *rec, struct task *t, const char *path);
void native_after_fork(struct recorder *rec, struct task *t, struct task *child);
void native_child_announced(struct recorder *rec, struct task *child);
void native_exiting(struct recorder *rec, struct task *t);
int native_call(struct recorder *rec, struct task *t,
		const struct user_regs_struct *regs);

/*
 * record_way.before_exec: the filter that stops the calls that native_call looks at.
 * 0, or -errno and *what.
 */
int native_filter(const struct recorder *rec, const char **what);

#endif
