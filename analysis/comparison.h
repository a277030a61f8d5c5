/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two runs, data structure by data structure. Those of one name are one pair,
 * of whatever sites and programs; what is named by its line of source alone is
 * the same one where only the line's number differs, as edits above it move it.
 */
#ifndef MOCA_ANALYSIS_COMPARISON_H
#define MOCA_ANALYSIS_COMPARISON_H

#include "analysis/advice/advice.h"
#include "analysis/condition.h"

struct moca_baseline;

struct comparison_pair {
	const char *name;	/* NULL = the whole run; else B's, if it is there */
	const char *name_a;	/* A's; the same but for the number of a line */
	const char *function, *file;	/* that allocate it; NULL: it has a name */
	double value[2][DIFF_METRICS];
	double node_unknown[2];	/* accesses; all of them: its remote share is not known */
	double weighed[2];	/* accesses by length of interval; 0 of a baseline */
	int in[2];		/* is there such a structure? */
};

struct comparison {
	const struct moca_profile *profile[2];	/* NULL: it is a baseline */
	struct moca_advice *advice[2];
	const struct moca_baseline *baseline[2];	/* or NULL */
	int counts;		/* of exact mode: no working set is known */
	struct comparison_pair all;
	struct comparison_pair *pairs;	/* by accesses in both, most first */
	size_t count;
	struct comparison_name {
		const char *name;
		size_t pair;
	} *names;		/* sorted */
	size_t name_count;
};

/*
 * Of two traces and their profiles, A's first; these must outlive it. 0;
 * -ENOMEM; -EXDEV: one has counts of exact mode, the other one records of pages.
 * Free it with comparison_free() also then.
 */
int comparison_make(struct comparison *c, struct moca_trace *const trace[2],
		    const struct moca_profile *const profile[2]);
/* The same, of a baseline (analysis/baseline.h), which is A, and a run. */
int comparison_with_baseline(struct comparison *c,
			     const struct moca_baseline *baseline,
			     struct moca_trace *trace,
			     const struct moca_profile *profile);
/* The same, of two of them (a job's ranks are one: analysis/job/compare.h). */
int comparison_of_baselines(struct comparison *c, const struct moca_baseline *a,
			    const struct moca_baseline *b);
/* The pairs alone, of the profiles that c has, without findings. */
int comparison_match(struct comparison *c);
void comparison_free(struct comparison *c);

/* Is the metric known of whole runs? */
static inline int comparison_knows(const struct comparison *c,
				   enum condition_metric m)
{
	return !c->counts || m != DIFF_WSS;
}

/* The structure of that name, in either run; NULL: there is none. */
struct comparison_pair *comparison_find(const struct comparison *c,
					const char *name);
/* What a condition is about: that, or the whole run. */
const struct comparison_pair *
comparison_of(const struct comparison *c, const struct condition *condition);

#endif
