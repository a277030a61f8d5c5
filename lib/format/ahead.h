/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread that does work before it is needed: it unpacks the next chunks of
 * cursors while their caller looks at the chunks at hand. Work that it has not
 * begun when it is needed is the caller's again.
 */
#ifndef MOCA_FORMAT_AHEAD_H
#define MOCA_FORMAT_AHEAD_H

#include <stdint.h>

/* Cursors of one thread: each has the accesses of two chunks in memory, 3 MB each. */
#define MOCA_AHEAD_CURSORS_MAX 8

struct moca_ahead;

/* Work: of who puts it, until it is taken back. */
struct moca_ahead_job {
	void (*work)(struct moca_ahead_job *job);
	int state;		/* of ahead.c */
	struct moca_ahead_job *next;
};

/*
 * All calls are for the thread that made it. The thread is started for the first
 * cursor, and blocks all signals. A child of fork(2) has no such thread: it must not
 * use what its parent made. NULL: no memory.
 */
struct moca_ahead *moca_ahead_new(void);
/* All its jobs must have been taken back. a may be NULL. */
void moca_ahead_free(struct moca_ahead *a);
/*
 * A place among the cursors, which is to be given back. 1, or 0: there is none, or no
 * thread, as this process may use one CPU only or none can be started.
 */
int moca_ahead_join(struct moca_ahead *a);
void moca_ahead_leave(struct moca_ahead *a);
/* The job, of a cursor that has a place, is the thread's until it is taken back. */
void moca_ahead_put(struct moca_ahead *a, struct moca_ahead_job *job);
/*
 * Take a job back. 1: its work is done. 0: it was not begun, and nobody will begin
 * it.
 */
int moca_ahead_take(struct moca_ahead *a, struct moca_ahead_job *job);
/* How many jobs the thread has done: for tests. */
uint64_t moca_ahead_done(struct moca_ahead *a);

#endif
