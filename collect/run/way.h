/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What differs between ways of recording: page accesses by faults
 * (collect/fault), exact counts (collect/exact), and the kernel module
 * (collect/kernel). How the program is started, stops and ends, the directory and
 * the messages are the same (record.c, launch.c); what ways under ptrace have
 * besides is collect/ptrace/way.h.
 */
#ifndef MOCA_RUN_WAY_H
#define MOCA_RUN_WAY_H

#include "collect/run/recorder.h"

struct moca_meta;
struct moca_writer;
struct trace_way;

struct record_way {
	const char *collector;	/* in the trace's metadata */
	const char *killed;	/* why the program ends when the recorder does;
				   NULL: it goes on */
	const struct trace_way *traced;	/* NULL: not under ptrace */

	/*
	 * Tracing thread, whose child the program is. First, pid is there and
	 * waits to be let go. 0 or -errno: it is ended. NULL: nothing to do.
	 */
	int (*child)(struct recorder *rec, pid_t pid);
	/*
	 * It is about to begin; or it is to be attached to. 0 or -errno: then it
	 * lives, unrecorded. NULL: nothing to do.
	 */
	int (*begin)(struct recorder *rec, pid_t pid);
	/* Let it live, until it has ended, or at once when it is attached to. */
	void (*supervise)(struct recorder *rec);
	/* In the child, just before exec. 0, or -errno and *what could not be
	 * done, a constant. NULL: nothing to do. */
	int (*before_exec)(const struct recorder *rec, const char **what);

	/* The collector thread calls this when the program exists and has not
	 * been let go. Returns 0, or the exit code after a message. */
	int (*prepare)(struct recorder *rec, struct moca_meta *meta,
		       struct moca_writer *writer);
	/* Work until *finished is set and everything is written. */
	void (*collect)(struct recorder *rec, atomic_int *finished);
	/* All is written: tell the user how it went, unless quiet; what goes
	 * into the metadata does so in any case. */
	void (*summary)(struct recorder *rec);
};

/* Record, and return the exit code for the shell: the program's own, or 125 to
 * 127. A program that was killed by a signal ends the caller by the same. */
int record_run(const struct moca_record_options *opt,
	       const struct record_way *way);

#endif
