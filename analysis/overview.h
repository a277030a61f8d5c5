/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The whole run on one page: all data over all time, divided into areas, each an
 * object or all of them for some time, where what happens differs. What is
 * aggregated is how often each object is read and written in each window,
 * as a share of what is most. space.h has the same down to pages.
 */
#ifndef MOCA_OVERVIEW_H
#define MOCA_OVERVIEW_H

#include "analysis/aggregate.h"
#include "analysis/profile/profile.h"

#define MOCA_OVERVIEW_OBJECTS 24

struct moca_overview_area {
	const struct moca_profile_object *object;	/* NULL = all */
	uint64_t begin_ns, end_ns;
	uint64_t reads, writes;
};

struct moca_overview {
	double p;
	size_t objects;		/* that are told apart, most accessed first */
	struct moca_overview_area *areas;	/* by object, then time */
	size_t count;
	struct moca_quality *qualities;		/* see aggregate.h */
	size_t quality_count;
};

/* detail: p of aggregate.h; less than 0 = at the knee. 0 or -ENOMEM. */
int moca_overview_compute(struct moca_overview *out,
			  const struct moca_profile *p, double detail);
void moca_overview_free(struct moca_overview *x);

#endif
