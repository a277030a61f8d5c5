/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call stacks of accesses, each kept once, and their way to the trace. */
#ifndef MOCA_FAULT_STACKS_H
#define MOCA_FAULT_STACKS_H

#include <stdint.h>

#include "collect/perf/unwind.h"

struct moca_meta;
struct moca_writer;
struct stacks;

/* NULL: no memory. bytes: of the copy of a stack; 0: there are none. */
struct stacks *stacks_new(const struct text *text, uint32_t bytes);
void stacks_free(struct stacks *s);
/*
 * The number of an access' stack; 0: it is not known, or there are too many.
 *
 * space: -1 where it is not known.
 */
uint32_t stacks_number(struct stacks *s, int space, const struct user_stack *of);
/* Mappings have changed. */
void stacks_changed(struct stacks *s);
/* Write those that were not written yet: before the accesses. 0 or -errno. */
int stacks_write(struct stacks *s, struct moca_writer *w);
void stacks_describe(const struct stacks *s, struct moca_meta *m);

#endif
