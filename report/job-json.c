// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "report/job.h"

static void number(struct json *j, const char *key, uint64_t v)
{
	if (v == MOCA_JOB_NOT_KNOWN)
		json_null(j, key);
	else
		json_uint(j, key, v);
}

static void ranges(struct json *j, const char *key,
		   const struct moca_job_range *r, size_t count)
{
	size_t i;

	json_open(j, key, '[');
	for (i = 0; i < count; i++) {
		json_open(j, NULL, '{');
		json_uint(j, "first", r[i].first);
		json_uint(j, "last", r[i].last);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void job_spread_json(struct json *j, const char *key,
		     const struct moca_job_view *v)
{
	int m;

	json_open(j, key, '{');
	for (m = 0; m < MOCA_JOB_METRICS; m++) {
		const struct moca_job_spread *s = &v->spread[m];

		if (!s->known) {
			json_null(j, moca_job_metric_name((enum moca_job_metric)m));
			continue;
		}
		json_open(j, moca_job_metric_name((enum moca_job_metric)m), '{');
		json_uint(j, "ranks", s->known);
		json_double(j, "least", s->least);
		json_uint(j, "least_rank", v->job->ranks[s->least_at].number);
		json_double(j, "mean", s->mean);
		json_double(j, "median", s->median);
		json_double(j, "most", s->most);
		json_uint(j, "most_rank", v->job->ranks[s->most_at].number);
		json_close(j, '}');
	}
	json_close(j, '}');
}

static void rank(struct json *j, const struct moca_job_rank *r)
{
	static const char *const names[MOCA_JOB_VALUES] = {
		[MOCA_JOB_SIZE] = "of_ranks", [MOCA_JOB_CHOSEN] = "chosen",
		[MOCA_JOB_EXIT] = "exit_status",
		[MOCA_JOB_BEGIN] = "begin_unix_ns",
		[MOCA_JOB_TIME] = "time_ns",
		[MOCA_JOB_ACCESSES] = "accesses", [MOCA_JOB_READS] = "reads",
		[MOCA_JOB_WRITES] = "writes",
		[MOCA_JOB_REMOTE] = "remote_accesses",
		[MOCA_JOB_NO_NODE] = "accesses_without_node",
		[MOCA_JOB_PAGES] = "pages", [MOCA_JOB_SHARED] = "shared_pages",
		[MOCA_JOB_THREADS] = "threads", [MOCA_JOB_WSS] = "wss",
		[MOCA_JOB_FAULTS] = "faults",
		[MOCA_JOB_COST] = "cost_millionths",
		[MOCA_JOB_SEEN] = "pages_seen",
		[MOCA_JOB_TOUCHED] = "pages_touched",
	};
	int v;

	json_open(j, NULL, '{');
	json_uint(j, "rank", r->number);
	json_string(j, "state", moca_job_state_name(r->state));
	json_string(j, "host", r->host);
	json_string(j, "job", r->job);
	json_string(j, "machine", r->machine);
	json_string(j, "command", r->command);
	for (v = 0; v < MOCA_JOB_VALUES; v++)
		number(j, names[v], r->value[v]);
	json_close(j, '}');
}

static void bound(struct json *j, const char *key, const struct moca_job_bound *b)
{
	json_open(j, key, '{');
	json_uint(j, "accesses", b->value);
	json_uint(j, "rank", b->rank);
	json_close(j, '}');
}

static void row(struct json *j, const struct moca_job_row *r)
{
	static const char *const names[MOCA_JOB_SUMS] = {
		[MOCA_JOB_SUM_ACCESSES] = "accesses",
		[MOCA_JOB_SUM_READS] = "reads",
		[MOCA_JOB_SUM_WRITES] = "writes",
		[MOCA_JOB_SUM_PAGES] = "pages",
		[MOCA_JOB_SUM_SHARED] = "shared_pages",
		[MOCA_JOB_SUM_REMOTE] = "remote_accesses",
		[MOCA_JOB_SUM_NO_NODE] = "accesses_without_node",
	};
	int m;

	json_open(j, NULL, '{');
	json_string(j, "name", r->name);
	if (r->function) {
		json_string(j, "function", r->function);
		json_string(j, "file", r->file);
	}
	json_uint(j, "ranks", r->ranks);
	json_uint(j, "threads", r->threads);
	for (m = 0; m < MOCA_JOB_SUMS; m++)
		json_uint(j, names[m], r->sum[m]);
	bound(j, "least", &r->least);
	bound(j, "most", &r->most);
	bound(j, "most_remote", &r->remote);
	json_close(j, '}');
}

static void finding(struct json *j, const struct moca_job_finding *x)
{
	json_open(j, NULL, '{');
	json_string(j, "kind", x->kind);
	json_string(j, "object", x->object);
	json_string(j, "title", x->title);
	json_uint(j, "rank_count", moca_job_finding_ranks(x));
	ranges(j, "ranks", x->ranges, x->range_count);
	json_double(j, "gain_least", x->gain_least / 1e6);
	json_double(j, "gain_most", x->gain_most / 1e6);
	json_close(j, '}');
}

void job_json(FILE *f, const struct moca_job_view *v, const char *path)
{
	const struct moca_job *job = v->job;
	struct json j = { .f = f };
	size_t i;

	json_open(&j, NULL, '{');
	json_uint(&j, "version", 1);
	json_string(&j, "job", path);
	json_string(&j, "way", job->counts < 0 ? "none" :
			       job->counts ? "counts" : "pages");
	json_uint(&j, "rank_count", job->rank_count);
	number(&j, "of_ranks", v->size ? v->size : MOCA_JOB_NOT_KNOWN);
	json_bool(&j, "chosen", v->chosen);
	ranges(&j, "missing", v->missing, v->missing_count);
	job_spread_json(&j, "by_rank", v);
	json_open(&j, "outliers", '[');
	for (i = 0; i < v->outlier_count; i++) {
		const struct moca_job_outlier *x = &v->outliers[i];

		json_open(&j, NULL, '{');
		json_uint(&j, "rank", job->ranks[x->at].number);
		json_string(&j, "host", job->ranks[x->at].host);
		json_string(&j, "metric", moca_job_metric_name(x->metric));
		json_double(&j, "value", x->value);
		json_double(&j, "median", x->median);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_open(&j, "ranks", '[');
	for (i = 0; i < job->rank_count; i++)
		rank(&j, &job->ranks[i]);
	json_close(&j, ']');
	json_open(&j, "findings", '[');
	for (i = 0; i < job->finding_count; i++)
		finding(&j, &job->findings[v->findings[i]]);
	json_close(&j, ']');
	json_open(&j, "objects", '[');
	for (i = 0; i < job->row_count; i++)
		row(&j, &job->rows[v->rows[i]]);
	json_close(&j, ']');
	json_close(&j, '}');
}
