/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An address space of the traced program: what every way under ptrace has of
 * it. A way's own begins with it (trace_way.space_bytes). Made and left by the
 * supervisor; the collector has it from then on, and frees it when MSG_SPACE_END
 * says that no task is left.
 */
#ifndef MOCA_PTRACE_SPACE_H
#define MOCA_PTRACE_SPACE_H

#include <stdint.h>
#include <sys/types.h>

struct recorder;

struct space {
	struct space *next;	/* recorder.spaces, under recorder.space_lock */
	int refs;		/* tasks that have it */
	int shared;		/* there were several */
	int id;
	pid_t pid;		/* a process that has it, for /proc */
	pid_t clones[2];	/* whose arguments the stub has: clone3.c */
	uint64_t quiet;		/* where its agent can be silenced; 0: nowhere */
};

/* A new one, of process pid, with one reference. NULL: no memory. */
struct space *space_new(struct recorder *rec, pid_t pid);
struct space *space_get(struct space *s);
/* A task left it; the last one ends it. s may be NULL. */
void space_put(struct recorder *rec, struct space *s);
/* The collector is done with it too. Collector thread. */
void space_free(struct recorder *rec, struct space *s);

#endif
