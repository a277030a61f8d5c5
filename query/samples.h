/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call stacks as exporters take them: all, or what a filter leaves of their sums. */
#ifndef MOCA_QUERY_SAMPLES_H
#define MOCA_QUERY_SAMPLES_H

#include "lib/text/samples.h"
#include "query/export.h"

/* The order of samples' kinds; their names are those of --value. */
enum query_sample {
	QUERY_SAMPLE_ACCESSES, QUERY_SAMPLE_READS, QUERY_SAMPLE_WRITES,
	QUERY_SAMPLE_TOUCHES, QUERY_SAMPLE_RECORDS,
	/* Of allocations. */
	QUERY_SAMPLE_ALLOCATED, QUERY_SAMPLE_AT_PEAK, QUERY_SAMPLE_AT_END,
	QUERY_SAMPLE_ALLOCATIONS, QUERY_SAMPLES,
};
extern const char *const query_sample_kinds[QUERY_SAMPLES];

/*
 * Stacks of the trace by thread, those alone with accesses that f leaves; with f->heap
 * also those that allocated, of a filter that leaves all but threads. Kinds that the
 * trace has no stacks of are left out: allocations without f->heap, and accesses
 * without stacks of theirs but for by_code. t must outlive them. Memory grows with pages, stacks and places in code, not with accesses,
 * but for f->object: some 2 bytes each. 0 or -errno.
 */
int query_samples_open(struct samples **out, struct moca_trace *t,
		       const struct query_filter *f);
void query_samples_close(struct samples *s);
/* What is to be known of the bytes, where there are any; all zeros. */
void query_samples_heap(const struct samples *s, uint64_t *bytes,
			uint64_t *estimated, uint64_t *without_lives);

#endif
