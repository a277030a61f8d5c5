/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names that programs give the code that they compile: maps for perf
 * (/tmp/perf-PID.map) and dumps (jit-PID.dump, which the process maps). What is seen of
 * processes while they live says where these are, in their own namespaces; they are
 * read at the recording's end.
 *
 * Any thread may tell of a process; the rest is the engine's, at the end. A file is read
 * if it is a regular one, of the process's own user, and no older than the process.
 */
#ifndef MOCA_RUN_JIT_H
#define MOCA_RUN_JIT_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

struct jit;
struct message;
struct moca_change;
struct moca_meta;
struct moca_quota;
struct moca_writer;

/* NULL: no memory. attach: processes are older than the recording. */
struct jit *jit_new(int attach);
void jit_free(struct jit *j);

/* A message is about to be queued; its process may stand still. j may be NULL. */
void jit_message(struct jit *j, const struct message *m);
/* The same of a change that comes another way. */
void jit_change(struct jit *j, uint32_t task, const struct moca_change *c);

/*
 * Read what there is, and write it and its keys. quota: NULL: none. stop: once it is
 * not 0, no more is read. 0 or -errno: it could not be written.
 */
int jit_write(struct jit *j, struct moca_writer *w, struct moca_meta *m,
	      struct moca_quota *quota, const atomic_int *stop);

#endif
