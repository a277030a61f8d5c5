// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/diff-runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "lib/base/err.h"

/* Numbers of a run whose samples were lost differ by what is missing. */
static void warn_lost(const char *command, const char *path,
		      struct moca_trace *t)
{
	struct moca_certificate k;

	moca_trace_certificate(t, &k);
	if (!k.lost)
		return;
	moca_warn("%s: '%s' is incomplete: %lu sample%s were lost, and of %lu touched pages %lu were seen; what differs may be what is missing ('moca info %s')",
		  command, path, (unsigned long)k.lost, PLURAL(k.lost),
		  (unsigned long)k.pages_touched, (unsigned long)k.pages_seen,
		  path);
}

/* Sums of sampled records are estimates: what they differ by may be chance. */
static void warn_sampled(const char *command, const char *path,
			 const struct moca_profile *p)
{
	if (p->sampled)
		moca_warn("%s: '%s' looked again at a share of large memory only (1/%u at the least): its accesses are estimates, with a standard error of up to %.1f points in a structure's share of them; record with --sample 1 where less than that matters",
			  command, path, p->top_weight,
			  100 * moca_profile_most_error(p));
}

int diff_runs(const char *command, struct comparison *c,
	      const char *const path[2], struct moca_trace *const trace[2],
	      struct moca_profile *const profile[2])
{
	const struct moca_profile *const p[] = { profile[0], profile[1] };
	int err = comparison_make(c, trace, p), counts;

	for (int side = 0; side < 2; side++) {
		/* A baseline is of one run. */
		if (side && profile[1] == profile[0])
			break;
		if (trace[side])
			warn_lost(command, path[side], trace[side]);
		warn_sampled(command, path[side], profile[side]);
	}
	if (!err)
		return 0;
	counts = !profile[0]->counts;
	if (err == -EXDEV)
		moca_error("%s: '%s' has counts of exact mode, '%s' has records of pages: one cannot be compared with the other (record both in the same way)",
			   command, path[counts], path[!counts]);
	else
		moca_error("%s: out of memory", command);
	return EXIT_USAGE;
}

const char *diff_value(char buf[TEXT_MAX], enum condition_metric m, double v)
{
	if (condition_metric_is_share(m))
		snprintf(buf, TEXT_MAX, "%.1f %%", 100 * v);
	else
		text_count(buf, (uint64_t)v);
	return buf;
}

int diff_conditions_parse(struct diff_conditions *x, const char *command,
			  const struct string_list *texts)
{
	const char *why;
	int err;

	x->texts = texts->items;
	x->list = calloc(texts->count + 1, sizeof(*x->list));
	x->holds = calloc(texts->count + 1, sizeof(*x->holds));
	if (!x->list || !x->holds) {
		moca_error("%s: out of memory", command);
		return EXIT_USAGE;
	}
	for (; x->count < texts->count; x->count++) {
		err = condition_parse(&x->list[x->count],
				      texts->items[x->count], &why);
		if (!err)
			continue;
		moca_error("%s: '--fail-if %s' is no condition: %s", command,
			   texts->items[x->count],
			   err == -ENOMEM ? "out of memory" : why);
		return EXIT_USAGE;
	}
	return 0;
}

void diff_conditions_free(struct diff_conditions *x)
{
	size_t i;

	for (i = 0; i < x->count; i++)
		condition_free(&x->list[i]);
	free(x->list);
	free(x->holds);
}

/* The run whose value the condition needs and nobody knows: 0, 1, or -1. */
static int unknown_side(const struct comparison_pair *p,
			const struct condition *x)
{
	int side;

	if (x->metric != DIFF_REMOTE)
		return -1;
	for (side = x->change ? 0 : 1; side < 2; side++)
		if (p->node_unknown[side] > 0 &&
		    p->node_unknown[side] >= p->value[side][DIFF_ACCESSES])
			return side;
	return -1;
}

int diff_conditions_judge(struct diff_conditions *x, const char *command,
			  const struct comparison *c, const char *path)
{
	const struct comparison_pair *p;
	enum condition_metric m;
	size_t i;
	int side;

	for (i = 0; i < x->count; i++) {
		p = comparison_of(c, &x->list[i]);
		if (!p) {
			moca_error("%s: '--fail-if %s': nothing in either run is called '%s' ('moca objects --all %s' lists all names)",
				   command, x->texts[i], x->list[i].name, path);
			return EXIT_USAGE;
		}
		m = x->list[i].metric;
		if (!comparison_knows(c, m)) {
			moca_error("%s: '--fail-if %s': exact counts have no time, so that the working set (wss) is not known; compare traces of pages, recorded without --exact",
				   command, x->texts[i]);
			return EXIT_USAGE;
		}
		side = unknown_side(p, &x->list[i]);
		if (side >= 0) {
			moca_error("%s: '--fail-if %s': the remote share of %s is not known, as the trace has no node for its accesses; record it with pages' nodes, or name a machine (--topology 2x1)",
				   command, x->texts[i], side ? "B" : "A");
			return EXIT_USAGE;
		}
		x->holds[i] = condition_holds(&x->list[i], p->value[0][m],
					      p->value[1][m]);
	}
	return 0;
}

int diff_conditions_tell(const struct diff_conditions *x, const char *command,
			 const struct comparison *c)
{
	const struct comparison_pair *p;
	char a[TEXT_MAX], b[TEXT_MAX];
	enum condition_metric m;
	int failed = 0;
	size_t i;

	for (i = 0; i < x->count; i++) {
		if (!x->holds[i])
			continue;
		p = comparison_of(c, &x->list[i]);
		m = x->list[i].metric;
		failed = 1;
		moca_error("%s: FAILED %s: %s -> %s", command, x->texts[i],
			   diff_value(a, m, p->value[0][m]),
			   diff_value(b, m, p->value[1][m]));
	}
	return failed;
}
