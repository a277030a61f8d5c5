/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accesses of one straight piece of code whose addresses differ by what is known
 * here: counted at once, before the first of them or earlier.
 */
#ifndef MOCA_COMPILE_GROUP_H
#define MOCA_COMPILE_GROUP_H

#include "compile/asm.h"
#include "lib/x86/group.h"

struct asm_group {
	struct x86_group what;	/* displacements: bytes from mem */
	const struct asm_mem *mem;	/* the first one's */
	uint32_t at;		/* its statement */
	uint32_t begin;		/* of the straight piece */
	uint32_t place;		/* before which statement it is counted */
	int64_t origin;		/* what mem's displacement was taken for */
	int8_t scratch;		/* a register; spilled if it is needed */
	bool spill;
	bool flags;		/* they are needed afterwards */
	bool lost;		/* no place was found */
};

struct asm_groups {
	struct asm_group *all;
	uint32_t count, room;
};

/* All groups of f, in order of place. span: bytes at most. 0 or -ENOMEM. */
int moca_asm_group(const struct asm_file *f, int64_t span,
		   struct asm_groups *g);
void moca_asm_groups_free(struct asm_groups *g);

#endif
