/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which instructions access which data structure, and how often: in a table of
 * bounded size. When the table is full, the rarer half is forgotten, once each time
 * that the number of accesses has doubled; in between, instructions that are new are
 * not counted. From then on counts are lower bounds. Those of frequent instructions
 * are close to the true ones.
 */
#ifndef MOCA_USES_H
#define MOCA_USES_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/objects/objects.h"

#define MOCA_USES_MAX (1u << 14)	/* 2 MB, with gaps: in a cache */

/* What one instruction does with one structure. */
struct moca_use {
	_Alignas(64) uint64_t ip;
	uint64_t time_ns;	/* a moment at which it was executed, */
	uint32_t task;		/* and by whom */
	uint32_t space;		/* as these of struct moca_observed */
	uint32_t key;
	int used;
	uint64_t reads, writes, other;
};

/* All zeros: empty. */
struct moca_uses {
	struct moca_use *items;	/* those with .used; cap of them */
	uint16_t *tags;		/* of each a part of its hash; 0: it is empty */
	size_t cap, count;
	uint64_t seen;		/* accesses, */
	uint64_t forget_at;	/* and from how many on some are forgotten */
	int forgot;		/* counts are lower bounds */
};

static inline uint64_t moca_use_total(const struct moca_use *u)
{
	return u->reads + u->writes + u->other;
}

/* Count accesses; fetches of instructions are none. 0 or -ENOMEM. */
int moca_uses_add(struct moca_uses *u, const struct moca_observed *x,
		  size_t count);
void moca_uses_free(struct moca_uses *u);

#endif
