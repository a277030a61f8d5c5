// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/job.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/trace.h"
#include "lib/base/err.h"
#include "lib/text/terminal.h"

#define TOP 20
#define LIST_MAX 400

const char *job_value(char buf[TEXT_MAX], enum moca_job_metric m, double v)
{
	if (isnan(v))
		snprintf(buf, TEXT_MAX, "-");
	else if (moca_job_metric_is_share(m))
		snprintf(buf, TEXT_MAX, "%.1f %%", 100 * v);
	else if (m == MOCA_JOB_BY_TIME)
		text_duration(buf, v < 1e9 ? (uint64_t)(v * 1e9) : UINT64_MAX);
	else if (m == MOCA_JOB_BY_COST)
		snprintf(buf, TEXT_MAX, "%.2f times", v);
	else
		text_count(buf, v < 1e19 ? (uint64_t)(v + 0.5) : UINT64_MAX);
	return buf;
}

/* --- lists of ranks ----------------------------------------------------- */

/* "0-3, 7 and more": fills buf of LIST_MAX bytes and returns it. */
static const char *ranges_text(char *buf, const struct moca_job_range *r,
			       size_t count)
{
	size_t at = 0, i;

	*buf = 0;
	for (i = 0; i < count; i++) {
		if (at > LIST_MAX - 60) {
			snprintf(buf + at, LIST_MAX - at, " and more");
			break;
		}
		at += (size_t)snprintf(buf + at, LIST_MAX - at, "%s%" PRIu32,
				       i ? ", " : "", r[i].first);
		if (r[i].last != r[i].first)
			at += (size_t)snprintf(buf + at, LIST_MAX - at,
					       "-%" PRIu32, r[i].last);
	}
	return buf;
}

/* Likewise, of ranks in that state. */
static const char *state_text(char *buf, const struct moca_job *j,
			      enum moca_job_state state)
{
	/* More than fit into buf, of which ranges_text() says so. */
	struct moca_job_range r[LIST_MAX];
	size_t n = 0, i;

	for (i = 0; i < j->rank_count; i++) {
		if (j->ranks[i].state != state)
			continue;
		if (n && r[n - 1].last + 1 == j->ranks[i].number)
			r[n - 1].last++;
		else if (n == LIST_MAX)
			break;
		else
			r[n++] = (struct moca_job_range){ j->ranks[i].number,
							  j->ranks[i].number };
	}
	return ranges_text(buf, r, n);
}

static void text_rank(const struct moca_job_rank *r)
{
	printf("rank %" PRIu32, r->number);
	if (*r->host) {
		printf(" on ");
		text_name(stdout, r->host, 24);
	}
}

int job_warn(const char *command, const struct moca_job_view *v, int part)
{
	char list[LIST_MAX];

	if (v->states[MOCA_JOB_DAMAGED])
		moca_warn("%s: parts of the traces of ranks %s are damaged and were left out: 'moca check' of each says which",
			  command, state_text(list, v->job, MOCA_JOB_DAMAGED));
	if (v->states[MOCA_JOB_UNREADABLE])
		moca_warn("%s: the traces of ranks %s cannot be read and were left out",
			  command,
			  state_text(list, v->job, MOCA_JOB_UNREADABLE));
	if (v->absent && !v->chosen && !part)
		moca_warn("%s: of %" PRIu64 " ranks, %" PRIu64 " have no trace and are missing in all that is told: %s",
			  command, v->size, v->absent,
			  ranges_text(list, v->missing, v->missing_count));
	return moca_job_lacks(v, part);
}

/* --- the head ----------------------------------------------------------- */

static int same(const struct moca_job *j, size_t offset)
{
	const char *first = NULL, *s;
	size_t i;

	for (i = 0; i < j->rank_count; i++) {
		if (j->ranks[i].state == MOCA_JOB_UNREADABLE)
			continue;
		s = *(const char *const *)((const char *)&j->ranks[i] + offset);
		first = first ? first : s;
		if (strcmp(first, s))
			return 0;
	}
	return 1;
}

/* A line of what all ranks have in common, or that they have not. */
static void print_common(const struct moca_job *j, const char *lead,
			 size_t offset, const char *differs, int width)
{
	const char *s = "";
	size_t i;

	for (i = 0; i < j->rank_count && !*s; i++)
		s = *(const char *const *)((const char *)&j->ranks[i] + offset);
	if (!same(j, offset))
		s = differs;
	if (*s)
		terminal_wrap(lead, s, width);
}

static size_t hosts(const struct moca_job *j)
{
	size_t n = 0, i, k;

	/* Equal strings of a profile are one pointer. */
	for (i = 0; i < j->rank_count; i++) {
		for (k = i; k--;)
			if (j->ranks[k].host == j->ranks[i].host)
				break;
		n += k == SIZE_MAX && *j->ranks[i].host;
	}
	return n;
}

static void print_state(const struct moca_job_view *v, enum moca_job_state s,
			const char *lead, const char *what, int width)
{
	char list[LIST_MAX], line[LIST_MAX + 120];

	if (!v->states[s])
		return;
	snprintf(line, sizeof(line), "rank%s %s: %s", PLURAL(v->states[s]),
		 state_text(list, v->job, s), what);
	terminal_wrap(lead, line, width);
}

/* When ranks began: so far apart clocks of hosts, or starts, are. */
static void print_begin(const struct moca_job *j, int width)
{
	const struct moca_job_rank *first = NULL, *last = NULL;
	char line[160], a[TEXT_MAX];
	size_t i;

	for (i = 0; i < j->rank_count; i++) {
		const struct moca_job_rank *r = &j->ranks[i];

		if (r->value[MOCA_JOB_BEGIN] == MOCA_JOB_NOT_KNOWN)
			continue;
		if (!first || r->value[MOCA_JOB_BEGIN] < first->value[MOCA_JOB_BEGIN])
			first = r;
		if (!last || r->value[MOCA_JOB_BEGIN] > last->value[MOCA_JOB_BEGIN])
			last = r;
	}
	if (!first || first == last)
		return;
	snprintf(line, sizeof(line), "all within %s by their hosts' clocks: rank %" PRIu32 " first, rank %" PRIu32 " last",
		 text_duration(a, last->value[MOCA_JOB_BEGIN] -
				  first->value[MOCA_JOB_BEGIN]),
		 first->number, last->number);
	terminal_wrap("Began         ", line, width);
}

static void print_failed(const struct moca_job *j, int width)
{
	char line[160], how[64];
	size_t i, n = 0, more = 0;

	for (i = 0; i < j->rank_count; i++) {
		uint64_t status = j->ranks[i].value[MOCA_JOB_EXIT];

		if (!status || status > INT32_MAX)
			continue;
		if (n == TOP) {
			more++;
			continue;
		}
		trace_status(how, sizeof(how), (int)status);
		snprintf(line, sizeof(line), "rank %" PRIu32 ": %s",
			 j->ranks[i].number, how);
		terminal_wrap(n++ ? "              " : "Failed        ", line,
			      width);
	}
	if (more)
		printf("              and %zu more\n", more);
}

static void print_head(const struct moca_job_view *v, const char *path,
		       int width)
{
	const struct moca_job *j = v->job;
	char list[LIST_MAX], line[LIST_MAX + 120], a[TEXT_MAX], b[TEXT_MAX];
	size_t n = hosts(j);

	terminal_wrap("Job           ", path, width);
	snprintf(line, sizeof(line), "%s%s%s on %s host%s",
		 text_count(a, j->rank_count), v->size ? " of " : "",
		 v->size ? text_count(b, v->size) : "",
		 text_count(list, n), PLURAL(n));
	terminal_wrap("Ranks         ", line, width);
	if (v->absent) {
		snprintf(line, sizeof(line), "rank%s %s: %s",
			 PLURAL(v->absent),
			 ranges_text(list, v->missing, v->missing_count),
			 v->chosen ? "left out by --ranks or --one-per-node" :
				     "no trace of them is there");
		terminal_wrap(v->chosen ? "Left out      " : "Missing       ",
			      line, width);
	}
	print_state(v, MOCA_JOB_UNREADABLE, "Unreadable    ",
		    "they are in nothing below", width);
	print_state(v, MOCA_JOB_DAMAGED, "Damaged       ",
		    "parts are missing in what follows", width);
	print_state(v, MOCA_JOB_CUT, "Cut off       ",
		    "the recording goes on, or did not end properly", width);
	print_begin(j, width);
	print_failed(j, width);
	print_common(j, "Name          ", offsetof(struct moca_job_rank, job),
		     "ranks of several jobs", width);
	print_common(j, "Command       ", offsetof(struct moca_job_rank, command),
		     "ranks differ", width);
	print_common(j, "Machine       ", offsetof(struct moca_job_rank, machine),
		     "hosts differ: remote shares of their ranks cannot be compared (--topology names one machine for all)",
		     width);
}

/* --- how ranks differ --------------------------------------------------- */

void job_spread_print(const struct moca_job_view *v)
{
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX], d[TEXT_MAX];
	int m;

	printf("%-10s %14s %10s %14s %14s %14s %10s\n", "By rank", "least",
	       "of rank", "mean", "median", "most", "of rank");
	for (m = 0; m < MOCA_JOB_METRICS; m++) {
		const struct moca_job_spread *s = &v->spread[m];
		enum moca_job_metric k = (enum moca_job_metric)m;

		if (!s->known)
			printf("%-10s %14s\n", moca_job_metric_name(k),
			       "not known");
		else
			printf("%-10s %14s %10" PRIu32 " %14s %14s %14s %10" PRIu32 "\n",
			       moca_job_metric_name(k), job_value(a, k, s->least),
			       v->job->ranks[s->least_at].number,
			       job_value(b, k, s->mean), job_value(c, k, s->median),
			       job_value(d, k, s->most),
			       v->job->ranks[s->most_at].number);
	}
}

static void print_outliers(const struct moca_job_view *v, int all)
{
	char a[TEXT_MAX], b[TEXT_MAX];
	size_t i;

	printf("\nRanks that differ most from the rest\n");
	for (i = 0; i < v->outlier_count && (all || i < TOP); i++) {
		const struct moca_job_outlier *x = &v->outliers[i];

		printf("  ");
		text_rank(&v->job->ranks[x->at]);
		printf(": %s %s, median %s\n", moca_job_metric_name(x->metric),
		       job_value(a, x->metric, x->value),
		       job_value(b, x->metric, x->median));
	}
	if (i < v->outlier_count)
		printf("  ... and %zu more: --all shows all\n",
		       v->outlier_count - i);
	if (!v->outlier_count)
		printf("  None.\n");
}

/* --- findings and data structures --------------------------------------- */

/* "ranks 0-3 (4 of 8)" */
static void print_ranks_of(const struct moca_job_view *v,
			   const struct moca_job_finding *x, int width)
{
	char list[LIST_MAX], line[LIST_MAX + 80];
	uint64_t n = moca_job_finding_ranks(x);

	snprintf(line, sizeof(line), "%s%s %s (%" PRIu64 " of %zu)",
		 n == v->job->rank_count ? "all ranks: " : "rank",
		 n == v->job->rank_count ? "" : PLURAL(n),
		 ranges_text(list, x->ranges, x->range_count), n,
		 v->job->rank_count);
	terminal_wrap("     ", line, width);
}

static void print_findings(const struct moca_job_view *v, int width, int all)
{
	const struct moca_job *j = v->job;
	char lead[32];
	size_t i;

	printf("\nFindings, those of most ranks first\n");
	for (i = 0; i < j->finding_count && (all || i < TOP); i++) {
		const struct moca_job_finding *x = &j->findings[v->findings[i]];

		snprintf(lead, sizeof(lead), "%3zu. ", i + 1);
		terminal_wrap(lead, x->title, width);
		print_ranks_of(v, x, width);
	}
	if (i < j->finding_count)
		printf("  ... and %zu more: --all shows all\n",
		       j->finding_count - i);
	if (!j->finding_count)
		printf("  None.\n");
}

void job_first_print(const struct moca_job_view *v)
{
	int width = terminal_width(TERMINAL_PIPE);

	if (!v->job->finding_count) {
		printf("No finding in any rank.\n");
		return;
	}
	terminal_wrap("", v->job->findings[*v->findings].title, width);
	print_ranks_of(v, &v->job->findings[*v->findings], width);
}

static double share(uint64_t part, uint64_t of)
{
	return of ? fmin((double)part / (double)of, 1) : NAN;
}

static void print_rows(const struct moca_job_view *v, int width, int all)
{
	const struct moca_job *j = v->job;
	int name = width >= 130 ? 40 : width >= 110 ? 24 : 16;
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX], d[TEXT_MAX];
	size_t i;

	printf("\n%-*s %6s %16s %14s %14s %12s %8s\n", name, "Data structure",
	       "ranks", "accesses, sum", "least of one", "most of one",
	       "pages, sum", "remote");
	for (i = 0; i < j->row_count && (all || i < TOP); i++) {
		const struct moca_job_row *r = &j->rows[v->rows[i]];
		uint64_t accesses = r->sum[MOCA_JOB_SUM_ACCESSES];

		terminal_name(*r->name ? r->name : "(little used ones)", name);
		printf(" %6" PRIu32 " %16s %14s %14s", r->ranks,
		       text_count(a, accesses), text_count(b, r->least.value),
		       text_count(c, r->most.value));
		printf(" %12s %8s\n",
		       text_count(a, r->sum[MOCA_JOB_SUM_PAGES]),
		       job_value(d, MOCA_JOB_BY_REMOTE,
				 r->sum[MOCA_JOB_SUM_NO_NODE] >= accesses ? NAN :
				 share(r->sum[MOCA_JOB_SUM_REMOTE], accesses)));
	}
	if (i < j->row_count)
		printf("  ... and %zu more: --all shows all\n", j->row_count - i);
}

void job_summary_print(const struct moca_job_view *v, const char *path, int all)
{
	int width = terminal_width(TERMINAL_PIPE);

	print_head(v, path, width);
	print_outliers(v, all);
	printf("\n");
	job_spread_print(v);
	print_findings(v, width, all);
	print_rows(v, width, all);
}

/* --- rank by rank ------------------------------------------------------- */

static void print_rank(const struct moca_job_rank *r)
{
	char a[TEXT_MAX];
	int m;

	printf("%6" PRIu32 " %-10s ", r->number, moca_job_state_name(r->state));
	terminal_name(*r->host ? r->host : "-", 16);
	for (m = 0; m < MOCA_JOB_METRICS; m++)
		printf(" %*s", m == MOCA_JOB_BY_ACCESSES ? 14 : 11,
		       job_value(a, (enum moca_job_metric)m,
				 moca_job_metric(r, (enum moca_job_metric)m)));
	printf("\n");
}

void job_info_print(const struct moca_job_view *v, const char *path, int all)
{
	int width = terminal_width(TERMINAL_PIPE), m;
	const struct moca_job *j = v->job;
	size_t i, k, shown = 0;

	print_head(v, path, width);
	print_outliers(v, all);
	printf("\n%6s %-10s %-16s", "rank", "trace", "host");
	for (m = 0; m < MOCA_JOB_METRICS; m++)
		printf(" %*s", m == MOCA_JOB_BY_ACCESSES ? 14 : 11,
		       moca_job_metric_name((enum moca_job_metric)m));
	printf("\n");
	/* Each rank once, at the first thing that it differs in. */
	for (i = 0; i < v->outlier_count && (all || shown < TOP); i++) {
		for (k = 0; k < i && v->outliers[k].at != v->outliers[i].at; k++)
			;
		if (k < i)
			continue;
		print_rank(&j->ranks[v->outliers[i].at]);
		shown++;
	}
	for (i = 0; i < j->rank_count && (all || shown < TOP); i++) {
		for (k = 0; k < v->outlier_count && v->outliers[k].at != i; k++)
			;
		if (k < v->outlier_count)
			continue;
		print_rank(&j->ranks[i]);
		shown++;
	}
	if (shown < j->rank_count)
		printf("   ... and %zu more: --all shows all\n",
		       j->rank_count - shown);
}
