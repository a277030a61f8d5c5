/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The mappings of all processes over time, and an index to find one. */
#ifndef MOCA_FORMAT_MAPPING_H
#define MOCA_FORMAT_MAPPING_H

#include <moca/reader.h>

#include "lib/base/strings.h"

/*
 * A segment tree over all addresses at which some mapping begins or ends: a
 * mapping is listed at the O(log n) nodes that it covers. What a node lists
 * covers the same addresses and so is disjoint in time: to look up is a
 * binary search in each node from a leaf to the root.
 */
struct moca_map_index {
	struct moca_map_point {
		uint64_t addr;
		uint32_t pid;
	} *points;			/* sorted, distinct */
	size_t point_count;
	size_t *first;			/* of each node, in members */
	uint32_t *members;		/* of maps, by begin_ns */
};

struct moca_mappings {
	struct moca_mapping *maps;
	size_t count;
	size_t cap;
	struct moca_strings strings;
	struct moca_map_index index;
};

/*
 * Builds the mappings of all tasks from the changes that t holds. 0 or -errno.
 * After either, moca_mappings_free() may be called.
 */
int moca_mappings_build(struct moca_mappings *m, struct moca_trace *t);
void moca_mappings_free(struct moca_mappings *m);

/* maps must be sorted by pid and begin_ns. 0 or -ENOMEM. */
int moca_map_index_build(struct moca_map_index *x,
			 const struct moca_mapping *maps, size_t count);
void moca_map_index_free(struct moca_map_index *x);
/* The number of the mapping in maps, or SIZE_MAX. */
size_t moca_map_index_find(const struct moca_map_index *x,
			   const struct moca_mapping *maps, uint32_t pid,
			   uint64_t addr, uint64_t time_ns);

#endif
