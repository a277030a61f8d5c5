/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * seccomp's strict mode, in which a thread may read, write, end and return from
 * signals, and dies of anything else. The kernel refuses it below a filter, and
 * ours cannot be taken off. So the thread gets a filter that hands all other
 * calls to us, and we end it. Supervisor thread only.
 */
#ifndef MOCA_PTRACE_STRICT_H
#define MOCA_PTRACE_STRICT_H

#include "collect/ptrace/tracee.h"

/*
 * c's task enters strict mode, by its stub, which is `stub` here. What the call
 * returns; *err as of tracee_call().
 */
long strict_enter(struct tracee_calls *c, struct stub_data *stub, int *err);
/* t stands, with regs, at a call that strict mode does not allow: it dies. */
void strict_refuse(struct task *t, struct tracee_regs *regs);

#endif
