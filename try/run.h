/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of the program, plain or changed, and what it took. */
#ifndef MOCA_TRY_RUN_H
#define MOCA_TRY_RUN_H

#include <signal.h>
#include <stdint.h>

#include "try/output.h"

struct try_program {
	char *const *argv;	/* until NULL */
	char *const *env;	/* until NULL */
	const char *dir;	/* NULL: where we are */
	const char *input;	/* a file; NULL: it has no standard input */
	uint64_t input_offset;	/* bytes */
	int ignores_children;	/* it begins with SIGCHLD ignored */
	int stop_fd;		/* readable: runs are to end; -1 */
	const sigset_t *mask;	/* of signals, as it begins; NULL: ours */
};

enum { TRY_STDOUT, TRY_STDERR, TRY_STREAMS };

struct try_run {
	double wall_s;
	double cpu_s;		/* of it and all its children that ended */
	double faults;		/* minor and major, likewise */
	double peak_bytes;	/* of the largest of these processes */
	int status;		/* as wait(2) has it */
	struct try_stream output[TRY_STREAMS];
	struct try_tail said;	/* the end of its standard error */
	int output_open;	/* a process that it left behind holds it open */
};

/* What of a run failed, where it is about these two. */
extern const char try_step_directory[], try_step_input[];

/*
 * Run the program to its end; SIGCHLD must not be ignored here. Its output is read,
 * and not shown. 0; -ECANCELED: stop_fd became readable, and the program was ended;
 * -errno: it could not be started, and *what says what failed.
 */
int try_run(const struct try_program *p, struct try_run *out,
	    const char **what);

#endif
