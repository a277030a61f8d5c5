// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/job/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *moca_job_machine(const struct moca_job *j)
{
	const char *machine = NULL;
	size_t i;

	for (i = 0; i < j->rank_count; i++) {
		if (j->ranks[i].state == MOCA_JOB_UNREADABLE)
			continue;
		if (machine && strcmp(machine, j->ranks[i].machine))
			return "hosts of several kinds";
		machine = j->ranks[i].machine;
	}
	return machine ? machine : "";
}

static double share(uint64_t part, uint64_t of)
{
	return !of ? 0 : part < of ? (double)part / (double)of : 1;
}

static void sum_up(struct moca_baseline_row *to, const uint64_t *sum)
{
	to->value[DIFF_ACCESSES] = (double)sum[MOCA_JOB_SUM_ACCESSES];
	to->value[DIFF_READS] = (double)sum[MOCA_JOB_SUM_READS];
	to->value[DIFF_WRITES] = (double)sum[MOCA_JOB_SUM_WRITES];
	to->value[DIFF_PAGES] = (double)sum[MOCA_JOB_SUM_PAGES];
	to->value[DIFF_SHARED] = share(sum[MOCA_JOB_SUM_SHARED],
				       sum[MOCA_JOB_SUM_PAGES]);
	to->value[DIFF_REMOTE] = share(sum[MOCA_JOB_SUM_REMOTE],
				       sum[MOCA_JOB_SUM_ACCESSES]);
	to->unknown = (double)sum[MOCA_JOB_SUM_NO_NODE];
}

static void fill_row(struct moca_baseline_row *to, const struct moca_job *j,
		     const struct moca_job_row *r)
{
	size_t i;

	to->name = *r->name ? r->name : "(little used ones)";
	to->function = r->function;
	to->file = r->file;
	sum_up(to, r->sum);
	to->value[DIFF_THREADS] = (double)r->threads;
	for (i = 0; i < j->finding_count; i++)
		if (!strcmp(j->findings[i].object, r->name))
			to->value[DIFF_FINDINGS]++;
}

static void fill_all(struct moca_baseline_row *to, const struct moca_job *j)
{
	static const enum moca_job_value of[MOCA_JOB_SUMS] = {
		[MOCA_JOB_SUM_ACCESSES] = MOCA_JOB_ACCESSES,
		[MOCA_JOB_SUM_READS] = MOCA_JOB_READS,
		[MOCA_JOB_SUM_WRITES] = MOCA_JOB_WRITES,
		[MOCA_JOB_SUM_PAGES] = MOCA_JOB_PAGES,
		[MOCA_JOB_SUM_SHARED] = MOCA_JOB_SHARED,
		[MOCA_JOB_SUM_REMOTE] = MOCA_JOB_REMOTE,
		[MOCA_JOB_SUM_NO_NODE] = MOCA_JOB_NO_NODE,
	};
	static const enum moca_job_value most[2] = { MOCA_JOB_THREADS,
						     MOCA_JOB_WSS };
	static const enum condition_metric most_of[2] = { DIFF_THREADS,
							  DIFF_WSS };
	uint64_t sum[MOCA_JOB_SUMS] = { 0 };
	size_t i;
	int m;

	for (i = 0; i < j->rank_count; i++) {
		const uint64_t *value = j->ranks[i].value;

		for (m = 0; m < MOCA_JOB_SUMS; m++)
			if (value[of[m]] != MOCA_JOB_NOT_KNOWN)
				sum[m] = moca_job_add(sum[m], value[of[m]]);
		for (m = 0; m < 2; m++)
			if (value[most[m]] != MOCA_JOB_NOT_KNOWN &&
			    to->value[most_of[m]] < (double)value[most[m]])
				to->value[most_of[m]] = (double)value[most[m]];
	}
	sum_up(to, sum);
	to->value[DIFF_FINDINGS] = (double)j->finding_count;
}

int moca_job_compare(struct moca_baseline *b, const struct moca_job_view *v,
		     const char *of)
{
	const struct moca_job *j = v->job;
	size_t i;

	memset(b, 0, sizeof(*b));
	if (j->counts < 0)
		return -ENODATA;
	b->of = of;
	b->machine = moca_job_machine(j);
	b->counts = j->counts;
	b->rows = calloc(j->row_count + 1, sizeof(*b->rows));
	b->findings = calloc(j->finding_count + 1, sizeof(*b->findings));
	if (!b->rows || !b->findings)
		return -ENOMEM;
	for (i = 0; i < j->finding_count; i++)
		b->findings[i] = j->findings[v->findings[i]].title;
	b->finding_count = j->finding_count;
	for (i = 0; i < j->row_count; i++)
		fill_row(&b->rows[i], j, &j->rows[i]);
	b->count = j->row_count;
	fill_all(&b->all, j);
	b->whole = 1;
	return 0;
}
