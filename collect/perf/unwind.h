/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call stacks of other processes: from registers and a copy of the top of the
 * stack, by .eh_frame of the files that are mapped; code that has none (JIT) by
 * frame pointers. Collector thread only.
 */
#ifndef MOCA_PERF_UNWIND_H
#define MOCA_PERF_UNWIND_H

#include <stdint.h>

#include <moca/types.h>

struct text;
struct unwinder;

/* What a task had when it faulted. */
struct user_stack {
	uint64_t ip, sp, bp;
	const uint8_t *copy;	/* of the memory from sp on; of any alignment */
	uint32_t bytes;		/* of it that are there */
	uint32_t known;		/* 1: the registers are there; 0: nothing is */
};

/* text, borrowed: what is mapped. NULL: no memory. */
struct unwinder *unwinder_new(const struct text *text);
void unwinder_free(struct unwinder *u);
/* Mappings have changed: what was found may not hold any more. */
void unwinder_changed(struct unwinder *u);
/*
 * The frames of a stack of address space `space`, the innermost first, at most
 * MOCA_STACK_FRAMES_MAX: how many, 1 or more. *flags: MOCA_STACK_*.
 */
uint32_t unwinder_walk(struct unwinder *u, int space,
		       const struct user_stack *s, uint64_t *frames,
		       uint32_t *flags);

#endif
