/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of the heap by call stack: how much each stack allocated, how much of that
 * was alive when the program had most bytes alive (the peak), and how much was alive
 * at the end. They follow the pass through the trace.
 */
#ifndef MOCA_OBJECTS_HEAP_H
#define MOCA_OBJECTS_HEAP_H

#include "analysis/objects/objects.h"

struct moca_heap;

/* NULL: no memory. */
struct moca_heap *moca_heap_new(void);
void moca_heap_free(struct moca_heap *h);

/* The number of the stack by which a task allocates at a binding; or -ENOMEM. */
int64_t moca_heap_stack(struct moca_heap *h, uint32_t task, uint32_t binding,
			uint64_t time_ns);
/* n objects of so many bytes together, of which no ends are told. */
void moca_heap_add(struct moca_heap *h, uint32_t stack, uint64_t n,
		   uint64_t bytes);
/*
 * An object, for 2^level of them, has the instance `id` until it ends; 0: its
 * end is not told. owner: of the space that it is in. 0 or -ENOMEM.
 */
int moca_heap_begin(struct moca_heap *h, uint32_t stack, uint32_t id,
		    uint32_t owner, uint64_t size, unsigned int level,
		    uint64_t time_ns);
void moca_heap_end(struct moca_heap *h, uint32_t id);
/*
 * A space ends, and with it what it has; heir: NULL, or the owner that has the
 * object from now on, 0: none. 0 or -ENOMEM.
 */
int moca_heap_end_all(struct moca_heap *h, uint32_t owner,
		      uint32_t (*heir)(void *arg, uint32_t id), void *arg);

/* All is told: how many stacks there are. */
size_t moca_heap_finish(struct moca_heap *h);
/* The sums of a stack, without its frames; its binding. */
uint32_t moca_heap_sums(const struct moca_heap *h, size_t stack,
			struct moca_heap_stack *out);
void moca_heap_totals(const struct moca_heap *h,
		      struct moca_heap_totals *out);

#endif
