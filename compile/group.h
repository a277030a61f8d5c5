/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accesses of one straight piece of code whose addresses differ by what is known
 * here: counted at once, before the first of them or earlier.
 */
#ifndef MOCA_COMPILE_GROUP_H
#define MOCA_COMPILE_GROUP_H

#include "compile/asm.h"

struct asm_item {
	int64_t delta;		/* from the group's mem */
	uint32_t loads, stores;
};

struct asm_group {
	uint32_t at;		/* the first access's statement */
	uint32_t begin;		/* of the straight piece */
	uint32_t place;		/* before which statement it is counted */
	const struct asm_mem *mem;
	int64_t lo, hi;		/* bytes from mem */
	struct asm_item *items;
	uint32_t nitems, room;
	int8_t scratch;		/* a register; spilled if it is needed */
	bool spill;
	bool flags;		/* they are needed afterwards */
	bool lost;		/* no place was found */
	/* What mem was when the group began. */
	uint32_t base_version, index_version;
	int64_t origin;
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
