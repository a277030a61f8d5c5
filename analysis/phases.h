/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Phases: the time divided where what is accessed changes. The table that is
 * aggregated is, per window, the share of its accesses that went to each of the
 * objects with most accesses, reading or writing.
 */
#ifndef MOCA_PHASES_H
#define MOCA_PHASES_H

#include "analysis/aggregate.h"
#include "analysis/profile/profile.h"

#define MOCA_PHASE_OBJECTS 16	/* those that tell phases apart */
#define MOCA_PHASE_TOP 3
#define MOCA_PHASES_MAX 12

struct moca_phase {
	uint64_t begin_ns, end_ns;
	uint64_t accesses;
	uint64_t pages;			/* most in a window */
	struct {
		const struct moca_profile_object *object;
		uint64_t reads, writes;
	} top[MOCA_PHASE_TOP];		/* most accessed; NULL = no more */
};

struct moca_phases {
	double p;			/* that was used */
	struct moca_phase *phases;
	size_t count;
	struct moca_quality *qualities;	/* see aggregate.h */
	size_t quality_count;
};

/*
 * detail: p of aggregate.h; less than 0 = at the knee, or as far beyond it as
 * MOCA_PHASES_MAX needs. 0 or -ENOMEM.
 */
int moca_phases_compute(struct moca_phases *out, const struct moca_profile *p,
			double detail);
void moca_phases_free(struct moca_phases *x);

#endif
