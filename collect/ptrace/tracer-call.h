/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ptrace(2) on a task that we trace. One that is not moved on stands still for
 * ever, and one that is not stopped when it must be computes wrong results: so a
 * call that fails is made again. Supervisor thread.
 */
#ifndef MOCA_PTRACE_TRACER_CALL_H
#define MOCA_PTRACE_TRACER_CALL_H

#include <stdint.h>
#include <sys/types.h>

/* As ptrace(2): -1 with errno. ESRCH: it is not in a stop, or has ended. */
long tracer_call_make(int request, pid_t tid, void *addr, void *data);
#define tracer_call(request, tid, addr, data)                      \
	tracer_call_make((int)(request), tid, (void *)(uintptr_t)(addr), \
			 (void *)(uintptr_t)(data))

/* The processes ran before, and are not ours to end: see tracer_call_resume(). */
void tracer_call_attached(void);

/*
 * Let a stopped task go on, with a signal or 0. 0 or -errno; but for -ESRCH it is
 * told, and its process is ended, as it would stand still.
 */
int tracer_call_resume(int request, pid_t tid, pid_t pid, int sig);

#endif
