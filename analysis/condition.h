/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditions on two runs, as `moca diff --fail-if` takes them:
 *
 *	METRIC[(NAME)] OPERATOR [+|-]NUMBER[%]
 *
 * METRIC is one of diff_metrics; NAME an object, without it the whole run; the
 * operator <, <=, > or >=. With a sign the change from the first run to the
 * second is compared: with % in percent of the first, of shares (remote,
 * shared) in percentage points; without a sign the second run's value. Numbers
 * may end in k, M, G (of 1000).
 */
#ifndef MOCA_ANALYSIS_CONDITION_H
#define MOCA_ANALYSIS_CONDITION_H

#include <stddef.h>

enum condition_metric {
	DIFF_ACCESSES, DIFF_READS, DIFF_WRITES, DIFF_PAGES, DIFF_THREADS,
	DIFF_SHARED,	/* share of the pages that threads use in turn */
	DIFF_REMOTE,	/* share of the accesses */
	DIFF_WSS,	/* most pages in an interval; whole runs only */
	DIFF_FINDINGS,	/* of an object, or all */
	DIFF_METRICS
};

/* A metric's name, and whether it is a share, from 0 to 1. */
const char *condition_metric_name(enum condition_metric m);
int condition_metric_is_share(enum condition_metric m);

struct condition {
	enum condition_metric metric;
	char *name;		/* NULL = the whole run */
	int below;		/* < or <= */
	int or_equal;
	int change;		/* had a sign */
	int percent;
	double number;		/* as written: of 5% it is 5 */
};

/* 0; -EINVAL and *why, a reason in English; -ENOMEM. */
int condition_parse(struct condition *c, const char *text,
			 const char **why);
void condition_free(struct condition *c);
/* Does it hold for these values of its metric? */
int condition_holds(const struct condition *c, double a, double b);

#endif
