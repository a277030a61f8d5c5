/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which accesses of a straight piece of code are so near each other that they
 * can be counted together. What a register holds is told by a *version*, that
 * an instruction of unknown effect gives it anew, and a number to be added:
 * operands whose registers have the same versions differ by what is known.
 */
#ifndef MOCA_X86_GROUP_H
#define MOCA_X86_GROUP_H

#include <stdbool.h>

#include "lib/x86/insn.h"

struct x86_values {
	uint32_t version[16];
	int64_t plus[16];
};

/* Nothing is known of a set of registers. *last: the last version given. */
void moca_x86_values_new(struct x86_values *v, uint32_t registers,
			 uint32_t *last);
/* From ahead of x to behind it. */
void moca_x86_values_step(struct x86_values *v, const struct x86_insn *x,
			  uint32_t *last);
/* The displacement of m, were nothing to be added to its registers. */
int64_t moca_x86_disp(const struct x86_mem *m, const struct x86_values *v);

struct x86_member {
	int64_t disp;
	uint32_t load, store;
};

struct x86_group {
	struct x86_mem mem;	/* the first one's */
	uint32_t base_version, index_version;
	int64_t low, high;	/* of the displacements */
	struct x86_member *members;	/* the caller's */
	int count, room;
};

/* An empty group for what is like m; members and room are the caller's. */
void moca_x86_group_begin(struct x86_group *g, const struct x86_mem *m,
			  const struct x86_values *v);
/* May m be in g, and g reach over at most span bytes then? */
bool moca_x86_group_takes(const struct x86_group *g, const struct x86_mem *m,
			  const struct x86_values *v, int64_t span);
/* Puts m in; there is room for it. */
void moca_x86_group_put(struct x86_group *g, const struct x86_mem *m,
			const struct x86_values *v);
/* Adds to all displacements, so that they are by registers as they are elsewhere. */
void moca_x86_group_move(struct x86_group *g, int64_t by);

#endif
