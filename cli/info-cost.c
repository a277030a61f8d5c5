// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/info-cost.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collect/run/cost.h"
#include "collect/run/estimate.h"
#include "lib/text/text.h"

struct line {
	enum cost_kind kind;
	uint64_t count, ns;
};

/* All that the trace tells of it; values of a file, so they may be anything. */
struct costs_told {
	struct line lines[COST_KINDS];
	unsigned int count;
	uint64_t total_ns;
};

static double number(const struct moca_trace *t, const char *key)
{
	const char *s = moca_trace_meta(t, key);
	char *end;
	double v;

	if (!s)
		return 0;
	v = strtod(s, &end);
	return end == s || *end || !(v > 0) || v > 1e6 ? 0 : v;
}

static int by_ns(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

static void take(const struct moca_trace *t, struct costs_told *c)
{
	char key[64];

	memset(c, 0, sizeof(*c));
	for (int k = 0; k < COST_KINDS; k++) {
		struct line *l = &c->lines[c->count];

		l->kind = k;
		snprintf(key, sizeof(key), "cost.%s.count", cost_key(k));
		l->count = trace_meta_u64(t, key, 0);
		snprintf(key, sizeof(key), "cost.%s.ns", cost_key(k));
		l->ns = trace_meta_u64(t, key, 0);
		if (!l->count && !l->ns)
			continue;
		/* Not beyond what can be added up. */
		if (l->ns > INT64_MAX / COST_KINDS)
			l->ns = INT64_MAX / COST_KINDS;
		c->total_ns += l->ns;
		c->count++;
	}
	qsort(c->lines, c->count, sizeof(*c->lines), by_ns);
}

static uint64_t part_ns(const struct moca_trace *t, const char *what,
			const char *part)
{
	char key[64];

	snprintf(key, sizeof(key), "cost.%s_%s", what, part);
	return trace_meta_u64(t, key, 0);
}

static double ratio_of(const struct moca_trace *t, const char *what,
		       const char *part)
{
	char key[64];

	snprintf(key, sizeof(key), "cost.%s_%s", what, part);
	return number(t, key);
}

/* Nothing bounds it, and what is sure is little: estimate.h */
static int is_vague(const struct moca_trace *t, const char *what)
{
	return ratio_of(t, what, "high") > ESTIMATE_FAR &&
	       ratio_of(t, what, "low") < ESTIMATE_VAGUE;
}

/* "0.24 s of 2.58 s" */
static void put_vague(const struct moca_trace *t, const char *what)
{
	double all = (double)part_ns(t, what, "ns");
	double low = ratio_of(t, what, "low");

	printf("at least %.2f s of %.2f s",
	       low > 1 ? all * (1 - 1 / low) / 1e9 : 0, all / 1e9);
}

/* "1.12 times", or a range where that says more. */
static void put_times(const struct moca_trace *t, const char *what)
{
	double middle = ratio_of(t, what, "estimate");
	double low = ratio_of(t, what, "low"), high = ratio_of(t, what, "high");

	if (high > ESTIMATE_FAR)
		printf("at least %.1f times",
		       low < ESTIMATE_FAR ? low : ESTIMATE_FAR);
	else if (low > 0 && high - low > 0.2 * middle && high - low > 0.1)
		printf("about %.1f to %.1f times", low, high);
	else
		printf("about %.2f times", middle);
}

/* Whether a run of so many times its time is beyond the budget and the credit. */
static int is_over(const struct moca_trace *t, double ratio, double budget,
		   double credit_ns)
{
	double own = ratio > 0 ? part_ns(t, "wall", "ns") / ratio : 0;

	return own > 0 && ratio > 1 + budget + 0.02 + credit_ns / own;
}

/* Of a program that had nothing to do for most of the time. */
static void print_work(const struct moca_trace *t)
{
	double ratio = number(t, "cost.work_low");
	char a[TEXT_MAX];

	if (ratio > 0)
		printf("  That is of all the time that it was recorded. Its tasks had work in %s of it, all added up: that took at least\n"
		       "  %.*f times as long as without recording.\n",
		       text_duration(a, trace_meta_u64(t, "cost.work_ns", 0)),
		       ratio < 10, ratio);
}

static void print_estimates(const struct moca_trace *t)
{
	double budget = number(t, META_BUDGET), low = ratio_of(t, "wall", "low");
	int wall = ratio_of(t, "wall", "estimate") > 0;
	double credit = (double)trace_meta_u64(t, META_CREDIT, 0);
	char a[TEXT_MAX], b[TEXT_MAX], beyond[32] = "";

	if (credit > 0)
		snprintf(beyond, sizeof(beyond), " and %g s", credit / 1e9);
	if (wall && is_vague(t, "wall")) {
		printf("\nCost of recording: ");
		put_vague(t, "wall");
	} else if (wall) {
		printf("\nCost of recording: the program took ");
		put_times(t, "wall");
		printf(" as long");
	} else {
		printf("\nCost of recording: %s of a run of %s, too short for a ratio",
		       text_duration(a, part_ns(t, "wall", "added_ns")),
		       text_duration(b, part_ns(t, "wall", "ns")));
	}
	if (ratio_of(t, "cpu", "estimate") > 0 && is_vague(t, "cpu")) {
		printf("; with the recorder, ");
		put_vague(t, "cpu");
		printf(" of CPU time");
	} else if (ratio_of(t, "cpu", "estimate") > 0) {
		printf("; with the recorder, ");
		put_times(t, "cpu");
		printf(" the CPU time");
	} else if (part_ns(t, "cpu", "ns")) {
		printf("; %s of CPU time with the recorder, of %s",
		       text_duration(a, part_ns(t, "cpu", "added_ns")),
		       text_duration(b, part_ns(t, "cpu", "ns")));
	}
	puts(".");
	print_work(t);
	if (is_vague(t, "wall") || is_vague(t, "cpu"))
		puts("  No clock tells how much more of the rest was recording's.");
	if (wall && budget > 0 && is_over(t, low, budget, credit))
		printf("  The budget of %g %%%s was not held.\n", budget * 100,
		       beyond);
	else if (wall && budget > 0 &&
		 is_over(t, ratio_of(t, "wall", "estimate"), budget, credit))
		printf("  The budget of %g %%%s was probably not held.\n",
		       budget * 100, beyond);
}

/* Only where it shows in the sum. */
static void print_cold(const struct moca_trace *t, uint64_t total_ns)
{
	uint64_t cold = trace_meta_u64(t, "cost.cold_ns", 0);
	char a[TEXT_MAX], b[TEXT_MAX];

	if (cold <= total_ns / 20)
		return;
	printf("  Besides, caches are cold after %s stops, and by first touches "
	       "and events of allocations, which no clock\n"
	       "  tells: up to %s, and half of the program's time. The ranges "
	       "have all of that, single numbers half of it.\n",
	       text_count(b, trace_meta_u64(t, "cost.stops", 0)),
	       text_duration(a, cold));
}

/* Why the sum is not what the program took longer. */
static void print_sum(const struct moca_trace *t, uint64_t total_ns)
{
	uint64_t added = part_ns(t, "wall", "added_ns");
	uint64_t saved = trace_meta_u64(t, "cost.saved_ns", 0);
	char a[TEXT_MAX], b[TEXT_MAX], d[TEXT_MAX];

	if (part_ns(t, "wall", "ns"))
		printf("  In all %s; the program ran %s, of which recording took "
		       "%s: tasks that run at once share the sum,\n"
		       "  and what runs beside them takes their time only where "
		       "no CPU is idle.\n", text_duration(a, total_ns),
		       text_duration(d, part_ns(t, "wall", "ns")),
		       text_duration(b, added));
	if (saved > total_ns / 20)
		printf("  Taken off: %s, in which the program alone would copy "
		       "pages that it reads before it writes to them.\n",
		       text_duration(a, saved));
}

/* Exact mode: what samples of the CPU clock tell, or no clock does. */
static void print_counting(const struct moca_trace *t)
{
	uint64_t most = trace_meta_u64(t, "cost.count_most_ns", 0);
	uint64_t low = trace_meta_u64(t, "cost.count_low_ns", 0);
	uint64_t high = trace_meta_u64(t, "cost.count_high_ns", 0);
	char a[TEXT_MAX], b[TEXT_MAX], d[TEXT_MAX], e[TEXT_MAX];

	if (high)
		printf("  Counting and translating took %s to %s of %s of the "
		       "program's CPU time, by %s samples of where its tasks\n"
		       "  were: at instructions of the program's, or at what "
		       "Moca puts between them.\n",
		       text_duration(a, low), text_duration(b, high),
		       text_duration(d, trace_meta_u64(t, "cost.program_cpu_ns", 0)),
		       text_count(e, trace_meta_u64(t, "cost.sample.count", 0)));
	else if (most)
		printf("  Counting is in the program's own code: by the least and "
		       "the most that an access took in programs that were\n"
		       "  measured (0.1 and 3 ns; in loops, of strings and by "
		       "calls other prices). It may have taken up to %s,\n"
		       "  and code that is new twice what translating it took. "
		       "Where that is most of the time, the least is told.\n",
		       text_duration(a, most));
}

/* Exact mode: it is in the time of all that counts, by samples. */
static int is_counted_only(const struct line *l)
{
	return !l->ns && l->kind >= COST_COUNT && l->kind <= COST_LOOKUP;
}

/* Without the label's "at least", which is of a price. */
static void print_count(const struct line *l)
{
	const char *label = cost_label(l->kind), *end = strchr(label, ',');
	int len = (int)(end ? (size_t)(end - label) : strlen(label));
	char a[TEXT_MAX];

	printf("  %-36.*s %13s\n", len, label, text_count(a, l->count));
}

void info_cost_print(const struct moca_trace *t)
{
	double old = number(t, META_SLOWDOWN);
	char a[TEXT_MAX], b[TEXT_MAX], d[TEXT_MAX], e[TEXT_MAX];
	struct costs_told c;

	take(t, &c);
	if (ratio_of(t, "wall", "estimate") > 0 || part_ns(t, "wall", "ns"))
		print_estimates(t);
	else if (old > 0)
		printf("\nSlowdown: about %.2f times, of what page faults cost alone; what else recording cost is not recorded.\n",
		       old);
	if (!c.count)
		return;
	printf("  %-36s %13s %10s %10s %8s\n", "kind, added up over all tasks",
	       "count", "each", "sum", "share");
	for (unsigned int i = 0; i < c.count; i++) {
		const struct line *l = &c.lines[i];

		if (is_counted_only(l)) {
			print_count(l);
			continue;
		}
		printf("  %-36s %13s %10s %10s %8s\n", cost_label(l->kind),
		       text_count(a, l->count),
		       l->count > 1 ? text_mean(b, l->ns, l->count) : "",
		       text_duration(d, l->ns),
		       text_percent(e, l->ns, c.total_ns));
	}
	print_sum(t, c.total_ns);
	print_cold(t, c.total_ns);
	print_counting(t);
}

static void json_estimate(struct json *j, const struct moca_trace *t,
			  const char *what)
{
	const char *const ratio[3] = { "estimate", "low", "high" };
	const char *const time[2] = { "ns", "added_ns" };

	json_open(j, what, '{');
	for (int i = 0; i < 3; i++) {
		double v = ratio_of(t, what, ratio[i]);

		if (v > 0)
			json_double(j, ratio[i], v);
		else
			json_null(j, ratio[i]);
	}
	for (int i = 0; i < 2; i++)
		json_uint(j, time[i], part_ns(t, what, time[i]));
	json_close(j, '}');
}

void info_cost_json(struct json *j, const struct moca_trace *t)
{
	double old = number(t, META_SLOWDOWN);
	struct costs_told c;

	if (old > 0)
		json_double(j, "slowdown_estimate", old);
	else
		json_null(j, "slowdown_estimate");
	take(t, &c);
	if (!c.count) {
		json_null(j, "cost");
		return;
	}
	json_open(j, "cost", '{');
	json_estimate(j, t, "wall");
	json_estimate(j, t, "cpu");
	json_uint(j, "program_cpu_ns",
		  trace_meta_u64(t, "cost.program_cpu_ns", 0));
	json_uint(j, "total_ns", c.total_ns);
	json_uint(j, "cold_ns", trace_meta_u64(t, "cost.cold_ns", 0));
	json_uint(j, "saved_ns", trace_meta_u64(t, "cost.saved_ns", 0));
	json_uint(j, "count_most_ns",
		  trace_meta_u64(t, "cost.count_most_ns", 0));
	json_uint(j, "count_low_ns", trace_meta_u64(t, "cost.count_low_ns", 0));
	json_uint(j, "count_high_ns",
		  trace_meta_u64(t, "cost.count_high_ns", 0));
	json_uint(j, "stops", trace_meta_u64(t, "cost.stops", 0));
	json_open(j, "kinds", '[');
	for (unsigned int i = 0; i < c.count; i++) {
		json_open(j, NULL, '{');
		json_string(j, "kind", cost_key(c.lines[i].kind));
		json_string(j, "label", cost_label(c.lines[i].kind));
		json_uint(j, "count", c.lines[i].count);
		json_uint(j, "ns", c.lines[i].ns);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}
