// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"
#include "cli/commands.h"
#include "cli/diff-baseline.h"
#include "cli/diff-ci.h"
#include "cli/diff-flame.h"
#include "cli/diff-jobs.h"
#include "cli/diff-runs.h"
#include "cli/open.h"
#include "cli/reduce-job.h"
#include "lib/base/err.h"
#include "lib/text/json.h"
#include "lib/text/terminal.h"
#include "report/advice.h"
#include "report/comparison.h"

#define TOP 20
#define FEW 1000		/* one of so many accesses: 0.1 % */

struct diff {
	const char *path[2];
	struct moca_trace *trace[2];
	struct moca_profile *profile[2];
	struct moca_baseline baseline[2];
	int has_baseline[2];	/* and no trace */
	struct diff_job job[2];	/* those have baselines */
	struct comparison comparison;
	struct diff_conditions conditions;
	int by_callers;		/* --flame */
	struct diff_flame flame;
	const char *junit;	/* a file, or NULL */
	int json, markdown;
	int damaged;		/* parts of one were left out */
};

/* --- what is printed ---------------------------------------------------- */

static const char *change_text(char buf[TEXT_MAX], enum condition_metric m,
			       double a, double b)
{
	*buf = 0;
	if (condition_metric_is_share(m))
		snprintf(buf, TEXT_MAX, "%+.1f points", 100 * (b - a));
	else if (a > 0)
		snprintf(buf, TEXT_MAX, "%+.1f %%", 100 * (b - a) / a);
	else if (b > 0)
		snprintf(buf, TEXT_MAX, "new");
	return buf;
}

static void print_metric(const struct comparison *c, enum condition_metric m)
{
	double a = c->all.value[0][m], b = c->all.value[1][m];
	char u[TEXT_MAX], v[TEXT_MAX], w[TEXT_MAX];

	if (!comparison_knows(c, m)) {
		printf("  %-12s not known: exact counts have no time\n",
		       condition_metric_name(m));
		return;
	}
	printf("  %-12s %14s -> %14s  ", condition_metric_name(m),
	       diff_value(u, m, a), diff_value(v, m, b));
	if (a != b)
		terminal_style(STYLE_WARN);
	printf("%s\n", a == b ? "=" : change_text(w, m, a, b));
	terminal_style(STYLE_NONE);
}

static void print_pair(const struct comparison_pair *x, int width)
{
	static const enum condition_metric shown[] = { DIFF_ACCESSES, DIFF_PAGES,
						  DIFF_SHARED, DIFF_REMOTE };
	char a[TEXT_MAX], b[TEXT_MAX], cell[2 * TEXT_MAX + 8];
	int name = width >= 130 ? 40 : width >= 110 ? 24 : 14;
	size_t i;

	terminal_name(x->name, name);
	for (i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
		snprintf(cell, sizeof(cell), "%s -> %s",
			 x->in[0] ? diff_value(a, shown[i],
					       x->value[0][shown[i]]) : "-",
			 x->in[1] ? diff_value(b, shown[i],
					       x->value[1][shown[i]]) : "-");
		printf(" %*s", condition_metric_is_share(shown[i]) ? 18 :
			       shown[i] == DIFF_PAGES ? 18 : 22, cell);
	}
	printf("\n");
}

static void print_findings(const struct diff *d)
{
	const struct moca_advice *a;
	const char *title;
	char lead[32];
	size_t i, count;
	int side;

	for (side = 0; side < 2; side++) {
		a = d->comparison.advice[side];
		count = a ? a->count : d->baseline[side].finding_count;
		printf("\nFindings of %s\n", side ? "B" : "A");
		for (i = 0; i < count; i++) {
			title = a ? a->findings[i].title :
				    d->baseline[side].findings[i];
			snprintf(lead, sizeof(lead), "%3zu. ", i + 1);
			terminal_wrap(lead, title, terminal_width(TERMINAL_PIPE));
		}
		if (!count)
			printf("  None.\n");
	}
}

/* Of each run how many records its data have, and which memory is left out. */
static void print_records(const struct diff *d, int width)
{
	const struct moca_profile *const *p =
		(const struct moca_profile *const *)d->profile;
	char side[2][2 * TEXT_MAX + 32], a[TEXT_MAX], b[TEXT_MAX], text[500];

	for (int i = 0; i < 2; i++)
		snprintf(side[i], sizeof(side[i]), "%s in %s interval%s%s",
			 text_count(a, p[i]->records),
			 text_count(b, p[i]->intervals),
			 PLURAL(p[i]->intervals),
			 p[i]->sampled ? " (samples)" : "");
	snprintf(text, sizeof(text), "%s -> %s: of data, as all that follows; code, mapped files, the kernel's and Moca's own are left out%s",
		 side[0], side[1],
		 p[0]->weighed || p[1]->weighed ?
			 "; in the remote shares below an access weighs what its interval is long" :
			 "");
	terminal_wrap("Records       ", text, width);
}

/*
 * The longer mean length of an interval of the two runs, divided by the shorter one: 1
 * or more. The line is printed from 1.1 on.
 */
static double lengths_ratio(const struct moca_profile *a,
			    const struct moca_profile *b)
{
	double x = moca_profile_seconds(a) * (double)b->intervals;
	double y = moca_profile_seconds(b) * (double)a->intervals;

	return x > y ? x / y : y / x;
}

/* Was the trace imported? Other tools' records need not depend on intervals. */
static int is_imported(const struct diff *d, int side)
{
	return d->trace[side] && moca_trace_meta(d->trace[side], META_IMPORT);
}

/*
 * Prints both mean lengths where they differ. A page is recorded once in an interval,
 * so that the number of records depends on how many intervals a recording had.
 */
static void print_lengths(const struct diff *d, int width)
{
	const struct moca_profile *a = d->profile[0], *b = d->profile[1];
	char text[400], n[2][TEXT_MAX];

	if (a->counts || b->counts || is_imported(d, 0) || is_imported(d, 1) ||
	    !a->intervals || !b->intervals ||
	    !(lengths_ratio(a, b) >= 1.1))
		return;
	snprintf(text, sizeof(text), "of %s on average -> %s: accesses, reads, writes and wss depend on that, as a page counts once in an interval. To compare them, record both with --interval 20ms --budget none. Pages, shared and remote hardly depend on it",
		 text_duration(n[0], (uint64_t)(1e9 * moca_profile_seconds(a) /
						(double)a->intervals)),
		 text_duration(n[1], (uint64_t)(1e9 * moca_profile_seconds(b) /
						(double)b->intervals)));
	terminal_wrap("Intervals     ", text, width);
}

static const char *machine_of(const struct diff *d, int side, char *buf,
			      size_t size)
{
	if (d->has_baseline[side])
		snprintf(buf, size, "%s", d->baseline[side].machine);
	else
		advice_topology(d->profile[side], buf, size);
	return buf;
}

static void print_text(const struct diff *d)
{
	int width = terminal_width(TERMINAL_PIPE), name = width >= 130 ? 40 :
					     width >= 110 ? 24 : 14;
	char buf[256], other[256];
	size_t i, left = 0, shown = 0;
	int m;

	terminal_wrap("A             ", d->path[0], width);
	terminal_wrap("B             ", d->path[1], width);
	machine_of(d, 0, other, sizeof(other));
	machine_of(d, 1, buf, sizeof(buf));
	if (strcmp(other, buf))
		terminal_wrap("Machine of A  ", other, width);
	terminal_wrap(strcmp(other, buf) ? "Machine of B  " : "Machine       ",
		      buf, width);
	if (d->profile[0] && d->profile[1] && d->profile[0]->records)
		print_records(d, width);
	if (d->profile[0] && d->profile[1])
		print_lengths(d, width);
	printf("\n");
	for (m = 0; m < DIFF_METRICS; m++)
		print_metric(&d->comparison, (enum condition_metric)m);
	if (d->job[1].is)
		diff_jobs_print(d->job);
	print_findings(d);
	printf("\n%-*s %22s %18s %18s %18s\n", name, "Data structure",
	       "accesses", "pages", "shared pages", "remote");
	for (i = 0; i < d->comparison.count; i++) {
		const struct comparison_pair *x = &d->comparison.pairs[i];

		if (shown == TOP ||
		    (x->value[0][DIFF_ACCESSES] * FEW <
			     d->comparison.all.value[0][DIFF_ACCESSES] &&
		     x->value[1][DIFF_ACCESSES] * FEW <
			     d->comparison.all.value[1][DIFF_ACCESSES])) {
			left++;
			continue;
		}
		print_pair(x, width);
		shown++;
	}
	if (left)
		printf("... and %zu more with few accesses: --json has all\n",
		       left);
	if (d->by_callers)
		diff_flame_print(&d->flame, width);
}

static void json_values(struct json *j, const struct comparison *c,
			const struct comparison_pair *x)
{
	static const char *const sides[] = { "a", "b" };
	int side;

	for (side = 0; side < 2; side++) {
		if (x->name && !x->in[side]) {
			json_null(j, sides[side]);
			continue;
		}
		json_open(j, sides[side], '{');
		comparison_json(j, c, x, side);
		json_close(j, '}');
	}
}

static void print_json(const struct diff *d)
{
	struct json j = { .f = stdout };
	size_t i;

	json_open(&j, NULL, '{');
	json_uint(&j, "version", 1);
	json_string(&j, "a", d->path[0]);
	json_string(&j, "b", d->path[1]);
	json_open(&j, "total", '{');
	json_values(&j, &d->comparison, &d->comparison.all);
	json_close(&j, '}');
	json_open(&j, "objects", '[');
	for (i = 0; i < d->comparison.count; i++) {
		const struct comparison_pair *x = &d->comparison.pairs[i];

		json_open(&j, NULL, '{');
		json_string(&j, "name", x->name);
		if (x->name != x->name_a)
			json_string(&j, "name_a", x->name_a);
		json_values(&j, &d->comparison, x);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_open(&j, "conditions", '[');
	for (i = 0; i < d->conditions.count; i++) {
		json_open(&j, NULL, '{');
		json_string(&j, "condition", d->conditions.texts[i]);
		json_bool(&j, "holds", d->conditions.holds[i]);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	if (d->job[1].is)
		diff_jobs_json(d->job, &j);
	if (d->by_callers)
		diff_flame_json(&d->flame, &j);
	json_close(&j, '}');
}

/* --- the command -------------------------------------------------------- */

static int load(struct diff *d, int side, const char *topology)
{
	int ret;

	d->trace[side] = trace_open("diff", d->path[side]);
	if (!d->trace[side])
		return EXIT_USAGE;
	ret = advice_profile("diff", d->path[side], d->trace[side], topology,
			     &d->profile[side]);
	if (ret)
		return ret == 1 ? EXIT_USAGE : ret;
	d->damaged |= trace_warn_damage("diff", d->trace[side], d->path[side]);
	return 0;
}

/* A trace, a job, or, as A, a baseline. */
static int load_side(struct diff *d, int side, const char *topology)
{
	const char *path = d->path[side];

	if (moca_baseline_is(path)) {
		d->has_baseline[side] = 1;
		if (!side)
			return diff_baseline_read(&d->baseline[0], path);
		d->has_baseline[side] = 0;
		moca_error("diff: '%s' is a baseline: it stands first, and a trace that is compared with it second",
			   path);
		return EXIT_USAGE;
	}
	if (reduce_is_job(path)) {
		d->has_baseline[side] = 1;
		return diff_job_load(&d->job[side], &d->baseline[side], path,
				     topology, &d->damaged);
	}
	return load(d, side, topology);
}

static int compare(struct diff *d)
{
	if (d->has_baseline[1] && d->has_baseline[0])
		return diff_jobs_compare(&d->comparison, d->baseline, d->path);
	if (d->job[0].is || d->job[1].is) {
		moca_error("diff: '%s' is a job of many ranks, '%s' is one trace: compare a job with a job, and a rank, as %s/rank-0, with a rank",
			   d->path[!d->job[0].is], d->path[d->job[0].is],
			   d->path[!d->job[0].is]);
		return EXIT_USAGE;
	}
	if (d->has_baseline[0])
		return diff_baseline_compare(&d->comparison, &d->baseline[0],
					     d->path, d->trace[1], d->profile[1]);
	return diff_runs("diff", &d->comparison, d->path, d->trace, d->profile);
}

static int run(struct diff *d, const char *topology)
{
	int ret = load_side(d, 0, topology);

	if (!ret)
		ret = load_side(d, 1, topology);
	if (!ret)
		ret = compare(d);
	if (!ret)
		ret = diff_conditions_judge(&d->conditions, "diff",
					    &d->comparison, d->path[0]);
	if (!ret && d->by_callers && d->has_baseline[0]) {
		moca_error("diff: '--flame' needs call stacks, which the %s '%s' does not have: give two traces",
			   d->job[0].is ? "job" : "baseline", d->path[0]);
		ret = EXIT_USAGE;
	}
	if (!ret && d->by_callers)
		ret = diff_flame_make(&d->flame, d->path, d->trace);
	if (ret)
		return ret;
	if (d->json)
		print_json(d);
	else if (d->markdown)
		diff_markdown(&d->comparison, &d->conditions, d->path);
	else
		print_text(d);
	if (d->junit && diff_junit(d->junit, &d->comparison, &d->conditions,
				   d->path, d->damaged))
		return EXIT_USAGE;
	ret = diff_conditions_tell(&d->conditions, "diff", &d->comparison);
	return ret ? ret : d->damaged;
}

static void free_diff(struct diff *d)
{
	size_t i;

	diff_flame_free(&d->flame);
	diff_conditions_free(&d->conditions);
	comparison_free(&d->comparison);
	for (i = 0; i < 2; i++) {
		moca_baseline_free(&d->baseline[i]);
		diff_job_free(&d->job[i]);
		moca_profile_free(d->profile[i]);
		moca_trace_close(d->trace[i]);
	}
}

static const char about[] =
	"Compare two runs, data structure by data structure, by name or, without one, by the function that allocates. 'moca report A B' makes a page of the same. A may be a baseline, which 'moca baseline' wrote. Two jobs of many ranks, as folders or as profiles that 'moca reduce' wrote, are compared by the sums of their ranks.\n"
	"The exit code is 1 when a condition of --fail-if holds or parts of a trace are damaged and were left out, 2 when the command line is wrong or the runs cannot be compared. A condition is METRIC[(NAME)] OPERATOR [+|-]NUMBER[%], as 'remote>+5%', 'pages(u)>+10%', 'remote(grid)>20%'; METRIC is accesses, reads, writes, pages, threads, shared, remote, wss or findings.";

int cmd_diff(int argc, char **argv)
{
	struct diff d = { 0 };
	struct string_list conditions = { 0 };
	const char *topology = NULL;
	int first, ret = 0;
	const struct option_spec specs[] = {
		OPT_LIST(0, "fail-if", &conditions, "CONDITION", "exit with code 1 if it holds; may be repeated"),
		OPT_STRING(0, "topology", &topology, "MACHINE", "as if on this machine: NODESxCPUS, as 4x16, or an XML file of hwloc"),
		OPT_FLAG(0, "flame", &d.by_callers, "functions, too: whose share of the accesses, and of the allocated bytes, grew or shrank most (of traces with call stacks)"),
		OPT_STRING(0, "junit", &d.junit, "FILE", "write each condition into it as a test case of JUnit's XML"),
		OPT_FLAG(0, "markdown", &d.markdown, "print Markdown, for a comment on a change"),
		OPT_FLAG(0, "json", &d.json, "print JSON for programs"),
		OPT_END
	};

	first = moca_options_parse_mixed(specs, argc, argv,
					 "moca diff [OPTIONS] A B", about);
	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_USAGE;
	if (d.junit &&
	    diff_junit_remove(d.junit, argv + first, (size_t)(argc - first))) {
		free(conditions.items);
		return EXIT_USAGE;
	}
	if (argc - first != 2) {
		moca_error("diff: two traces are needed: moca diff A B");
		free(conditions.items);
		return EXIT_USAGE;
	}
	if (d.json && d.markdown) {
		moca_error("diff: --json and --markdown both say how to print: give one of them");
		ret = EXIT_USAGE;
	} else if (d.by_callers && d.markdown) {
		moca_error("diff: --markdown has no functions: give --flame with --json, or alone");
		ret = EXIT_USAGE;
	} else if (d.junit && !conditions.count) {
		moca_error("diff: --junit writes conditions: give one by --fail-if");
		ret = EXIT_USAGE;
	}
	d.path[0] = argv[first];
	d.path[1] = argv[first + 1];
	if (!ret)
		ret = diff_conditions_parse(&d.conditions, "diff", &conditions);
	if (!ret)
		ret = run(&d, topology);
	free_diff(&d);
	free(conditions.items);
	return ret;
}
