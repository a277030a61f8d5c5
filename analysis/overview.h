/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The whole run on one page: all data over all time, divided into areas, each an
 * object or all of them for some time, where what happens differs. What is
 * aggregated is how often each object is read and written in each window,
 * as a share of what is most.
 */
#ifndef MOCA_OVERVIEW_H
#define MOCA_OVERVIEW_H

#include "analysis/aggregate.h"
#include "analysis/profile/profile.h"

#define MOCA_OVERVIEW_OBJECTS 24
#define MOCA_OVERVIEW_LEVELS 60		/* at most */

struct moca_overview_area {
	const struct moca_profile_object *object;	/* NULL = all */
	uint64_t begin_ns, end_ns;
	uint64_t reads, writes;
};

/* The best partition for p, and from its quality's p_begin on. */
struct moca_overview_level {
	double p;
	struct moca_quality quality;
	/* By node and time; a node below `objects` is rows[node], else all. */
	struct moca_area *areas;
	size_t count;
};

struct moca_overview {
	double p;
	size_t objects;		/* that are told apart, most accessed first */
	struct moca_overview_area *areas;	/* by object, then time */
	size_t count;
	struct moca_quality *qualities;		/* see aggregate.h */
	size_t quality_count;
	/* What is aggregated: accesses of each row in each slice of time. */
	const struct moca_profile_object *rows[MOCA_OVERVIEW_OBJECTS];
	uint64_t begin_ns, slice_ns;
	size_t slices;
	uint64_t *reads, *writes;	/* [row][slice] */
	/*
	 * Partitions by p, from the finest: all that are best for some p or, if
	 * there are more than MOCA_OVERVIEW_LEVELS, evenly chosen ones with the
	 * first, the last and the one for p.
	 */
	struct moca_overview_level *levels;
	size_t level_count;
};

/* detail: p of aggregate.h; less than 0 = at the knee. 0 or -ENOMEM. */
int moca_overview_compute(struct moca_overview *out,
			  const struct moca_profile *p, double detail);
void moca_overview_free(struct moca_overview *x);

#endif
