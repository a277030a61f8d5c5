/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that debugs itself, as LeakSanitizer does at its end: a process of
 * its own that shares the memory, made with CLONE_UNTRACED, attaches to all
 * threads, reads their registers and lets them go. It cannot be untraced, as
 * our filter asks a tracer, and cannot attach, as a task has one tracer: so
 * it is traced like the others, and we carry out its requests. Supervisor
 * thread only.
 */
#ifndef MOCA_PTRACE_DEBUGGER_H
#define MOCA_PTRACE_DEBUGGER_H

#include "collect/ptrace/task.h"

/* Is the call number one that debugger_call() looks at? */
int debugger_wanted(long nr);

/*
 * Task t stands at the entry of the call in regs. 1: it is carried out (regs
 * are set); 2: it shall be made, and its end seen (PTRACE_SYSCALL); 0: it is
 * no call of these. -ESRCH: t died.
 */
int debugger_call(struct recorder *rec, struct task *t,
		  struct tracee_regs *regs);
/* t's clone, whose flags may have been changed, was made or failed. */
void debugger_called(struct task *t);

#endif
