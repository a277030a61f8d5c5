/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Call stacks: walked once, recognised after that, known by numbers. */
#ifndef MOCA_AGENT_ALLOC_STACK_H
#define MOCA_AGENT_ALLOC_STACK_H

#include <stdint.h>

#include "agent/alloc/thread.h"
#include "agent/alloc/watch.h"

/* What a walk found, and what it depends on. */
struct alloc_walk {
	unsigned n;
	uint64_t frames[MOCA_ALLOC_FRAMES];
	int cacheable;		/* 0: too many slots */
	unsigned slots;
	int uses_rbp;
	uint64_t addr[ALLOC_SLOTS];
	uint64_t value[ALLOC_SLOTS];
};

#pragma GCC visibility push(hidden)

/*
 * unwind.c: the stack that begins with f's caller. high: up to where the stack
 * can be read; own_low, own_high: the thread's own, if a signal handler runs on
 * another (0, 0: not known).
 */
void alloc_walk(struct alloc_walk *w, const struct alloc_frame *f,
		uint64_t high, uint64_t own_low, uint64_t own_high);

/*
 * stack.c: the number of f's stack, told before it is returned; 0: could not be
 * told. *index: the place in t->counts where small objects of it are counted.
 */
uint32_t alloc_stack_id(struct alloc_thread *t, const struct alloc_frame *f,
			unsigned *index);
/* Once, in the constructor. */
void alloc_count_init(void);
/* Add what a thread has counted at this place to the stack's sum. */
void alloc_count_flush(struct alloc_thread *t, unsigned index);
/* All of a thread's. */
void alloc_count_flush_all(struct alloc_thread *t);
/* Tell what was counted and not told yet, of all stacks. */
void alloc_count_tell_all(void);
/* Stacks that found no room in the table. */
extern uint64_t alloc_stacks_full;

#pragma GCC visibility pop

#endif
