/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `moca info` says, computed in walks over a trace. Memory grows with the
 * number of distinct pages, tasks, mappings and kinds, not with the records.
 */
#ifndef MOCA_ANALYSIS_INFO_INFO_H
#define MOCA_ANALYSIS_INFO_INFO_H

#include <stddef.h>
#include <stdint.h>

#include <moca/reader.h>

#include "analysis/info/nodes.h"
#include "analysis/intervals.h"

struct moca_info_counts {
	uint64_t pages;		/* distinct */
	uint64_t accesses;
	uint64_t reads;		/* instruction fetches too */
	uint64_t writes;
	uint64_t unknown;
	uint64_t kernel;	/* of accesses */
};

/*
 * All mappings of one name in one process; or all shared mappings of one memory (a
 * file, a memfd, a segment), in all processes.
 */
struct moca_info_mapping {
	uint32_t pid;		/* of the first process */
	uint32_t of;		/* number of the memory; 0: it is the process's */
	uint32_t memory;	/* enum moca_memory of that */
	uint32_t processes;	/* that touched it; not more than one if !of */
	int own;		/* Moca's, in the program */
	const char *name;
	uint64_t bytes;		/* of the largest mapping of that name */
	struct moca_info_counts n;
};

struct moca_info_gap {
	char *name;
	uint64_t events;
	uint64_t bytes;
	uint64_t ns;		/* how long, of those whose end is told */
};

/* All events of one kind. */
struct moca_info_kind {
	const struct moca_event_type *type;
	int is_allocation;	/* libmoca-alloc told it, no program */
	int is_rate;		/* a sampler did, or perf mem */
	uint64_t count;
	uint64_t first_ns;
	uint64_t last_ns;
};

struct moca_info {
	size_t task_count;
	struct moca_info_counts *tasks;	/* by the trace's task index */
	size_t mapping_count, mapping_room;
	struct moca_info_mapping *mappings;	/* most pages first */
	size_t gap_count, gap_room;
	struct moca_info_gap *gaps;
	/* Without what the next one has. */
	struct moca_info_counts total;
	struct moca_info_counts own;	/* in memory of Moca's in the program */
	uint64_t records;		/* of total: accesses are what they weigh */
	struct nodes_table nodes;	/* where these went */
	uint64_t bytes;			/* of access chunks; or of counts */
	/*
	 * Of a trace without accesses: rows of counts, of so many slices. What is
	 * counted of reads and writes are loads and stores then.
	 */
	uint64_t rows;
	uint64_t slices;
	uint64_t begin_ns;		/* of the first chunk */
	uint64_t end_ns;		/* of the last chunk */
	/* Distinct pages of all processes in each interval; of samples, estimated. */
	size_t interval_count;
	struct moca_info_interval {
		uint64_t begin_ns;
		uint64_t end_ns;
		uint64_t records;
		uint64_t pages;
		uint64_t weight;	/* of the first record of each page */
	} *intervals;
	struct moca_interval_pages used;
	/* Of events, without what libmoca-alloc told: that is allocations. */
	size_t kind_count;
	struct moca_info_kind *kinds;	/* most events first */
	uint64_t events;
	uint64_t events_lost;
	uint64_t events_torn;
	uint64_t events_end_ns;	/* of the last one, or allocation */
	int has_allocations;		/* libmoca-alloc was there */
	uint64_t allocations;		/* events */
	uint64_t allocations_lost;
	uint64_t thin_level, thin_min;	/* libmoca-alloc's `thinned`: the most; */
	uint64_t thin_ns;		/* when first */
	uint64_t samples;		/* of page faults and CPU time: events */
	uint64_t *task_allocations;	/* by the trace's task index; samples too */
};

/* Of a task, by its index: events of the program's own; and those lost. */
uint64_t moca_info_events(const struct moca_info *s, const struct moca_trace *t,
			 size_t task);
uint64_t moca_info_events_lost(const struct moca_info *s,
			      const struct moca_trace *t, size_t task);

/* 0 or -errno. */
int moca_info_compute(struct moca_info *s, struct moca_trace *t);
void moca_info_free(struct moca_info *s);

/* `used` of struct moca_info alone. 0 or -errno. */
int moca_info_working_set(struct moca_interval_pages *out,
			  struct moca_trace *t);
/* Pages of `total` and `own`, of a trace of counts. 0 or -errno. */
int moca_info_counted_pages(uint64_t *out, struct moca_trace *t);

#endif
