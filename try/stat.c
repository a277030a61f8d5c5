// SPDX-License-Identifier: GPL-2.0-or-later
#include "try/stat.h"

#include <math.h>
#include <stdlib.h>

/* A ratio of which nobody would say that there is a difference. */
#define SAME 0.03

/* The quantile 0.995 of Student's t with that many degrees of freedom, > 0. */
static double quantile(size_t freedom)
{
	static const double table[TRY_RANKS_MIN - 2] = {
		63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250,
		3.169,
	};

	return table[freedom - 1];
}

static enum try_verdict judge(const struct try_ratio *r)
{
	if (r->high < 1 - TRY_GAIN_MIN)
		return TRY_LESS;
	if (r->low > 1 + TRY_GAIN_MIN)
		return TRY_MORE;
	if (r->low >= 1 - SAME && r->high <= 1 + SAME)
		return TRY_SAME;
	return TRY_UNDECIDED;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double try_median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), by_value);
	return n % 2 ? values[n / 2] :
		       (values[n / 2 - 1] + values[n / 2]) / 2;
}

/*
 * The k of which the k-th least and the k-th greatest of n values have the median
 * of where these come from between them, with TRY_CONFIDENCE: below that median
 * lies each with 1/2. 0: n is too small.
 */
static size_t rank_of(size_t n)
{
	double p = ldexp(1, -(int)n), sum = p;
	size_t k = 0;

	/* p: that k values lie below it; sum: that k or less do. */
	while (k < n && sum <= (1 - TRY_CONFIDENCE) / 2) {
		k++;
		p *= (double)(n - k + 1) / (double)k;
		sum += p;
	}
	return k;
}

/* t of the n logarithms. */
static void by_mean(struct try_ratio *r, const double *logs, size_t n)
{
	double sum = 0, squares = 0, mean, half;
	size_t i;

	for (i = 0; i < n; i++)
		sum += logs[i];
	mean = sum / (double)n;
	r->mean = exp(mean);
	if (n < TRY_PAIRS_MIN)
		return;
	for (i = 0; i < n; i++)
		squares += (logs[i] - mean) * (logs[i] - mean);
	half = quantile(n - 1) * sqrt(squares / (double)(n - 1) / (double)n);
	r->low = exp(mean - half);
	r->high = exp(mean + half);
}

struct try_ratio try_ratio_of(const double *plain, const double *changed,
			      size_t n)
{
	struct try_ratio r = { 1, 1, 0, HUGE_VAL, TRY_UNDECIDED };
	double logs[TRY_PAIRS_MAX];
	size_t i, k = 0;

	for (i = 0; i < n && k < TRY_PAIRS_MAX; i++)
		if (plain[i] > 0 && changed[i] > 0)
			logs[k++] = log(changed[i] / plain[i]);
	if (!k)
		return r;
	r.median = exp(try_median(logs, k));
	if (k < TRY_RANKS_MIN) {
		by_mean(&r, logs, k);
	} else {
		r.mean = r.median;
		r.low = exp(logs[rank_of(k) - 1]);
		r.high = exp(logs[k - rank_of(k)]);
	}
	r.verdict = judge(&r);
	return r;
}

int try_ratio_promises(const struct try_ratio *r)
{
	return (r->verdict == TRY_UNDECIDED || r->verdict == TRY_LESS) &&
	       r->median < 1 - SAME;
}
