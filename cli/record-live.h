/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The `moca record` below a command that shows what it writes: moca top and moca view
 * --live. One at a time, of one thread.
 */
#ifndef MOCA_CLI_RECORD_LIVE_H
#define MOCA_CLI_RECORD_LIVE_H

#include <stdint.h>
#include <sys/types.h>

struct record_live {
	/* What it is to do; 0 and NULL: as moca record has it. */
	const char *command;	/* top or view, for messages */
	const char *what;	/* the program or the process, for messages */
	const char *trace;
	const char *sample, *budget;
	uint64_t interval_ns, max_size;
	uint64_t pid;		/* to attach to; 0: a program is started */
	int stacks;
	const char *out, *err;	/* where the program's output goes; NULL: as ours */
	/* How it is. */
	pid_t recorder;		/* 0: it has ended */
	int status;		/* how */
	pid_t witness;		/* 0: none */
	int was_told;		/* by us, to end */
};

/* From here on SIGINT, SIGTERM and SIGHUP are counted, but those that are ignored. */
void record_live_signals(void);
/* How many came. */
int record_live_signalled(void);
/* In a child: they are as we found them. */
void record_live_as_found(void);
/*
 * In a child of `parent`, for ever: this moca with these arguments, NULL last. It
 * gets signal `if_we_die` when its parent ends.
 */
void record_live_become(const char *command, char **args, int if_we_die,
			pid_t parent);

/*
 * Start it. prepare(arg) is called in the child; NULL: nothing is. 0, or -errno
 * after a message.
 */
int record_live_start(struct record_live *r, char **argv, int argc,
		      void (*prepare)(void *), void *arg);
int record_live_has_ended(struct record_live *r);
/*
 * Tell it to end, and wait. A process that was attached to is left. A program that got
 * the signal that we got ends by itself, as it does below moca record: it may have to
 * tidy up. It is sent SIGTERM where it did not get one, and by the next signal.
 */
void record_live_end(struct record_live *r);
/* Of one that has ended: 0, or the exit code that tells what could not be recorded. */
int record_live_exit_code(const struct record_live *r);

#endif
