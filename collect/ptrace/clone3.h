/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flags of clone3 are in the program's memory. Where some must not reach the
 * kernel (child-tid.h), it gets a changed copy of its arguments, in the stub or,
 * where there is none, below the caller's stack; its register is put back in
 * parent and child. Supervisor thread only.
 */
#ifndef MOCA_PTRACE_CLONE3_H
#define MOCA_PTRACE_CLONE3_H

#include "collect/ptrace/task.h"

/*
 * t is about to make the call in regs. 1: regs name a copy without the flags that
 * must not reach the kernel, and are to be set; t->clone_tid is set. 0: there are
 * none, or no memory for a copy.
 */
int clone3_change(const struct recorder *rec, struct task *t,
		  struct tracee_regs *regs);

/*
 * Task tid made the call in regs, or was made by it. 1: regs are as before the
 * change, and *child_tid is where a new process's number goes, if not to 0.
 */
int clone3_restore(pid_t tid, struct tracee_regs *regs,
		   uint64_t *child_tid);

/* t's call is over, and its child's registers are as they were. */
void clone3_made(struct task *t);

#endif
