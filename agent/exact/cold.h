/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ways out of translated code where a counter's subtraction carries: at a
 * granule's first access, and at each 2^32 after. The jcc is written at once, what
 * it leads to later, behind the code proper. Under the lock.
 */
#ifndef MOCA_EXACT_COLD_H
#define MOCA_EXACT_COLD_H

#include "agent/exact/cache.h"

struct cold {
	uint8_t *from, *back;
	int8_t scratch;		/* holds the granule; -1: it is known */
	uint8_t store;
	uint64_t granule;
};

/* Behind a subtraction: the jcc, at *p, which is moved on. */
void moca_exact_cold_begin(struct cold *c, uint8_t **p, int scratch, int store,
			   uint64_t granule);
/* What it leads to, at *p in cache k. */
void moca_exact_cold_write(const struct cold *c, uint8_t **p,
			   const struct cache *k);

#endif
