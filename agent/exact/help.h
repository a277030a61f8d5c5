/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What translated code calls a helper for. Numbers are for C_HELPER. */
#ifndef MOCA_EXACT_HELP_H
#define MOCA_EXACT_HELP_H

#include "agent/exact/translate.h"

struct straddle;

uint32_t moca_exact_help_add(struct helped *h);
/* Behind a cmps or scas, whose length is known then. */
uint32_t moca_exact_help_after(struct helped *h);
/* A group that lies in two granules, one look at which took scratch. */
uint32_t moca_exact_help_group(const struct group *g, int scratch,
			       struct straddle **out);
/* m's address by these registers, in the order of struct context. */
uint64_t moca_exact_help_address(const struct context *c, const uint64_t *regs,
				 const struct x86_mem *m);
/* x, which is helped, did not happen, or not to its end. */
void moca_exact_uncount_helped(struct context *c, const struct insn *x,
			       const uint64_t *regs, uint64_t flags);

#endif
