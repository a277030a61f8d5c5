/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What differs between ways of recording a program under ptrace. All is called
 * by the supervisor thread, unless said otherwise; what may be NULL says so.
 */
#ifndef MOCA_PTRACE_WAY_H
#define MOCA_PTRACE_WAY_H

#include <stddef.h>

#include "collect/ptrace/task.h"
#include "collect/run/way.h"

struct trace_way {
	int filtered;	/* the program begins with a seccomp filter of the way's
			   own, which stops the calls that it handles */

	int survives;	/* the program goes on when the recorder is killed, but in
			   supervisor_guard(); or it is ended then */

	/* --- address spaces (space.h) --- */
	size_t space_bytes;	/* of its own, which begins with struct space */
	void (*space_begin)(struct space *s);	/* zeroed before; or NULL */
	/* Task t, the last that has it, is about to leave its space. Or NULL. */
	void (*space_left)(struct recorder *rec, struct task *t);
	/* No task has it any more; the collector is told next. Or NULL. */
	void (*space_end)(struct recorder *rec, struct space *s);
	/* Collector thread: what it holds, not s itself. Or NULL. */
	void (*space_free)(struct space *s);
	/*
	 * Is pid's memory a copy of it, made by a fork? 1, 0, or -1: it cannot
	 * be told. NULL: it never can.
	 */
	int (*is_copy)(const struct space *s, pid_t pid);

	/* --- tasks --- */
	/* t is at the end of execve of the program at path: a new, bare address
	 * space. 0 or -errno: it died. */
	int (*after_exec)(struct recorder *rec, struct task *t,
			  const char *path);
	/* child, of t, is about to be announced and to begin; it may wait. Or
	 * NULL. */
	void (*before_child)(struct recorder *rec, const struct task *t,
			     struct task *child);
	/* Does the child of a fork share the memory of s, until after_fork has
	 * given it its own? NULL: no. */
	int (*forks_share)(const struct space *s);
	/* child->space is new, child has a copy of t's memory. */
	void (*after_fork)(struct recorder *rec, struct task *t,
			   struct task *child);
	/* The same child is announced now. Or NULL. */
	void (*child_announced)(struct recorder *rec, struct task *child);

	/* t, its process's leader, is about to end: its memory is there still, and
	 * may be other tasks' as well. Or NULL. */
	void (*exiting)(struct recorder *rec, struct task *t);

	/* --- system calls --- */
	/* Attached, where each call stops: does it handle those? NULL: none. */
	int (*call_wanted)(long nr);
	/* t stands at the entry of a call. 0 or -errno: the call is made by the
	 * program; -ESRCH: t died; 1: it was carried out. NULL as before. */
	int (*call)(struct recorder *rec, struct task *t,
		    const struct tracee_regs *regs);

	/* --- what the collector asks for: all three or none --- */
	/* Something was asked for that a task of s has to do: 1, once. */
	int (*asked)(struct recorder *rec, struct space *s);
	/* ... and is to be done yet by a task of it. */
	int (*waits)(const struct space *s);
	/* t stands still: do it. */
	void (*give)(struct recorder *rec, struct task *t);

	/* --- a process that ran before (attach.h); NULL: it cannot be --- */
	/* All its tasks stand still, t can run calls; NULL: none can. */
	void (*attach)(struct recorder *rec, struct space *s, struct task *t);
	/* All tasks stand still that could be stopped: undo it. */
	void (*detach)(struct recorder *rec);
};

/* The part of struct record_way that all ways under ptrace have. */
#define RECORD_TRACED(way)                                             \
	.traced = (way), .child = supervisor_seize, .begin = supervisor_begin, \
	.supervise = supervisor_run

int supervisor_seize(struct recorder *rec, pid_t pid);
int supervisor_begin(struct recorder *rec, pid_t pid);
void supervisor_run(struct recorder *rec);

#endif
