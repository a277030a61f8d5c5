/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accesses by call stack. */
#ifndef MOCA_FLAME_H
#define MOCA_FLAME_H

#include <moca/reader.h>

enum moca_flame_count {
	MOCA_FLAME_ACCESSES,	/* what they weigh, as the next two */
	MOCA_FLAME_READS,	/* and instruction fetches */
	MOCA_FLAME_WRITES,
	MOCA_FLAME_TOUCHES,	/* pages whose first access it was, of a process */
	MOCA_FLAME_FAULTS,	/* records: page faults */
	MOCA_FLAME_COUNTS,
};

/* A call stack of a process. */
struct moca_flame_stack {
	uint32_t pid;
	uint32_t number;	/* for moca_trace_stack; 0: not known */
	uint64_t time_ns;	/* of an access with it */
	uint64_t counts[MOCA_FLAME_COUNTS];
};

struct moca_flame {
	struct moca_flame_stack *stacks;	/* by pid and number */
	size_t count;
};

/*
 * Walk the accesses that the query has (NULL: all). 0 or -errno, with nothing to
 * free. Beside what it gives, 32 bytes for each page while it runs.
 */
int moca_flame_build(struct moca_flame *out, struct moca_trace *t,
		     const struct moca_query *query);
void moca_flame_free(struct moca_flame *f);

#endif
