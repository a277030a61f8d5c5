/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile of what exact mode counted, in place of the walk over records. */
#ifndef MOCA_COUNTS_PROFILE_H
#define MOCA_COUNTS_PROFILE_H

#include "analysis/counts/counts.h"
#include "analysis/profile/profile.h"

/*
 * As moca_profile_compute, of a trace for which moca_objects_exact_only() holds:
 * accesses are loads and stores, intervals are slices. What needs an order of
 * accesses, or times other than first touches and slices, is not filled:
 * steps, migratory_pages, parts, windows of objects, the working set. Shared pages
 * are those of several threads; late writes, stores to them by others
 * than the first toucher.
 */
int moca_counts_profile(struct moca_profile **out, struct moca_trace *t,
			const struct moca_topology *topology);

/*
 * The same, of what such a walk told: o, and the finished table of all that it
 * counted. Both are only read until, with success, they belong to the profile;
 * the table is from malloc.
 */
int moca_counts_profile_of(struct moca_profile **out,
			   struct moca_trace *t,
			   const struct moca_topology *topology,
			   struct moca_objects *o,
			   struct moca_counts_table *counts);

/* The remote accesses that came before nine tenths of the pages were touched. */
uint64_t moca_counts_early_remote(const struct moca_profile *p,
				  const struct moca_profile_object *o);

#endif
