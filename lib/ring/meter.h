/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What telling allocations costs the programs of a trace, and how much of it
 * they shall do. It lies in the trace's doorbell page (layout.h), which all its
 * programs have mapped writable; the recorder reads it once a second.
 *
 * Nothing here is believed further than for an estimate: a program may write
 * what it likes. All fields only grow, but `thin`. Programs add relaxed, in
 * batches (a thread keeps its own sums, and adds them when they are worth a
 * cache miss and when it ends), so that no cache line is fought for. A program
 * that is killed loses its last batch.
 */
#ifndef MOCA_RING_METER_H
#define MOCA_RING_METER_H

#include <stdint.h>

/* Offset in the doorbell page: a cache line pair of its own. */
#define MOCA_METER_OFFSET 1024u

struct moca_meter {
	/* Added to by programs. */
	uint64_t calls;		/* of allocators, seen by libmoca-alloc */
	uint64_t events;	/* of these, told one by one */
	uint64_t stacks;	/* stacks that had to be walked */
	uint64_t ticks;		/* of the TSC, spent for them; scaled up from
				   one call in 64 that is timed */
	uint64_t ns;		/* the same, in ns of CPU time */
	uint64_t cpu_ns;	/* CPU time of the threads that allocate, all
				   of it; as old as `ns` */
	uint64_t waited_ns;	/* wall time, for room in full buffers; not in
				   the above */
	uint32_t level;		/* the highest that a program has come to */
	uint32_t over;		/* 1: at the highest there is, and still above
				   its share of the CPU time */
	/* Written by the recorder, read by programs when they like. */
	uint32_t thin __attribute__((aligned(128)));
				/* 0: all as asked; n: a stack is taken of one
				   small object in 2^n, the others are counted.
				   Programs may go beyond by themselves:
				   agent/alloc/thin.h */
};

#define MOCA_THIN_MAX 10u

#endif
