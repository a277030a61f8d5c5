/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU time of the program and all its children and threads, those that
 * have ended as well: perf's task clock, inherited.
 */
#ifndef MOCA_FAULT_TASK_CLOCK_H
#define MOCA_FAULT_TASK_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct task_clock;

/*
 * Of these threads and what they will create; on_exec: from their next exec
 * on. NULL: perf does not give it, task_clock_ns is then 0.
 */
struct task_clock *task_clock_open(const pid_t *tids, size_t count,
				   int on_exec);
void task_clock_close(struct task_clock *c);
/* CPU time so far, ns. c may be NULL. */
uint64_t task_clock_ns(const struct task_clock *c);

#endif
