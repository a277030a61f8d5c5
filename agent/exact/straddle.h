/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A group that lies in two granules. C counts it, member by member, the first
 * times. Where that happens often, code is written for it that finds the boundary
 * among the members by comparisons, and counts both sides at once. All under the
 * lock, but for moca_exact_straddled.
 */
#ifndef MOCA_EXACT_STRADDLE_H
#define MOCA_EXACT_STRADDLE_H

#include "agent/exact/translate.h"

struct straddle {
	struct x86_mem mem;
	int64_t low;
	int8_t scratch;		/* holds the offset of low in its granule */
	uint64_t *slot;		/* what the translation jumps through */
	const uint8_t *back;	/* where it goes on */
	uint32_t times;		/* counted by C; threads may miss some */
	int count;
	struct x86_member members[];	/* by address */
};

struct straddle *moca_exact_straddle(const struct group *g, int scratch);
/* Write the code that counts it in place of C. Nothing else is being written. */
void moca_exact_straddle_write(struct straddle *s);
/* C has counted it once more: the lock is free. */
void moca_exact_straddled(struct straddle *s);

#endif
