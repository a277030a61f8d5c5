/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the ranks of a job differ: least, mean and most of what each is told to
 * have, those that are far from the rest, and those that are not there.
 */
#ifndef MOCA_ANALYSIS_JOB_SPREAD_H
#define MOCA_ANALYSIS_JOB_SPREAD_H

#include "analysis/job/job.h"

enum moca_job_metric {
	MOCA_JOB_BY_TIME,	/* s */
	MOCA_JOB_BY_ACCESSES,
	MOCA_JOB_BY_REMOTE,	/* share of the accesses */
	MOCA_JOB_BY_PAGES,
	MOCA_JOB_BY_FAULTS,
	MOCA_JOB_BY_COST,	/* how long it took, by its own time */
	MOCA_JOB_BY_COMPLETE,	/* share of the touched pages */
	MOCA_JOB_METRICS
};

/* "time"; and whether it is a share, from 0 to 1. */
const char *moca_job_metric_name(enum moca_job_metric m);
int moca_job_metric_is_share(enum moca_job_metric m);
/* NAN: not known. */
double moca_job_metric(const struct moca_job_rank *r, enum moca_job_metric m);

struct moca_job_spread {
	size_t known;		/* ranks; 0: the rest is 0 */
	double least, mean, median, most;
	size_t least_at, most_at;	/* of the ranks; the lowest such one */
};

/*
 * A value that is further from the median than five times what the median of
 * these distances is (as a standard deviation), and than a tenth of the median
 * itself, or of shares, 5 points. Four ranks must have a value.
 */
struct moca_job_outlier {
	size_t at;		/* of the ranks */
	enum moca_job_metric metric;
	double value, median;
	double times;		/* its distance, of that which is allowed */
};

struct moca_job_view {
	const struct moca_job *job;
	struct moca_job_spread spread[MOCA_JOB_METRICS];
	struct moca_job_outlier *outliers;	/* furthest first */
	size_t outlier_count;
	/* Ranks that the launcher told of and that are not there. */
	struct moca_job_range *missing;
	size_t missing_count;
	uint64_t size;		/* ranks that it told of; 0: not known */
	uint64_t absent;	/* how many are missing */
	int chosen;		/* some were left out on purpose */
	size_t states[MOCA_JOB_STATES];	/* ranks of each */
	size_t *findings;	/* their order: of most ranks, then gain, first */
	size_t *rows;		/* likewise: of most accesses first */
};

/* job must outlive it. 0 or -ENOMEM; free it also then. */
int moca_job_look(struct moca_job_view *v, const struct moca_job *job);
void moca_job_view_free(struct moca_job_view *v);
/*
 * Are some damaged, unreadable, or, unless it is a part of the job only, missing
 * without a choice?
 */
int moca_job_lacks(const struct moca_job_view *v, int part);

/* How many ranks have the finding. */
uint64_t moca_job_finding_ranks(const struct moca_job_finding *x);

#endif
