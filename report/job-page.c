// SPDX-License-Identifier: GPL-2.0-or-later
/* The profile of a job as one HTML page, without a script. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/trace.h"
#include "report/job.h"

#define RANKS_MOST 2000u
#define ROWS_MOST 500u

static const char style[] =
	"body{font:14px/1.45 system-ui,sans-serif;margin:24px auto;max-width:1400px;padding:0 16px;color:#1c1f24;background:#fff}"
	"h1{font-size:22px;margin:0 0 4px}h2{font-size:16px;margin:28px 0 8px}"
	"table{border-collapse:collapse;width:100%}th,td{padding:3px 10px 3px 0;text-align:right;white-space:nowrap}"
	"th{font-weight:600;border-bottom:1px solid #b8bec7}td{border-bottom:1px solid #e8ebef}"
	".l{text-align:left;white-space:normal;overflow-wrap:anywhere}.far{background:#fff1d6}.bad{color:#a3260f;font-weight:600}"
	".bar{display:block;height:4px;background:#3b6ea8;margin-top:2px}.far .bar{background:#c77700}.wide{overflow-x:auto}"
	"@media(prefers-color-scheme:dark){body{color:#e4e7eb;background:#16191d}.far{background:#4a3405}.bad{color:#ff8f7a}"
	"td{border-color:#2b3036}th{border-color:#59616b}}";

/* Whatever a program or a host is called, it is text in the page. */
static void put(FILE *f, const char *s)
{
	for (; *s; s++)
		switch (*s) {
		case '&': fputs("&amp;", f); break;
		case '<': fputs("&lt;", f); break;
		case '>': fputs("&gt;", f); break;
		case '"': fputs("&quot;", f); break;
		default:
			putc((unsigned char)*s < ' ' || *s == 127 ? '?' : *s, f);
		}
}

static void put_ranges(FILE *f, const struct moca_job_range *r, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		fprintf(f, "%s%" PRIu32, i ? ", " : "", r[i].first);
		if (r[i].last != r[i].first)
			fprintf(f, "-%" PRIu32, r[i].last);
	}
}

/* Outliers are few, or a list of their places would be in the view. */
static const struct moca_job_outlier *
outlier(const struct moca_job_view *v, size_t at, int metric)
{
	for (size_t i = 0; i < v->outlier_count; i++)
		if (v->outliers[i].at == at &&
		    (metric < 0 || (int)v->outliers[i].metric == metric))
			return &v->outliers[i];
	return NULL;
}

/* --- ranks side by side ------------------------------------------------- */

static void put_state(FILE *f, const struct moca_job_rank *r)
{
	uint64_t status = r->value[MOCA_JOB_EXIT];
	char how[64];
	int bad = r->state != MOCA_JOB_WHOLE;

	fprintf(f, "<td class=\"l%s\">%s", bad ? " bad" : "",
		moca_job_state_name(r->state));
	if (status && status <= INT32_MAX) {
		trace_status(how, sizeof(how), (int)status);
		fputs(", <span class=\"bad\">", f);
		put(f, how);
		fputs("</span>", f);
	}
	fputs("</td>", f);
}

static void put_rank(FILE *f, const struct moca_job_view *v, size_t at)
{
	const struct moca_job_rank *r = &v->job->ranks[at];
	char a[TEXT_MAX];

	fprintf(f, "<tr><td>%" PRIu32 "</td><td class=\"l\">", r->number);
	put(f, *r->host ? r->host : "-");
	fputs("</td>", f);
	put_state(f, r);
	for (int m = 0; m < MOCA_JOB_METRICS; m++) {
		enum moca_job_metric k = (enum moca_job_metric)m;
		double x = moca_job_metric(r, k), most = v->spread[m].most;

		fprintf(f, "<td%s>%s", outlier(v, at, m) ? " class=\"far\"" : "",
			job_value(a, k, x));
		if (!isnan(x) && most > 0)
			fprintf(f, "<span class=\"bar\" style=\"width:%.1f%%\"></span>",
				100 * fmin(fmax(x / most, 0), 1));
		fputs("</td>", f);
	}
	fputs("</tr>\n", f);
}

static int put_ranks(FILE *f, const struct moca_job_view *v)
{
	const struct moca_job *j = v->job;
	char *done = calloc(j->rank_count + 1, 1);
	size_t i, shown = 0;

	if (!done)
		return -ENOMEM;
	fputs("<h2>Ranks side by side, those that differ most first</h2>\n"
	      "<div class=\"wide\"><table id=\"ranks\"><tr><th>rank</th><th class=\"l\">host</th><th class=\"l\">trace</th>",
	      f);
	for (i = 0; i < MOCA_JOB_METRICS; i++)
		fprintf(f, "<th>%s</th>",
			moca_job_metric_name((enum moca_job_metric)i));
	fputs("</tr>\n", f);
	for (i = 0; i < v->outlier_count && shown < RANKS_MOST; i++) {
		if (done[v->outliers[i].at]++)
			continue;
		put_rank(f, v, v->outliers[i].at);
		shown++;
	}
	for (i = 0; i < j->rank_count && shown < RANKS_MOST; i++) {
		if (done[i])
			continue;
		put_rank(f, v, i);
		shown++;
	}
	fputs("</table></div>\n", f);
	if (shown < j->rank_count)
		fprintf(f, "<p>%zu more ranks are not shown; 'moca info --all' lists them.</p>\n",
			j->rank_count - shown);
	free(done);
	return 0;
}

/* --- the rest ----------------------------------------------------------- */

static void put_head(FILE *f, const struct moca_job_view *v, const char *path)
{
	static const char *const lacks[MOCA_JOB_STATES] = {
		[MOCA_JOB_CUT] = "cut off: the recording goes on, or did not end properly",
		[MOCA_JOB_DAMAGED] = "damaged: parts are missing in what follows",
		[MOCA_JOB_UNREADABLE] = "unreadable: in nothing below",
	};
	const struct moca_job *j = v->job;
	const char *command = "a job";

	for (size_t i = 0; i < j->rank_count; i++)
		if (*j->ranks[i].command) {
			command = j->ranks[i].command;
			break;
		}
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
	      "<meta name=\"viewport\" content=\"width=device-width\"><title>Moca: ",
	      f);
	put(f, command);
	fprintf(f, "</title><style>%s</style></head><body>\n<h1>", style);
	put(f, command);
	fputs("</h1>\n<p>", f);
	put(f, path);
	fprintf(f, ": %zu", j->rank_count);
	if (v->size)
		fprintf(f, " of %" PRIu64, v->size);
	fprintf(f, " rank%s, recorded by moca %s</p>\n", PLURAL(j->rank_count),
		MOCA_VERSION);
	if (v->absent) {
		fprintf(f, "<p class=\"%s\">Without a trace: ",
			v->chosen ? "" : "bad");
		put_ranges(f, v->missing, v->missing_count);
		fprintf(f, "%s</p>\n", v->chosen ?
			" (left out by --ranks or --one-per-node)" : "");
	}
	for (size_t s = 0; s < MOCA_JOB_STATES; s++)
		if (lacks[s] && v->states[s])
			fprintf(f, "<p class=\"bad\">%zu rank%s %s</p>\n",
				v->states[s], PLURAL(v->states[s]), lacks[s]);
}

static void put_outliers(FILE *f, const struct moca_job_view *v)
{
	char a[TEXT_MAX], b[TEXT_MAX];

	fputs("<h2>Ranks that differ most from the rest</h2>\n<ul id=\"outliers\">\n", f);
	for (size_t i = 0; i < v->outlier_count && i < RANKS_MOST; i++) {
		const struct moca_job_outlier *x = &v->outliers[i];
		const struct moca_job_rank *r = &v->job->ranks[x->at];

		fprintf(f, "<li>rank %" PRIu32 "%s", r->number,
			*r->host ? " on " : "");
		put(f, r->host);
		fprintf(f, ": %s %s, median %s</li>\n",
			moca_job_metric_name(x->metric),
			job_value(a, x->metric, x->value),
			job_value(b, x->metric, x->median));
	}
	fputs(v->outlier_count ? "</ul>\n" : "<li>None.</li></ul>\n", f);
}

static void put_spread(FILE *f, const struct moca_job_view *v)
{
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX], d[TEXT_MAX];

	fputs("<h2>By rank</h2>\n<div class=\"wide\"><table id=\"spread\"><tr><th class=\"l\"></th><th>least</th><th>of rank</th><th>mean</th><th>median</th><th>most</th><th>of rank</th></tr>\n",
	      f);
	for (int m = 0; m < MOCA_JOB_METRICS; m++) {
		const struct moca_job_spread *s = &v->spread[m];
		enum moca_job_metric k = (enum moca_job_metric)m;

		fprintf(f, "<tr><td class=\"l\">%s</td>", moca_job_metric_name(k));
		if (!s->known) {
			fputs("<td colspan=\"6\" class=\"l\">not known</td></tr>\n", f);
			continue;
		}
		fprintf(f, "<td>%s</td><td>%" PRIu32 "</td><td>%s</td><td>%s</td><td>%s</td><td>%" PRIu32 "</td></tr>\n",
			job_value(a, k, s->least),
			v->job->ranks[s->least_at].number,
			job_value(b, k, s->mean), job_value(c, k, s->median),
			job_value(d, k, s->most),
			v->job->ranks[s->most_at].number);
	}
	fputs("</table></div>\n", f);
}

static void put_findings(FILE *f, const struct moca_job_view *v)
{
	const struct moca_job *j = v->job;

	fputs("<h2>Findings, those of most ranks first</h2>\n<ol id=\"findings\">\n", f);
	for (size_t i = 0; i < j->finding_count && i < ROWS_MOST; i++) {
		const struct moca_job_finding *x = &j->findings[v->findings[i]];

		fputs("<li>", f);
		put(f, x->title);
		fprintf(f, "<br>%" PRIu64 " of %zu ranks: ",
			moca_job_finding_ranks(x), j->rank_count);
		put_ranges(f, x->ranges, x->range_count);
		fputs("</li>\n", f);
	}
	fputs(j->finding_count ? "</ol>\n" : "</ol>\n<p>None.</p>\n", f);
}

static void put_rows(FILE *f, const struct moca_job_view *v)
{
	const struct moca_job *j = v->job;
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX], d[TEXT_MAX];
	size_t i;

	fputs("<h2>Data structures</h2>\n<div class=\"wide\"><table id=\"objects\"><tr><th class=\"l\">name</th><th>ranks</th><th>accesses, sum</th><th>least of one</th><th>most of one</th><th>pages, sum</th><th>remote</th></tr>\n",
	      f);
	for (i = 0; i < j->row_count && i < ROWS_MOST; i++) {
		const struct moca_job_row *r = &j->rows[v->rows[i]];
		uint64_t n = r->sum[MOCA_JOB_SUM_ACCESSES];
		int known = n && r->sum[MOCA_JOB_SUM_NO_NODE] < n;

		fputs("<tr><td class=\"l\">", f);
		put(f, *r->name ? r->name : "(little used ones)");
		fprintf(f, "</td><td>%" PRIu32 "</td><td>%s</td><td>%s (rank %" PRIu32 ")</td><td>%s (rank %" PRIu32 ")</td><td>%s</td>",
			r->ranks, text_count(a, n),
			text_count(b, r->least.value), r->least.rank,
			text_count(c, r->most.value), r->most.rank,
			text_count(d, r->sum[MOCA_JOB_SUM_PAGES]));
		fprintf(f, "<td>%s</td></tr>\n",
			job_value(a, MOCA_JOB_BY_REMOTE, !known ? NAN :
				  fmin((double)r->sum[MOCA_JOB_SUM_REMOTE] /
				       (double)n, 1)));
	}
	fputs("</table></div>\n", f);
	if (i < j->row_count)
		fprintf(f, "<p>%zu more are not shown; 'moca summary --all' lists them.</p>\n",
			j->row_count - i);
}

int job_page(FILE *f, const struct moca_job_view *v, const char *path)
{
	int err;

	put_head(f, v, path);
	put_outliers(f, v);
	err = put_ranks(f, v);
	if (err)
		return err;
	put_spread(f, v);
	put_findings(f, v);
	put_rows(f, v);
	fputs("</body></html>\n", f);
	return 0;
}
