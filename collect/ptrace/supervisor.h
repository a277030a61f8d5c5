/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The wait loop: every stop of every traced task comes here. */
#ifndef MOCA_PTRACE_SUPERVISOR_H
#define MOCA_PTRACE_SUPERVISOR_H

#include "collect/run/internal.h"
#include "collect/ptrace/tracee.h"

/* Handle stops until no traced task is left. Runs in the tracing thread. */
void supervisor_run(struct recorder *rec);

/* Take over the first task (seized, before its exec). 0 or -errno. */
int supervisor_adopt(struct recorder *rec, pid_t pid);

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
		       struct user_regs_struct *regs);

/* Once in a recording, 0.1 ms: what a stop takes (cost.h). 0 or -errno. */
int supervisor_calibrate(struct recorder *rec, struct tracee_calls *c);

/* record_way of page accesses. */
int supervisor_after_exec(struct recorder *rec, struct task *t,
			  const char *path);
void supervisor_after_fork(struct recorder *rec, struct task *t,
			   struct task *child);

/* What a stop (a status of wait) asks for; t goes on afterwards. */
void supervisor_stop(struct recorder *rec, struct task *t, int status);

#endif
