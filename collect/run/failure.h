/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When a recording cannot go on, whatever the way of recording: what the user
 * is told, what becomes of the program (--on-error), and the exit code. A
 * program that was only attached to is never ended: it is let go.
 */
#ifndef MOCA_RUN_FAILURE_H
#define MOCA_RUN_FAILURE_H

struct recorder;
struct moca_meta;

/*
 * err (-errno): nothing more can be recorded, as `what` cannot be done ("write
 * the trace"). Says so and acts, the first time. 1; 0 when it failed before.
 * Collector thread.
 */
int failure_of_recording(struct recorder *rec, int err, const char *what);

/* The front was killed: the recording goes on, or ends (--on-error). */
void failure_of_front(struct recorder *rec, struct moca_meta *meta);

/*
 * On a disk that fills up the last of the metadata shall have room: a file
 * without a name holds it until failure_use_reserve(), before that is written.
 */
void failure_reserve(struct recorder *rec);
void failure_use_reserve(struct recorder *rec);

/*
 * Into the trace, once all has ended: how the program did by itself, whatever
 * became of the recording, and whether the recorder ended it. Nothing of one
 * that was attached to, or whose end is not known.
 */
void failure_tell_end(const struct recorder *rec, struct moca_meta *meta);

/*
 * err (-errno): the last that is written of a trace could not be. Says so. The
 * exit code, which would be `code` without.
 */
int failure_of_end(const struct recorder *rec, int err, int code);

/*
 * The exit code for the shell, of a program that ended with rec->root_status,
 * or was attached to; *sig a signal to die by, or 0.
 */
int failure_exit_code(const struct recorder *rec, int *sig);

#endif
