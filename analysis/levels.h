/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Partitions of a table (aggregate.h) from the finest to the simplest: so many
 * that one can go through them step by step, for a reader who does not divide
 * tables itself.
 */
#ifndef MOCA_LEVELS_H
#define MOCA_LEVELS_H

#include "analysis/aggregate.h"

#define MOCA_LEVELS 60		/* at most */

/* The best partition for p, and from its quality's p_begin on. */
struct moca_level {
	double p;
	struct moca_quality quality;
	struct moca_area *areas;	/* as of moca_aggregate_best */
	size_t count;
};

struct moca_levels {
	double p;			/* asked for, or the knee */
	struct moca_quality *qualities;	/* all there are */
	size_t quality_count;
	/*
	 * By p: all qualities or, if there are more than MOCA_LEVELS, the first,
	 * the last, that of p, and ones with fewer and fewer areas, each so much
	 * fewer in proportion.
	 */
	struct moca_level *levels;
	size_t level_count;
};

/*
 * detail: p, less than 0 = at the knee. 0; else as of moca_aggregate_create and
 * moca_aggregate_qualities, with nothing to free.
 */
int moca_levels_compute(struct moca_levels *out,
			const struct moca_aggregate_input *in, double detail);
void moca_levels_free(struct moca_levels *x);

#endif
