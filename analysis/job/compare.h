/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job as a side of a comparison: as a run of one program that all ranks are. */
#ifndef MOCA_ANALYSIS_JOB_COMPARE_H
#define MOCA_ANALYSIS_JOB_COMPARE_H

#include "analysis/baseline.h"
#include "analysis/job/spread.h"

/*
 * Sums of all ranks, and shares of these; threads and the working set are the most
 * of a rank, a finding that several ranks have counts once. b's strings are the
 * job's and of's. 0; -ENODATA: no rank can be read; -ENOMEM. Free it with
 * moca_baseline_free() also then.
 */
int moca_job_compare(struct moca_baseline *b, const struct moca_job_view *v,
		     const char *of);
/* What ranks have in common as their machine; else that they differ. */
const char *moca_job_machine(const struct moca_job *j);

#endif
