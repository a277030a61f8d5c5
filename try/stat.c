// SPDX-License-Identifier: GPL-2.0-or-later
#include "try/stat.h"

#include <math.h>
#include <stdlib.h>

/* A ratio of which nobody would say that there is a difference. */
#define SAME 0.03

/* The quantile 0.995 of Student's t with that many degrees of freedom, > 0. */
static double quantile(size_t freedom)
{
	static const double table[] = {
		63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250,
		3.169, 3.106, 3.055, 3.012, 2.977, 2.947, 2.921, 2.898, 2.878,
		2.861, 2.845, 2.831, 2.819, 2.807, 2.797, 2.787, 2.779, 2.771,
		2.763, 2.756, 2.750,
	};
	const double z = 2.5758;

	if (freedom <= sizeof(table) / sizeof(*table))
		return table[freedom - 1];
	/* Its expansion at the normal distribution's. */
	return z + (z * z * z + z) / (4 * (double)freedom);
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

struct try_ratio try_ratio_of(const double *plain, const double *changed,
			      size_t n)
{
	struct try_ratio r = { 1, 0, HUGE_VAL, TRY_UNDECIDED };
	double sum = 0, squares = 0, d, mean, half;
	size_t i, k = 0;

	for (i = 0; i < n; i++)
		if (plain[i] > 0 && changed[i] > 0) {
			sum += log(changed[i] / plain[i]);
			k++;
		}
	if (!k)
		return r;
	mean = sum / (double)k;
	r.mean = exp(mean);
	if (k < TRY_PAIRS_MIN)
		return r;
	for (i = 0; i < n; i++)
		if (plain[i] > 0 && changed[i] > 0) {
			d = log(changed[i] / plain[i]) - mean;
			squares += d * d;
		}
	half = quantile(k - 1) * sqrt(squares / (double)(k - 1) / (double)k);
	r.low = exp(mean - half);
	r.high = exp(mean + half);
	r.verdict = judge(&r);
	return r;
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
