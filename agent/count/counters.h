/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libmoca-count: what programs that `moca cc` builds are linked with. It gives
 * each thread counters, in a slot of the arena that `moca record` has mapped,
 * or in memory of its own, which nobody looks at.
 */
#ifndef MOCA_AGENT_COUNT_COUNTERS_H
#define MOCA_AGENT_COUNT_COUNTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "include/abi/exact-arena.h"

/* What note.S makes in each program and library: where its counting code is. */
struct count_module {
	struct count_module *next;
	const int32_t *code, *code_end;	/* pairs, from their own place */
	const struct count_gap *gaps, *gaps_end;
	uint64_t shift;
};

/* What could not be rewritten; compile/emit.c makes it. kind 0: nothing. */
struct count_gap {
	uint32_t kind, count;
	char source[56], sample[64];
};

/*
 * A thread's own, below its counters: the end of a slot's CONTEXT. The word
 * before it has its address.
 */
struct count_context {
	struct moca_exact_slot *slot;	/* NULL: nobody records */
	uint64_t time;			/* of the log's last TIME */
	bool busy;			/* in the log's code, below a signal */
	bool telling;			/* in the events' */
	struct count_context *next;	/* free ones */
};
#define COUNT_CONTEXT 4096	/* bytes below %gs */

/* The recording; version 0: there is none. */
extern struct moca_exact_setup moca_count_recording;
extern struct count_module *moca_count_modules;

static inline struct count_context *count_context(void)
{
	struct count_context *c;

	__asm__ volatile("movq %%gs:%c1, %0"
			 : "=r"(c) : "i"(-COUNT_CONTEXT - 8));
	return c;
}

static inline uint64_t count_clock(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

/* --- log.c: called in the middle of anything; no library call -------------- */

/* A counter of addr borrowed. */
void moca_count_first(uint64_t addr, int store);
/* what: MOCA_COUNT_STRING_*; before: below it, %rcx, %rsi, %rdi from before. */
void moca_count_elements(uint64_t rdi, uint64_t rsi, uint64_t rcx,
			 uint64_t flags, uint64_t what, const uint64_t *before);

/* --- thread.c --------------------------------------------------------------- */

/* Give the calling thread counters. kind: MOCA_TASK_*; parent: a tid or 0. */
void count_attach(uint32_t kind, uint32_t parent);
/* At its end. */
void count_detach(void);

/* --- event.c ---------------------------------------------------------------- */

/* Into the calling thread's ring; name may be NULL. */
void count_event(uint32_t type, uint64_t addr, uint64_t len, uint64_t offset,
		 uint32_t flags, uint32_t prot, const char *name);
/* Something that is not counted, n times (enum moca_exact_gap). */
void count_gap(unsigned int gap, uint64_t n, const char *name);

/* --- maps.c: as log.c ------------------------------------------------------- */

/* addr is touched first: tell what lies there, unless that is known. */
void count_mapping(uint64_t addr);

/* --- modules.c -------------------------------------------------------------- */

/* Tell of code that does not count itself, and of shared counters, once. */
void count_tell_code(void);

#endif
