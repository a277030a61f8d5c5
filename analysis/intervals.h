/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long intervals are, by when those begin that have records. */
#ifndef MOCA_INTERVALS_H
#define MOCA_INTERVALS_H

#include <stddef.h>
#include <stdint.h>

/*
 * ns: of each of `count` intervals, of `all` that there were; begins: when each
 * begins, 0: it has no records. These are taken to be as long as the one with
 * records before them. The recording was from begin_ns to end_ns. No time needs to
 * be behind another: then a length is 0.
 */
void moca_intervals_lengths(double *ns, const uint64_t *begins, size_t count,
			    uint64_t all, uint64_t begin_ns, uint64_t end_ns);

#define MOCA_INTERVALS_COLUMNS 60

/* Working sets: distinct pages that have a record in an interval. */
struct moca_interval_pages {
	uint64_t most;		/* of an interval */
	uint64_t median;	/* half of the time it is no more */
	/* Over time: the most of the intervals that begin in each of these. */
	uint64_t columns[MOCA_INTERVALS_COLUMNS];
	size_t column_count;
};

/*
 * An interval's working set: so many pages have a record, which stand for so many by
 * what the first record of each weighs, of all pages that there are.
 */
static inline uint64_t moca_interval_set(uint64_t pages, uint64_t weight,
					 uint64_t all)
{
	if (weight > all)
		weight = all;
	return pages > weight ? pages : weight;
}

/* Of the working sets of `count` intervals; begins as above. 0 or -ENOMEM. */
int moca_intervals_pages(struct moca_interval_pages *out, const uint64_t *sets,
			 const uint64_t *begins, size_t count,
			 uint64_t begin_ns, uint64_t end_ns);

#endif
