// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/diff-jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/compare.h"
#include "cli/commands.h"
#include "cli/reduce-job.h"
#include "lib/base/err.h"
#include "report/job.h"

#define TOP 10
#define TENTH 0.1
#define POINTS 0.05

int diff_job_load(struct diff_job *j, struct moca_baseline *b, const char *path,
		  const char *topology, int *damaged)
{
	const struct reduce_options o = { .command = "diff",
					  .topology = topology };
	char *const paths[] = { (char *)path };
	int ret, err;

	j->is = 1;
	ret = reduce_load(&j->job, &o, paths, 1);
	if (ret)
		return EXIT_USAGE;
	err = moca_job_look(&j->view, &j->job);
	if (!err)
		err = moca_job_compare(b, &j->view, path);
	if (err == -ENODATA)
		moca_error("diff: no rank of '%s' can be read: there is nothing to compare",
			   path);
	else if (err)
		moca_error("diff: out of memory");
	if (err)
		return EXIT_USAGE;
	*damaged |= job_warn("diff", &j->view, 0);
	return 0;
}

void diff_job_free(struct diff_job *j)
{
	if (!j->is)
		return;
	moca_job_view_free(&j->view);
	moca_job_free(&j->job);
}

int diff_jobs_compare(struct comparison *c, const struct moca_baseline b[2],
		      const char *const path[2])
{
	int err = comparison_of_baselines(c, &b[0], &b[1]);

	if (err == -EXDEV)
		moca_error("diff: '%s' has counts of exact mode, '%s' has records of pages: one cannot be compared with the other (record both in the same way)",
			   path[!b[0].counts], path[b[0].counts]);
	else if (err)
		moca_error("diff: out of memory");
	if (err)
		return EXIT_USAGE;
	if (strcmp(b[0].machine, b[1].machine))
		moca_warn("diff: '%s' is of another machine (%s) than '%s' (%s): remote shares cannot be compared; --topology names one for both",
			  path[0], b[0].machine, path[1], b[1].machine);
	return 0;
}

/* --- ranks that changed ------------------------------------------------- */

struct changed {
	uint32_t rank;
	enum moca_job_metric metric;
	double a, b;
	double times;		/* the change, by what is told at least */
};

static int most_first(const void *x, const void *y)
{
	const struct changed *a = x, *b = y;

	if (a->times != b->times)
		return a->times > b->times ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return (int)a->metric - (int)b->metric;
}

/* By a tenth of what it was, or 5 points of a share, at least. */
static void look_at(struct changed *list, size_t *n,
		    const struct moca_job_rank *a, const struct moca_job_rank *b)
{
	double least;
	int k;

	for (k = 0; k < MOCA_JOB_METRICS; k++) {
		enum moca_job_metric m = (enum moca_job_metric)k;
		double x = moca_job_metric(a, m), y = moca_job_metric(b, m);

		if (isnan(x) || isnan(y))
			continue;
		least = moca_job_metric_is_share(m) ? POINTS : TENTH * x;
		if (fabs(y - x) > least)
			list[(*n)++] = (struct changed){
				a->number, m, x, y,
				least > 0 ? fabs(y - x) / least : HUGE_VAL };
	}
}

/* Of ranks that both have; the caller frees it. NULL: no memory. */
static struct changed *find_changed(const struct diff_job j[2], size_t *n,
				    size_t *both)
{
	const struct moca_job *a = &j[0].job, *b = &j[1].job;
	size_t i = 0, k = 0;
	struct changed *list;

	*n = *both = 0;
	list = calloc(a->rank_count * MOCA_JOB_METRICS + 1, sizeof(*list));
	while (list && i < a->rank_count && k < b->rank_count) {
		if (a->ranks[i].number < b->ranks[k].number) {
			i++;
		} else if (a->ranks[i].number > b->ranks[k].number) {
			k++;
		} else {
			look_at(list, n, &a->ranks[i++], &b->ranks[k++]);
			++*both;
		}
	}
	if (list)
		qsort(list, *n, sizeof(*list), most_first);
	return list;
}

void diff_jobs_print(const struct diff_job j[2])
{
	char u[TEXT_MAX], v[TEXT_MAX];
	struct changed *list;
	size_t n, both, i;
	int side;

	for (side = 0; side < 2; side++) {
		if (!j[side].is)
			continue;
		printf("\nRanks of %s: %zu\n", side ? "B" : "A",
		       j[side].job.rank_count);
		job_spread_print(&j[side].view);
	}
	if (!j[0].is || !j[1].is)
		return;
	list = find_changed(j, &n, &both);
	if (!list) {
		moca_warn("diff: out of memory: ranks that changed are not told");
		return;
	}
	printf("\nRanks that changed most, of %zu that both have\n", both);
	for (i = 0; i < n && i < TOP; i++)
		printf("  rank %" PRIu32 ": %s %s -> %s\n", list[i].rank,
		       moca_job_metric_name(list[i].metric),
		       job_value(u, list[i].metric, list[i].a),
		       job_value(v, list[i].metric, list[i].b));
	if (n > TOP)
		printf("  ... and %zu more: --json has all\n", n - TOP);
	if (!n)
		printf("  None.\n");
	free(list);
}

void diff_jobs_json(const struct diff_job j[2], struct json *json)
{
	static const char *const sides[] = { "a", "b" };
	struct changed *list;
	size_t n, both, i;
	int side;

	json_open(json, "by_rank", '{');
	for (side = 0; side < 2; side++) {
		if (j[side].is)
			job_spread_json(json, sides[side], &j[side].view);
		else
			json_null(json, sides[side]);
	}
	json_close(json, '}');
	list = j[0].is && j[1].is ? find_changed(j, &n, &both) : NULL;
	if (!list) {
		json_null(json, "ranks_changed");
		return;
	}
	json_open(json, "ranks_changed", '[');
	for (i = 0; i < n; i++) {
		json_open(json, NULL, '{');
		json_uint(json, "rank", list[i].rank);
		json_string(json, "metric", moca_job_metric_name(list[i].metric));
		json_double(json, "a", list[i].a);
		json_double(json, "b", list[i].b);
		json_close(json, '}');
	}
	json_close(json, ']');
	free(list);
}
