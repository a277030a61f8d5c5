/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What differs between ways of recording: page accesses by faults (record.c),
 * exact counts (collect/exact), and the kernel module (collect/kernel). How the
 * program is started, stops and ends, the directory and the messages are the same
 * (record.c, launch.c); so is, for those that use ptrace, supervisor.c.
 */
#ifndef MOCA_RUN_WAY_H
#define MOCA_RUN_WAY_H

#include "collect/run/internal.h"

struct moca_meta;
struct moca_writer;

struct record_way {
	const char *collector;	/* in the trace's metadata */
	int filtered;		/* the program begins with our seccomp filter */
	const char *killed;	/* why the program ends when the recorder does;
				   NULL: it goes on */
	/*
	 * Tracing thread, instead of ptrace and all that comes with it: let the
	 * program live, until it has ended, or at once when it is attached to.
	 * NULL: the program is run under ptrace.
	 */
	void (*supervise)(struct recorder *rec);
	/* In the child, just before exec. NULL: nothing to do. */
	void (*before_exec)(const struct recorder *rec);

	/* Collector thread. The program is there and has not begun. 0, or the
	 * exit code, after a message. */
	int (*prepare)(struct recorder *rec, struct moca_meta *meta,
		       struct moca_writer *writer);
	/* Work until *finished is set and everything is written. */
	void (*collect)(struct recorder *rec, atomic_int *finished);
	/* All is written: tell the user how it went, unless quiet; what goes
	 * into the metadata does so in any case. */
	void (*summary)(struct recorder *rec);

	/* Supervisor thread. t is at the end of execve of the program at path:
	 * a new, bare address space. 0 or -errno: it died. */
	int (*after_exec)(struct recorder *rec, struct task *t,
			  const char *path);
	/* child, of t, is about to be announced and to begin; it may wait.
	 * NULL: nothing to do. */
	void (*before_child)(struct recorder *rec, const struct task *t,
			     struct task *child);
	/* child->mm is new, child has a copy of t's memory. */
	void (*after_fork)(struct recorder *rec, struct task *t,
			   struct task *child);
};

/* As moca_record_run. */
int record_run(const struct moca_record_options *opt,
	       const struct record_way *way);

#endif
