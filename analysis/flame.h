/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accesses and allocations by call stack. */
#ifndef MOCA_FLAME_H
#define MOCA_FLAME_H

#include <moca/reader.h>

#include "analysis/flame-windows.h"
#include "analysis/objects/objects.h"

enum moca_flame_count {
	MOCA_FLAME_ACCESSES,	/* what they weigh, as the next two */
	MOCA_FLAME_READS,	/* and instruction fetches */
	MOCA_FLAME_WRITES,
	MOCA_FLAME_TOUCHES,	/* pages whose first access it was, of a process */
	MOCA_FLAME_FAULTS,	/* records: page faults */
	MOCA_FLAME_BYTES,	/* that were allocated, and the next two of these: */
	MOCA_FLAME_AT_PEAK,	/* alive when most of all were */
	MOCA_FLAME_AT_END,	/* alive when the trace ended */
	MOCA_FLAME_ALLOCATIONS,
	MOCA_FLAME_COUNTS,
};

/* A call stack of a process, or of a thread. */
struct moca_flame_stack {
	uint32_t pid;
	uint32_t task;		/* MOCA_NO_TASK: of all threads of the process */
	uint32_t number;	/* for moca_trace_stack; 0: not known */
	uint64_t ip;		/* with by_code and no number; else 0 */
	uint32_t heap;		/* of moca_objects_heap_stacks, and 1; 0: of accesses */
	uint64_t time_ns;	/* of an access with it, or of an allocation */
	uint64_t code;		/* with by_time: another for each meaning of its addresses */
	size_t item;		/* its number in options.windows; of accesses alone */
	uint64_t counts[MOCA_FLAME_COUNTS];
};

struct moca_flame {
	struct moca_flame_stack *stacks;	/* by pid, task, number, ip and heap */
	size_t count;
};

struct moca_flame_options {
	int by_task;		/* each thread has stacks of its own */
	int by_time;		/* where code was replaced while it ran, a stack before
				   and one after it are two */
	int by_code;		/* where no stack is known, each instruction is one */
	/*
	 * Does the access count: number n, from 0, of the task with that index?
	 * NULL: each does. A first touch is one among all, and counts if it is wanted.
	 */
	int (*wants)(void *arg, size_t task, size_t n,
		     const struct moca_access *a);
	void *arg;
	/*
	 * Of the same trace, with heap_stacks: what was allocated, too; of one thread
	 * with one_task. NULL: accesses alone.
	 */
	const struct moca_objects *heap;
	uint32_t heap_task;
	int one_task;
	int no_accesses;	/* allocations alone */
	/*
	 * What stacks of accesses have in each part of the run; the caller has called
	 * _init and frees it, also after an error. NULL: not wanted.
	 */
	struct moca_flame_windows *windows;
};

/*
 * Walk all accesses; o may be NULL. 0 or -errno, with nothing to free. Beside
 * what it gives, 32 bytes for each page while it runs.
 */
int moca_flame_build(struct moca_flame *out, struct moca_trace *t,
		     const struct moca_flame_options *o);
void moca_flame_free(struct moca_flame *f);

#endif
