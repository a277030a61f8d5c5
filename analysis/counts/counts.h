/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What exact mode counted, by object, page and thread; by granule; and by time
 * slice. Filled while moca_objects_compute() tells each row, by its option
 * `counted`; sums are exact. doc/design/exact-views.md has the definitions.
 */
#ifndef MOCA_COUNTS_H
#define MOCA_COUNTS_H

#include "analysis/objects/objects.h"

#define MOCA_COUNTS_BINS 512u	/* of slices; more are joined */
#define MOCA_COUNTS_LINE 64u	/* bytes: a granule this small is a cache line */
#define MOCA_COUNTS_MANY (MOCA_NO_TASK - 1)	/* tasks: several */

/* What one task did in one group of pages of one object. */
struct moca_counts_cell {
	uint64_t group;		/* page number >> page_shift */
	uint64_t loads, stores;
	uint64_t first_ns;	/* its first touch; 0 = before or unknown */
	uint32_t object;	/* id; until the end a key */
	uint32_t space;
	uint32_t task;
	uint32_t used;		/* of an entry of the hash */
};

/* What is known of a line in a slice that may still go on. */
struct moca_counts_open {
	uint32_t slice;		/* + 1; 0: none */
	uint32_t task;		/* the last one; and what it did: */
	uint64_t own, own_stores;
	uint64_t top, sum, sum_stores;
};

/* One granule, all tasks and slices together. */
struct moca_counts_line {
	uint64_t granule;	/* number: address / granularity */
	uint64_t loads, stores;
	/*
	 * Accesses that came from another task than the one with most of them
	 * in that slice, as far as there are stores: sum over slices of
	 * min(stores, accesses - the most of one task). Each may have moved the
	 * line from one CPU to another.
	 */
	uint64_t contended;
	uint32_t space;
	uint32_t object;	/* id of one of its objects; likewise */
	uint32_t only;		/* task; MANY */
	uint32_t number;	/* in order of first rows */
	uint32_t slices;	/* that were contended */
	uint8_t several;	/* it has two objects or more */
	uint8_t writers;	/* 1; 2: two tasks or more wrote in one slice */
	/* Two, as threads do not begin a slice at the same moment. */
	struct moca_counts_open open[2];
};

/* What one task did to a line that others used, too. */
struct moca_counts_user {
	uint32_t line;		/* its number + 1; 0: empty */
	uint32_t task;
	uint64_t loads, stores;
};

/* Over time: loads and stores of each bin of slices. */
struct moca_counts_series {
	uint64_t loads[MOCA_COUNTS_BINS], stores[MOCA_COUNTS_BINS];
};

/*
 * Of the lines that had no room, the one with most accesses of those with the same
 * hash (a majority vote): who has 1 % of all is here, with nearly all of them.
 */
#define MOCA_COUNTS_HEAVY 4096u
struct moca_counts_heavy {
	uint64_t granule, accesses;	/* at least so many; 0: none */
	uint32_t space;
};

struct moca_counts_table {
	const struct moca_trace *trace;
	uint64_t granularity;	/* bytes; 0: no row came */
	uint64_t slices;	/* + 1 of the highest */
	uint64_t begin_ns, end_ns;
	uint64_t joined;	/* slices of a bin */
	uint64_t bin_begin[MOCA_COUNTS_BINS], bin_end[MOCA_COUNTS_BINS];
	unsigned page_shift;	/* pages of a group, log2 */
	struct moca_counts_cell *cells;	/* by object, space, group, task */
	size_t cell_count, cell_cap;
	struct moca_counts_line *lines;	/* by space, granule */
	size_t line_count, line_cap;
	uint32_t *line_index;	/* number + 1 and a tag; 0: empty */
	size_t index_cap;
	struct moca_counts_user *users;	/* by line, accesses */
	size_t user_count, user_cap;
	uint64_t users_left_out;	/* rows of users beyond the limit */
	/* Rows that wait: what they need is far apart in memory. */
	struct moca_counted *batch;
	size_t batched;
	uint64_t *contended;		/* of all lines, by object */
	uint64_t lines_left_out;	/* rows of granules beyond the limit */
	struct moca_counts_heavy *heavy;	/* of these; NULL: none */
	struct moca_counts_series **tasks;	/* by id; NULL: none */
	size_t task_cap;
	struct moca_counts_series **objects;	/* by id; NULL: none, or too many */
	size_t object_cap, object_count;
	int err;
	int finished;
};

void moca_counts_init(struct moca_counts_table *t,
		      const struct moca_trace *trace);
void moca_counts_free(struct moca_counts_table *t);
/* For struct moca_objects_options: counted, with the table as its argument. */
void moca_counts_add(void *table, const struct moca_counted *x);
/* When all were told. 0 or -ENOMEM, also of an earlier moment. */
int moca_counts_finish(struct moca_counts_table *t,
		       const struct moca_objects *o);

/* The cells of an object: the first, and how many. */
const struct moca_counts_cell *
moca_counts_of(const struct moca_counts_table *t, uint32_t object,
	       size_t *count);
/* The line with that number; NULL: nothing is known of it. */
const struct moca_counts_line *
moca_counts_line(const struct moca_counts_table *t, uint32_t space,
		 uint64_t granule);
/*
 * Who used a line that several did, with all that they did to it, the most first;
 * none of a line that only one used.
 */
const struct moca_counts_user *
moca_counts_users(const struct moca_counts_table *t,
		  const struct moca_counts_line *l, size_t *count);
/* The task that nearly all accesses to a line are of, or MOCA_COUNTS_MANY. */
uint32_t moca_counts_owner(const struct moca_counts_table *t,
			   const struct moca_counts_line *l);
/* Were there slices, in which two tasks can be said to meet? */
static inline int moca_counts_sliced(const struct moca_counts_table *t)
{
	return t->slices > 1;
}

#endif
