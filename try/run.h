/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of the program, plain or changed, and what it took. */
#ifndef MOCA_TRY_RUN_H
#define MOCA_TRY_RUN_H

#include <stdint.h>

struct try_program {
	char *const *argv;	/* until NULL */
	char *const *env;	/* until NULL */
	const char *dir;	/* NULL: where we are */
	const char *input;	/* a file; NULL: it has no standard input */
	uint64_t input_offset;	/* bytes */
	int ignores_children;	/* it begins with SIGCHLD ignored */
};

struct try_output {
	uint64_t bytes, hash;	/* XXH64 */
	uint64_t err_bytes, err_hash;
};

struct try_run {
	double wall_s;
	double cpu_s;		/* of it and all its children that ended */
	double faults;		/* minor and major, likewise */
	double peak_bytes;	/* of the largest of these processes */
	int status;		/* as wait(2) has it */
	struct try_output output;
	int output_open;	/* a process that it left behind holds it open */
};

/*
 * Run the program to its end; SIGCHLD must not be ignored here. Its output is read, and not shown. 0, or -errno:
 * it could not be started; *what says what failed then.
 */
int try_run(const struct try_program *p, struct try_run *out,
	    const char **what);

#endif
