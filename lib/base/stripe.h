/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which memory is in the sample of a sweep. Large memory is sampled by stripes of
 * 256 KiB of address space. Of each 2^k stripes that follow each other, aligned, a
 * sample of level k has one by chance; the samples of higher levels are parts of it.
 * Each sweep of an address space draws anew: that is its key. Stripes of a high rank
 * by MOCA_STRIPE_CORE_KEY, the core, are let go by each sweep: their histories have no
 * holes.
 */
#ifndef MOCA_BASE_STRIPE_H
#define MOCA_BASE_STRIPE_H

#include <stdint.h>

#include "lib/base/table.h"

#define MOCA_STRIPE_SHIFT 18
#define MOCA_STRIPE_BYTES (UINT64_C(1) << MOCA_STRIPE_SHIFT)
#define MOCA_STRIPE_RANK_MAX 12

#define MOCA_STRIPE_CORE_KEY UINT64_C(0)

/* The core's least rank beside samples of that level: it is as large as these. */
static inline unsigned moca_stripe_core(unsigned level)
{
	return level;
}

static inline uint64_t moca_stripe_key(uint32_t space, uint32_t sweep)
{
	return moca_mix(((uint64_t)space << 32 | sweep) +
			UINT64_C(0x9e3779b97f4a7c15));
}

/*
 * The highest level that has the stripe of addr: 0 to MOCA_STRIPE_RANK_MAX. At each
 * step one of two neighbours goes on, by a bit that is their own: the place in a
 * group follows no pattern that a program's stride could meet.
 */
static inline unsigned moca_stripe_rank(uint64_t addr, uint64_t key)
{
	uint64_t stripe = addr >> MOCA_STRIPE_SHIFT;
	unsigned rank = 0;

	for (; rank < MOCA_STRIPE_RANK_MAX; rank++, stripe >>= 1) {
		uint64_t pair = stripe >> 1;

		if ((stripe ^ moca_mix(key ^ (pair << 4 | rank))) & 1)
			break;
	}
	return rank;
}

#endif
