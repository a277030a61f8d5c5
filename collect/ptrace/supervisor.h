/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The wait loop: every stop of every traced task comes here. */
#ifndef MOCA_PTRACE_SUPERVISOR_H
#define MOCA_PTRACE_SUPERVISOR_H

#include "collect/ptrace/task.h"
#include "collect/ptrace/tracee.h"

/* Options that every traced task has. */
#define TRACE_OPTIONS                                                        \
	(PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE |  \
	 PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEVFORKDONE | \
	 PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)

/*
 * t, whose way survives, is about to run calls for us, or is done with them: killed
 * with the recorder in between, it would go on amid one. 0 or -errno.
 */
int supervisor_guard(const struct recorder *rec, struct task *t, int on);

/* The data of our filter's SECCOMP_RET_TRACE, which tells it from others'. */
#define SECCOMP_OURS 0x6d6fu
/* ... and of what stands for seccomp's strict mode (strict.h). */
#define SECCOMP_STRICT 0x6d73u

/* A new number in the trace, and the messages that announce the task. */
void supervisor_announce(struct recorder *rec, struct task *t,
			 const struct task *parent, uint32_t flags);

/* From now on this thread id means that task, in that address space; former: its
 * thread id until now, or 0. */
void supervisor_tell_task(struct recorder *rec, const struct task *t,
			  pid_t former);

/* Has it a seccomp filter other than those that the program began with? It may
 * end whoever makes the calls of our stub, or of the loader for our library. */
int supervisor_limited(struct recorder *rec, pid_t tid);
void supervisor_gap(struct recorder *rec, struct task *t, const char *why);
/* Have the program tell of its allocations: PRELOAD_STATIC, 1: it will, 0: it
 * cannot, or shall not; -errno: it died. */
int supervisor_preload(struct recorder *rec, struct task *t,
		       struct tracee_regs *regs);

/* The memory of a child cannot be copied: it is ended, and told so; when attached,
 * what that means is told. */
void supervisor_lose_child(struct recorder *rec, const struct task *t,
			   const struct task *child, int err);

/* Once in a recording, 0.1 ms: what a stop takes (cost.h). 0 or -errno. */
int supervisor_calibrate(struct recorder *rec, struct tracee_calls *c);

/* What a stop (a status of wait) asks for; t goes on afterwards. */
void supervisor_stop(struct recorder *rec, struct task *t, int status);

#endif
