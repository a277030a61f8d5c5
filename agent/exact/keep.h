/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Registers to count with. Counting takes one for itself once its value is in
 * c->kept: it is *away*. It is given back before the program's next instruction
 * that needs it, and at the end of the block at the latest; not at all if the
 * program overwrites it. Marks tell which ones are away where, and what has been
 * counted ahead, so that the state at any instruction that faults or is
 * interrupted can be made up. Flags that no instruction needs any more are not kept;
 * dead registers are in programs that handle faults, and serve at no cost in others.
 *
 * Code whose instructions fault again and again is made *precise*: each access is
 * counted by itself, just ahead of it, and no register is away.
 */
#ifndef MOCA_EXACT_KEEP_H
#define MOCA_EXACT_KEEP_H

#include "agent/exact/translate.h"

/* Of an instruction; beside its struct mark. */
struct kept_mark {
	uint16_t start, own;	/* registers that are away at those */
	/* Each access: so many instructions ahead it is counted. */
	uint8_t ahead[X86_ACCESSES];
	uint8_t deferred : X86_ACCESSES; /* where its loop counts when left */
	uint8_t last : 1;	/* of its block */
	uint8_t leaves : 1;	/* of a loop: the last of its second translation */
};

/* r's value is kept. *away is a set of registers. */
void moca_exact_keep_take(uint8_t **p, uint32_t *away, int r);
/* These have their own values again. Flags stay. */
void moca_exact_keep_back(uint8_t **p, uint32_t *away, uint32_t regs);
/*
 * The register that is to be had at least cost at instruction i, and for those behind
 * it; none of `used`. -1: there is none.
 */
int moca_exact_keep_choose(const struct work *w, int i, uint32_t used,
			   uint32_t away);
/* Those that x must find with their own values. */
uint32_t moca_exact_keep_needed(const struct insn *x);
/* What is counted for instruction i: all of *m but for start and own. */
void moca_exact_keep_mark(struct kept_mark *m, const struct work *w, int i);

/* Is there an instruction that has faulted so often that w is to be precise? */
int moca_exact_keep_faulty(const struct work *w);

#endif
