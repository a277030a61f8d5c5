/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starting the program. Three processes: the front (what the user started: it
 * only waits), the engine (tracer and collector) and the program, a child of
 * the engine. The front may die without harm to a recording.
 */
#ifndef MOCA_RUN_LAUNCH_H
#define MOCA_RUN_LAUNCH_H

#include "collect/run/internal.h"

/* Options that every traced task has. */
#define LAUNCH_TRACE_OPTIONS                                                 \
	(PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE |  \
	 PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEVFORKDONE | \
	 PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)

/* The data of our filter's SECCOMP_RET_TRACE, which tells it from others'. */
#define SECCOMP_OURS 0x6d6fu

/*
 * Fork the child that will become argv (and seize it, where the way is one of
 * ptrace); it waits for launch_go.
 * gate gets the descriptor for that. The pid, or -errno.
 */
pid_t launch_child(struct recorder *rec, int *gate, int *exec_error);
/* Let it execute. */
void launch_go(int gate);

/*
 * Fork: returns 0 in the engine (rec->front set), and does not return in the
 * front, which waits for the engine and ends as the program did.
 */
int launch_engine(struct recorder *rec);

/* Messages of the engine to the front. It stops with the program and goes on
 * with it; wake_front, called now and then, says again what was not heard. */
void launch_tell_stopped(struct recorder *rec, int sig);
void launch_tell_continued(struct recorder *rec);
int launch_told_stopped(struct recorder *rec);
void launch_wake_front(void);
void launch_tell_end(struct recorder *rec, int exit_code, int signal);
/* 1 once the front is gone. */
int launch_front_gone(struct recorder *rec);

#endif
