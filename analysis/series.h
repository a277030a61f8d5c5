/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each thread did with each data structure, and what was allocated, as sums of
 * windows of time, in one walk of the trace. Windows are as short as leaves
 * MOCA_SERIES_CELLS sums at most: memory, and what is made of them, is bounded.
 */
#ifndef MOCA_SERIES_H
#define MOCA_SERIES_H

#include "analysis/objects/objects.h"
#include "analysis/profile/profile.h"

#define MOCA_SERIES_CELLS 500000u
#define MOCA_SERIES_WINDOWS 8192u	/* at most */
#define MOCA_SERIES_WINDOW 1000000u	/* ns: none is shorter unasked */

enum moca_series_sum {
	MOCA_SERIES_READS,	/* what accesses weigh; fetches are reads */
	MOCA_SERIES_WRITES,
	MOCA_SERIES_RECORDS,	/* how many there are, of any type */
	MOCA_SERIES_LOADS,	/* of exact mode, by the begin of their slice */
	MOCA_SERIES_STORES,
	MOCA_SERIES_SUMS
};

/* Of one thread and object, or of one process and object, in one window. */
struct moca_series_cell {
	uint32_t who;		/* number of the task; of allocations: pid */
	uint32_t row;		/* id of the object */
	uint64_t window;	/* from 0 */
	/* Of allocations the first alone: by how many bytes more, or less, live. */
	int64_t sums[MOCA_SERIES_SUMS];
};

struct moca_series_table {
	uint64_t window_ns;
	struct moca_series_cell *cells;	/* by who, row, window */
	size_t count;
};

struct moca_series_options {
	struct moca_query range;
	const char *object;	/* a glob of names; NULL: all */
	uint64_t window_ns;	/* 0: as short as may be */
	size_t cells;		/* in place of MOCA_SERIES_CELLS; 0: these */
	int profile;		/* make one; of the whole trace alone */
};

struct moca_series {
	uint64_t origin;	/* the begin of window 0 */
	struct moca_series_table accesses, allocations;
	struct moca_objects *objects;	/* with profile: the profile's */
	struct moca_profile *profile;	/* or NULL */
};

/*
 * 0, -ENOMEM, -E2BIG (with window_ns: four times MOCA_SERIES_CELLS would not do), or -errno
 * of the reader.
 */
int moca_series_compute(struct moca_series **out, struct moca_trace *t,
			const struct moca_series_options *o);
void moca_series_free(struct moca_series *s);

#endif
