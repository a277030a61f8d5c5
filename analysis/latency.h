/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a processor's samples of accesses (moca import, of perf mem) tell of each data
 * structure: how long accesses took, and what answered them.
 */
#ifndef MOCA_ANALYSIS_LATENCY_H
#define MOCA_ANALYSIS_LATENCY_H

#include "analysis/objects/objects.h"

#define MOCA_LATENCY_LEVELS 12

struct moca_latency_row {
	const struct moca_object *object;
	uint64_t samples;
	uint64_t weighed;	/* of these, with a latency above 0: */
	uint64_t sum, most;	/* in what perf's weight is in, mostly cycles */
	uint64_t levels[MOCA_LATENCY_LEVELS];	/* samples by what answered */
	uint64_t remote;	/* answered by another node */
};

struct moca_latency {
	struct moca_objects *objects;
	struct moca_latency_row *rows;	/* the largest sum first */
	size_t count;
	uint64_t left_out;	/* samples beyond what is looked at */
};

/* Has the trace such samples? */
int moca_latency_known(const struct moca_trace *t);
/*
 * narrow: begin_ns, end_ns, task and one_task of it count; may be NULL. 0 or -errno;
 * free it in any case.
 */
int moca_latency_compute(struct moca_latency *l, struct moca_trace *t,
			 const struct moca_objects_options *narrow);
void moca_latency_free(struct moca_latency *l);
/* "L1", "remote cache"; "unknown" of 0 and what is none. */
const char *moca_latency_level(unsigned level);

#endif
