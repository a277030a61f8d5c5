/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs of many ranks, as moca diff compares them. */
#ifndef MOCA_CLI_DIFF_JOBS_H
#define MOCA_CLI_DIFF_JOBS_H

#include "analysis/baseline.h"
#include "analysis/comparison.h"
#include "analysis/job/spread.h"
#include "lib/text/json.h"

struct diff_job {
	int is;			/* else the rest is not used */
	struct moca_job job;
	struct moca_job_view view;
};

/*
 * Of a folder of ranks or a profile: the job, and what is compared of it. 0, or
 * EXIT_USAGE after a message; *damaged becomes 1, after one, where ranks are
 * missing or damaged. Free both also then.
 */
int diff_job_load(struct diff_job *j, struct moca_baseline *b, const char *path,
		  const char *topology, int *damaged);
void diff_job_free(struct diff_job *j);
/*
 * Of baselines and jobs: 0, or EXIT_USAGE after a message. path: of both.
 */
int diff_jobs_compare(struct comparison *c, const struct moca_baseline b[2],
		      const char *const path[2]);

/* How the ranks of each job differ, and which changed most between both. */
void diff_jobs_print(const struct diff_job j[2]);
/* The same: "by_rank" and "ranks", members of an object. */
void diff_jobs_json(const struct diff_job j[2], struct json *json);

#endif
