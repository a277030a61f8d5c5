/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the aggregation share; aggregate.h has its definitions. */
#ifndef MOCA_ANALYSIS_AGGREGATE_MEASURE_H
#define MOCA_ANALYSIS_AGGREGATE_MEASURE_H

#include "analysis/aggregate.h"

/* Sums of logarithms differ by so much when they are the same. */
#define AGGREGATE_EPSILON 1e-9

struct measure {
	double gain, loss;
};

struct moca_aggregate {
	size_t slices, leaves, states, nodes;
	int flat;		/* no hierarchy */
	int is_twin;		/* all but best is of another */
	uint32_t *parent;
	uint32_t *size;		/* leaves below each node */
	struct measure *measures;	/* [node][begin][last], a triangle */
	struct best *best;		/* the same */
	struct measure most;		/* of the best partition for p = 1 */
};

/* Index of [i, j] among all intervals of T slices. */
static inline size_t aggregate_at(const struct moca_aggregate *a, size_t node,
				  size_t i, size_t j)
{
	size_t t = a->slices;

	return node * (t * (t + 1) / 2) + i * t - i * (i - 1) / 2 + (j - i);
}

#endif
