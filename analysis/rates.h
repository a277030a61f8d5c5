/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Page faults and CPU time of tasks over time, as samplers told them (facility
 * moca_rate). Memory: bins for each of MOCA_RATES_SERIES tasks.
 */
#ifndef MOCA_RATES_H
#define MOCA_RATES_H

#include <stddef.h>
#include <stdint.h>

#include <moca/reader.h>

#define MOCA_RATES_SERIES 2048u	/* tasks that have bins of their own */

struct moca_rate_sums {
	uint64_t minor;		/* all */
	uint64_t own;		/* of these: caused by page tracing; <= minor */
	uint64_t major;
	uint64_t cpu_ns;
};

struct moca_rates_task {
	uint32_t pid;
	uint32_t tid;		/* or MOCA_RATE_PROCESS, MOCA_RATE_REAPED */
	char name[64];		/* the last one told */
	uint64_t begin_ns;
	uint64_t end_ns;	/* 0: it did not end while it was sampled */
	int seen;		/* its last counts were */
	struct moca_rate_sums total;
	struct moca_rate_sums *bins;	/* bin_count, or NULL */
};

struct moca_rates {
	char source[16];
	uint64_t period_ns;	/* wanted between two samples */
	uint64_t begin_ns, end_ns;	/* of what was sampled */
	uint64_t rounds;
	uint64_t longest_ns;	/* between two rounds */
	uint32_t processes, threads;	/* most at a time */
	size_t bin_count;	/* of equal width, begin_ns to end_ns */
	uint64_t *covered_ns;	/* of each: time of the samples in it */
	/* All processes together; cpu_ns: at most all CPUs, if they are told. */
	struct moca_rate_sums *bins;
	struct moca_rate_sums total;
	int has_own;		/* page tracing told its faults */
	struct moca_rates_task *tasks;	/* in the order they were seen */
	size_t task_count;
};

/*
 * max_bins: 1 at least; there are no more than half as many as rounds. *out is
 * NULL when the trace has no samples. 0 or -errno.
 */
int moca_rates_compute(struct moca_rates **out, struct moca_trace *t,
		       size_t max_bins);
void moca_rates_free(struct moca_rates *r);

#endif
