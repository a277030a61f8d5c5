// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Page faults and CPU time over time, as a blob of its own: doc/design/report.md
 * says what is in it. Without samples there is none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rates.h"
#include "lib/format/rate-writer.h"
#include "lib/text/json.h"
#include "report/html/report.h"

#define BINS 512u
#define TASKS 2000u	/* in the table */
#define SERIES 32u	/* of these with numbers over time */

static void put_series(struct json *j, const char *key,
		       const struct moca_rates *r,
		       const struct moca_rate_sums *bins, size_t offset)
{
	size_t i;

	json_open(j, key, '[');
	for (i = 0; i < r->bin_count; i++)
		json_uint(j, NULL, *(const uint64_t *)
					   ((const char *)&bins[i] + offset));
	json_close(j, ']');
}

static void put_all_series(struct json *j, const struct moca_rates *r,
			   const struct moca_rate_sums *bins)
{
	put_series(j, "minor", r, bins, offsetof(struct moca_rate_sums, minor));
	put_series(j, "own", r, bins, offsetof(struct moca_rate_sums, own));
	put_series(j, "major", r, bins, offsetof(struct moca_rate_sums, major));
	put_series(j, "cpu", r, bins, offsetof(struct moca_rate_sums, cpu_ns));
}

static void put_sums(struct json *j, const struct moca_rate_sums *s)
{
	json_open(j, "total", '{');
	json_uint(j, "minor", s->minor);
	json_uint(j, "own", s->own);
	json_uint(j, "major", s->major);
	json_uint(j, "cpu", s->cpu_ns);
	json_close(j, '}');
}

static void put_task(struct json *j, const struct report *rep,
		     const struct moca_rates *r,
		     const struct moca_rates_task *t, int series)
{
	json_open(j, NULL, '{');
	json_uint(j, "pid", t->pid);
	if (t->tid == MOCA_RATE_PROCESS || t->tid == MOCA_RATE_REAPED)
		json_null(j, "tid");
	else
		json_uint(j, "tid", t->tid);
	json_bool(j, "reaped", t->tid == MOCA_RATE_REAPED);
	json_string(j, "name", t->name);
	json_int(j, "begin_ns", (int64_t)(t->begin_ns - rep->origin));
	if (t->end_ns)
		json_int(j, "end_ns", (int64_t)(t->end_ns - rep->origin));
	else
		json_null(j, "end_ns");
	json_bool(j, "seen", t->seen);
	put_sums(j, &t->total);
	if (series && t->bins)
		put_all_series(j, r, t->bins);
	json_close(j, '}');
}

/* By CPU time, then by faults: most first. */
static int compare(const void *a, const void *b)
{
	const struct moca_rates_task *x =
		*(const struct moca_rates_task *const *)a;
	const struct moca_rates_task *y =
		*(const struct moca_rates_task *const *)b;

	if (x->total.cpu_ns != y->total.cpu_ns)
		return x->total.cpu_ns > y->total.cpu_ns ? -1 : 1;
	if (x->total.minor != y->total.minor)
		return x->total.minor > y->total.minor ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int put_tasks(struct json *j, const struct report *rep,
		     const struct moca_rates *r)
{
	const struct moca_rates_task **list =
		calloc(r->task_count + 1, sizeof(*list));
	size_t i;

	if (!list)
		return -ENOMEM;
	for (i = 0; i < r->task_count; i++)
		list[i] = &r->tasks[i];
	qsort(list, r->task_count, sizeof(*list), compare);
	json_uint(j, "task_count", r->task_count);
	json_open(j, "tasks", '[');
	for (i = 0; i < r->task_count && i < TASKS; i++)
		put_task(j, rep, r, list[i], i < SERIES);
	json_close(j, ']');
	free(list);
	return 0;
}

static int put_rates(struct json *j, const struct report *rep,
		     const struct moca_rates *r)
{
	size_t i;
	int err;

	json_open(j, NULL, '{');
	json_string(j, "source", r->source);
	json_uint(j, "period_ns", r->period_ns);
	json_uint(j, "rounds", r->rounds);
	json_uint(j, "longest_ns", r->longest_ns);
	json_int(j, "begin_ns", (int64_t)(r->begin_ns - rep->origin));
	json_int(j, "end_ns", (int64_t)(r->end_ns - rep->origin));
	json_uint(j, "processes", r->processes);
	json_uint(j, "threads", r->threads);
	json_bool(j, "has_own", r->has_own);
	put_sums(j, &r->total);
	json_open(j, "covered", '[');
	for (i = 0; i < r->bin_count; i++)
		json_uint(j, NULL, r->covered_ns[i]);
	json_close(j, ']');
	put_all_series(j, r, r->bins);
	err = put_tasks(j, rep, r);
	json_close(j, '}');
	return err;
}

int report_faults(struct report *rep)
{
	struct report_json x;
	struct moca_rates *r;
	int err = moca_rates_compute(&r, rep->trace, BINS);

	if (err || !r)
		return err;
	err = report_json_begin(&x);
	if (!err)
		err = report_json_end(rep, &x, "faults", put_rates(&x.j, rep, r));
	moca_rates_free(r);
	return err;
}
