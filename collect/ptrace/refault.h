/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers by which a task that faulted runs into the same fault once more.
 * Supervisor thread only.
 */
#ifndef MOCA_PTRACE_REFAULT_H
#define MOCA_PTRACE_REFAULT_H

#include <signal.h>

#include "collect/ptrace/task.h"

/*
 * t stands where the signal of info would be delivered, with the registers r; the
 * signal is one that the kernel forces upon who faults. 1: t did fault, and r are
 * what it has to go on with to fault again. 0: the signal was sent by a call of t's
 * own, with a code of the kernel's.
 */
int refault(const struct task *t, const siginfo_t *info, struct tracee_regs *r);

#endif
