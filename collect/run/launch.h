/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starting the program. Three processes: the front (what the user started: it
 * only waits), the engine (tracer and collector) and the program, a child of
 * the engine. The front may die without harm to a recording.
 */
#ifndef MOCA_RUN_LAUNCH_H
#define MOCA_RUN_LAUNCH_H

#include "collect/run/recorder.h"

/* What the child says when it could not execute the program. */
struct exec_failure {
	const char *what;	/* of record_way.before_exec; NULL: exec */
	int error;		/* errno */
};

/*
 * Fork the child that will become argv; it waits for launch_go. gate gets the
 * descriptor for that, exec_error one that a struct exec_failure comes by. The
 * pid, or -errno.
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

/* CPU time of the engine and its front, ns: the front's up to when it was seen last. */
uint64_t launch_own_cpu_ns(void);
void launch_tell_end(struct recorder *rec, int exit_code, int signal);
/* record_way.supervise without ptrace: wait tells of the program's stops and of
 * its end. Attached, it returns at once. */
void launch_supervise(struct recorder *rec);
/* The signal, which nohup has us ignore, ends no recording that is attached. */
int launch_ignores(const struct recorder *rec, int sig);
/* 1 once the front is gone. */
int launch_front_gone(struct recorder *rec);

#endif
