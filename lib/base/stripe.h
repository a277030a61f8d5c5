/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which memory is in the sample of a sweep. Large mappings are sampled by stripes
 * of 256 KiB of address space; the hash of a stripe's number is its rank. A sample
 * of level k, which is a share 2^-k of all stripes, has those of rank k and more: the
 * samples of higher levels are parts of it, and a stripe of the highest rank is in all.
 */
#ifndef MOCA_BASE_STRIPE_H
#define MOCA_BASE_STRIPE_H

#include <stdint.h>

#include "lib/base/table.h"

#define MOCA_STRIPE_SHIFT 18
#define MOCA_STRIPE_BYTES (UINT64_C(1) << MOCA_STRIPE_SHIFT)
#define MOCA_STRIPE_RANK_MAX 12
/* Mappings below this are swept whole, and their records weigh 1. */
#define MOCA_STRIPE_MAPPING_MIN (UINT64_C(1) << 20)

/* 0 to MOCA_STRIPE_RANK_MAX; the share 2^-r of all stripes has rank r or more. */
static inline unsigned moca_stripe_rank(uint64_t addr)
{
	uint64_t hash = moca_mix((addr >> MOCA_STRIPE_SHIFT) +
				 UINT64_C(0x9e3779b97f4a7c15));

	return (unsigned)__builtin_ctzll(hash | UINT64_C(1)
					 << MOCA_STRIPE_RANK_MAX);
}

#endif
