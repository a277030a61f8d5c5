// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/estimate.h"

#include <math.h>
#include <stdio.h>

#include "lib/format/meta.h"

/* What is known of our own share: prices are averages. */
#define ERROR 0.10
/* Ratios above this are told without decimals. */
#define COARSE 10.0
/* Errors below this are not told. */
#define CLOSE 0.05

/* 0 to most; what is no number is 0. */
static double within(double x, double most)
{
	if (!(x > 0))
		return 0;
	return x < most ? x : most;
}

/* No more than is told. */
static double ratio(double all, double own)
{
	return own > all / ESTIMATE_UNKNOWN ? all / own : ESTIMATE_UNKNOWN;
}

struct estimate estimate_of(double all_ns, double measured_ns,
			    double priced_ns, double unsure_ns)
{
	struct estimate e = { .middle = 1, .low = 1, .high = 1 };
	double own, least, error_ns;

	e.all_ns = within(all_ns, 1e18);
	measured_ns = within(measured_ns, e.all_ns);
	/* Below 0: the program alone would take longer, but not for ever. */
	priced_ns = priced_ns < 0 ? -within(-priced_ns, e.all_ns) :
				    within(priced_ns, e.all_ns - measured_ns);
	error_ns = ERROR * fabs(priced_ns);
	e.added_ns = measured_ns + priced_ns;
	e.sure_ns = e.added_ns - error_ns;
	e.own_ns = e.all_ns - e.sure_ns;
	e.told = e.own_ns >= ESTIMATE_SHORT_NS;
	if (e.own_ns > 0)
		e.low = fmin(e.all_ns / e.own_ns, ESTIMATE_UNKNOWN);
	own = e.all_ns - e.added_ns;
	unsure_ns = within(unsure_ns, own);
	least = own - error_ns - unsure_ns;
	own -= unsure_ns / 2;
	e.high = least > e.all_ns / ESTIMATE_UNKNOWN ? e.all_ns / least :
							ESTIMATE_UNKNOWN;
	if (!e.all_ns)
		e.high = 1;
	e.middle = e.high > ESTIMATE_FAR ? e.low : e.all_ns / own;
	if (!e.all_ns)
		e.middle = 1;
	return e;
}

struct estimate estimate_between(double all_ns, double least_ns,
				 double likely_ns, double most_ns)
{
	struct estimate e = { .middle = 1, .low = 1, .high = 1 };
	double own;

	e.all_ns = within(all_ns, 1e18);
	e.sure_ns = within(least_ns, e.all_ns);
	e.added_ns = fmax(within(likely_ns, e.all_ns), e.sure_ns);
	own = e.all_ns - fmax(within(most_ns, e.all_ns), e.added_ns);
	e.own_ns = e.all_ns - e.sure_ns;
	e.told = e.own_ns >= ESTIMATE_SHORT_NS;
	if (!e.all_ns)
		return e;
	e.low = ratio(e.all_ns, e.own_ns);
	e.high = ratio(e.all_ns, own);
	e.middle = e.high > ESTIMATE_FAR ?
			   e.low : ratio(e.all_ns, e.all_ns - e.added_ns);
	return e;
}

int estimate_exceeds(const struct estimate *e, double share, double credit_ns)
{
	return e->sure_ns > share * e->own_ns + credit_ns;
}

int estimate_likely_exceeds(const struct estimate *e, double share,
			    double credit_ns)
{
	double own = e->middle > 0 ? e->all_ns / e->middle : e->all_ns;

	return e->all_ns - own > share * own + credit_ns;
}

/* Known well enough to be told as one number. */
static int is_close(const struct estimate *e)
{
	return e->high <= ESTIMATE_FAR &&
	       e->high - e->low <= fmax(2 * CLOSE, 0.2 * e->middle);
}

int estimate_vague(const struct estimate *e)
{
	return e->high > ESTIMATE_FAR && e->low < ESTIMATE_VAGUE;
}

void estimate_ratio(const struct estimate *e, char *buf, size_t size)
{
	if (e->high > ESTIMATE_FAR)
		snprintf(buf, size, e->low < COARSE ? "at least %.1fx" :
						      "at least %.0fx", e->low);
	else if (is_close(e))
		snprintf(buf, size, e->middle < COARSE ? "%.2fx" : "%.0fx",
			 e->middle);
	else
		snprintf(buf, size, "%.1fx to %.1fx", e->low, e->high);
}

void estimate_percent(const struct estimate *e, char *buf, size_t size)
{
	if (is_close(e))
		snprintf(buf, size, "about %.0f %%", (e->middle - 1) * 100);
	else
		snprintf(buf, size, "at least %.0f %%", (e->low - 1) * 100);
}

void estimate_wall(const struct estimate *e, char *buf, size_t size)
{
	char ratio[48];

	estimate_ratio(e, ratio, sizeof(ratio));
	if (e->told && estimate_vague(e))
		snprintf(buf, size, "recording took at least %.2f s of %.2f s",
			 fmax(e->sure_ns, 0) / 1e9, e->all_ns / 1e9);
	else if (e->told)
		snprintf(buf, size, "estimated slowdown %s", ratio);
	else
		snprintf(buf, size, "recording took %.1f ms of a run of %.1f ms "
			 "(too short for a ratio)", e->added_ns / 1e6,
			 e->all_ns / 1e6);
}

void estimate_cpu(const struct estimate *e, char *buf, size_t size)
{
	char ratio[48];

	estimate_ratio(e, ratio, sizeof(ratio));
	if (e->told && estimate_vague(e))
		snprintf(buf, size, "CPU time: at least %.2f s of %.2f s for "
			 "recording", fmax(e->sure_ns, 0) / 1e9,
			 e->all_ns / 1e9);
	else if (e->told)
		snprintf(buf, size, "CPU time %s", ratio);
	else
		snprintf(buf, size, "%.1f ms of CPU time for recording",
			 e->added_ns / 1e6);
}

void estimate_describe(const struct estimate *e, const char *what,
		       struct moca_meta *m)
{
	const char *const part[] = { "estimate", "low", "high" };
	const double value[] = { e->middle, e->low, e->high };
	char key[64];

	for (int i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), "cost.%s_%s", what, part[i]);
		if (e->told)
			moca_meta_set(m, key, "%.4f", value[i]);
		else
			moca_meta_unset(m, key);
	}
	snprintf(key, sizeof(key), "cost.%s_ns", what);
	moca_meta_set(m, key, "%.0f", e->all_ns);
	snprintf(key, sizeof(key), "cost.%s_added_ns", what);
	moca_meta_set(m, key, "%.0f", fmax(e->added_ns, 0));
}
