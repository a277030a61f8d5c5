/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder of a trace in shared memory: $MOCA_SHM_DIR or /dev/shm, then
 * moca-UID/SESSION. In it are a file stream-N for each thread's buffer and
 * `directory`, which tells where the trace is written: all that `moca trace
 * recover` needs.
 *
 * Memory is allocated when a file is made: who then writes to it never fails.
 */
#ifndef MOCA_TRACE_SHM_H
#define MOCA_TRACE_SHM_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/ring/layout.h"

struct tracer_shm {
	char path[PATH_MAX];
	int parent;		/* moca-UID */
	int dirfd;
	int doorbell_fd;
	int note_fd;		/* `directory`, locked; -1: none */
	struct moca_doorbell *doorbell;
	char session[17];	/* hexadecimal, the folder's name */
};

/* Make the folder, and the doorbell beside it. 0, or -errno after a message. */
int tracer_shm_create(struct tracer_shm *m, uint64_t session);
/* Remove the folder and all that is in it. */
void tracer_shm_remove(struct tracer_shm *m);

/*
 * Note where the trace is written; and hold a lock on that note as long as we
 * live, by which others know that we do. 0 or -errno.
 */
int tracer_shm_note_directory(struct tracer_shm *m, const char *dir);
/* Where a session's collector, maybe a dead one, wrote to; "" = not known. */
void tracer_shm_noted_directory(uint64_t session, char *buf, size_t size);
/*
 * Take that lock, in a folder that tracer_shm_open has opened. 0; -EBUSY: its
 * collector is alive; -errno.
 */
int tracer_shm_lock(struct tracer_shm *m);

/*
 * 1: the trace's directory dir, as noted, is not there any more, so that nothing
 * can be recovered into it.
 */
int tracer_shm_is_orphan(const char *dir);
/* Remove a session's folder, whose collector is dead. 0; -EBUSY: it is alive;
 * -ENOENT: there is none; -errno. */
int tracer_shm_drop(uint64_t session);

/*
 * A new file of size bytes, allocated; and mapped at *base. A descriptor, or
 * -errno and nothing is left.
 */
int tracer_shm_file(struct tracer_shm *m, const char *name, size_t size,
		    void **base);
/* Can that much be had now? 0 or -errno. */
int tracer_shm_prove(struct tracer_shm *m, size_t size);

/* What to do about an error of the two above, to follow "; "; said to users. */
const char *tracer_shm_advice(int err);
/* The same of any error: about limits of descriptors, or what is usual. */
const char *tracer_advice(int err, const char *usual);

/* moca-UID, where the folders of all our sessions are. */
void tracer_shm_parent(char *path, size_t size);
/* Where a session's folder would be. */
void tracer_shm_path(char *path, size_t size, uint64_t session);
/* "stream-N" */
void tracer_shm_stream_name(char name[32], uint32_t stream);
/* Of such a name, as /proc/PID/maps has it: " (deleted)" may follow. 0, -ENOENT. */
int tracer_shm_stream_number(const char *name, uint32_t *stream);

/*
 * Open an existing folder, as metadata's trace.shm names it: it must be our
 * own. 0; -ENOENT, -EPERM (another's, or open to others), -EINVAL (its name is
 * none of ours), -errno. doorbell is not mapped.
 */
int tracer_shm_open(struct tracer_shm *m, const char *path);

#endif
