/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults of the first process of a PID namespace. While it has a tracer, the kernel
 * drops a fatal signal of it, also one by which a fault would end it plainly
 * (SIGNAL_UNKILLABLE): it would fault for ever, or go on behind the instruction.
 */
#ifndef MOCA_PTRACE_FATAL_H
#define MOCA_PTRACE_FATAL_H

#include "collect/ptrace/task.h"

/*
 * t stands where sig would be delivered. 1: the kernel would drop it, and it is of a
 * fault that ends t plainly. t has registers then to run into the same fault once
 * more, for which it must have no tracer.
 */
int fatal_is_dropped(struct task *t, int sig);

#endif
