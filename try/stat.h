/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether one of two ways to run a program is quicker, from pairs of runs. */
#ifndef MOCA_TRY_STAT_H
#define MOCA_TRY_STAT_H

#include <stddef.h>

/* Confidence of the intervals. */
#define TRY_CONFIDENCE 0.99
/* A gain below that is none: plain runs differ by as much for no reason. */
#define TRY_GAIN_MIN 0.01
/* Nothing is said of less than that many pairs, nor more of them looked at. */
#define TRY_PAIRS_MIN 3
#define TRY_PAIRS_MAX 1000
/* So many tell by ranks: a few wild ones, on either side, do not matter. */
#define TRY_RANKS_MIN 12

enum try_verdict {
	TRY_UNDECIDED,		/* none of those below */
	TRY_SAME,		/* nothing in the interval is beyond 3 % of 1 */
	TRY_LESS,		/* all of it is below 1 - TRY_GAIN_MIN */
	TRY_MORE,		/* all of it is above 1 + TRY_GAIN_MIN */
};

/* Of the ratio changed / plain. */
struct try_ratio {
	double mean;		/* geometric, by ranks the median; 1: none could
				   be formed */
	double median;
	double low, high;	/* the interval */
	enum try_verdict verdict;
};

/*
 * Of the n pairs plain[i], changed[i]: Student's t of the logarithms of their
 * ratios; of TRY_RANKS_MIN pairs and more, ranks that the median lies between,
 * whatever the distribution. Pairs of which one is not above 0 are left out; with
 * less than TRY_PAIRS_MIN others nothing is decided, and the interval is all there is.
 */
struct try_ratio try_ratio_of(const double *plain, const double *changed,
			      size_t n);

/* More pairs may show a gain: half of these have more than what is no difference. */
int try_ratio_promises(const struct try_ratio *r);

/* The median of n values, which are sorted. n > 0. */
double try_median(double *values, size_t n);

#endif
