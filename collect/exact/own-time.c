// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/exact/own-time.h"

#include <math.h>
#include <string.h>

/*
 * Constants of 16 programs (test-own-time.c), each run plainly and recorded in turns:
 * tests/bench/exact/told, and the kernels of tests/bench/exact/run.
 */

/* An access takes no less where it is counted; less was seen: it hid behind the
 * program's own waits, which samples show longer than they are without it. */
#define COUNTED_NS 0.35
/*
 * Where so much of the time is at the program's instructions, most of it waits for
 * memory. The CPU looks less far ahead where instructions that count stand between
 * two accesses, so that fewer waits overlap: each access may take so much longer,
 * and all of them so much of that time.
 */
#define WAITING 0.7
#define LONGER_NS 0.6
#define LONGER_MOST (1.0 / 3)
/*
 * The rest of counting, of an access. Where it takes more than FAST it runs from no
 * cache or behind jumps that were not foreseen, and so does what is the program's
 * among it: half as long again from SLOW on.
 */
#define FAST_NS 0.2
#define SLOW_NS 0.6
#define SLOWER 0.5
/* The same where much is translated: of its share of the time. */
#define SLOWER_NEW 0.4
/* Of what is likely: all of those programs lie between, but for a tenth. */
#define LEAST 0.65
#define MOST 1.125
/* Standard deviations of the samples' own chance. */
#define DEVIATIONS 2

uint64_t shares_sum(const struct shares *s)
{
	uint64_t sum = 0;

	for (int i = 0; i < SHARE_KINDS; i++)
		if (__builtin_add_overflow(sum, s->count[i], &sum))
			return UINT64_MAX;
	return sum;
}

/* Enough, and known. */
static int tells(const struct shares *s)
{
	uint64_t sum = shares_sum(s);

	return sum >= SHARE_ENOUGH && sum < UINT64_MAX / 2 &&
	       s->count[SHARE_UNKNOWN] <= sum / 10 && s->lost <= sum;
}

/* 0 up to FAST, SLOWER from SLOW on. */
static double slower(double ns)
{
	double x = (ns - FAST_NS) / (SLOW_NS - FAST_NS);

	return SLOWER * (x > 1 ? 1 : x > 0 ? x : 0);
}

static double fresh_of(const struct work_done *w, double all)
{
	double x = w->translating_ns / all;

	return SLOWER_NEW * (x > 1 ? 1 : x > 0 ? x : 0);
}

/* User time, ns of CPU time. */
static double likely_user(const double *ns, double accesses, double fresh)
{
	double own = ns[SHARE_OWN] + ns[SHARE_ENTERED] / 2;
	double ours = ns[SHARE_COUNTING] + ns[SHARE_ENTERED] / 2;
	double hidden = COUNTED_NS * accesses - ours - ns[SHARE_UPDATED];
	double shadow = ns[SHARE_UPDATED];

	/* What is done while a counter is updated is anybody's: as elsewhere. */
	if (own + ours > 0)
		shadow *= own / (own + ours);
	if (hidden > 0)
		own -= fmin(hidden, own / 2);
	own += shadow;
	if (accesses > 0 && own > 0)
		fresh += slower(ns[SHARE_COUNTING] / accesses) *
			 fmin(ns[SHARE_COUNTING] / own, 1);
	return own / (1 + fresh);
}

/* The program's own waits, by counting. */
static double longer(const double *ns, double accesses, double all)
{
	double own = ns[SHARE_OWN];

	return own < WAITING * all ? 0 :
	       fmin(LONGER_NS * accesses, LONGER_MOST * own);
}

int own_time_of(const struct shares *s, const struct work_done *w,
		struct own_time *out)
{
	double ns[SHARE_KINDS], all = w->user_ns + w->system_ns;
	double known = 0, own, error;
	double half = 0;	/* of what may be either's */

	memset(out, 0, sizeof(*out));
	if (!tells(s) || !(w->user_ns >= 0) || !(w->system_ns >= 0) ||
	    !(all > 0))
		return 0;
	for (int i = 0; i < SHARE_UNKNOWN; i++)
		known += (double)s->count[i];
	if (!(known > 0))
		return 0;
	for (int i = 0; i < SHARE_UNKNOWN; i++)
		ns[i] = (double)s->count[i] / known *
			(s->kernel ? all : w->user_ns);
	if (!s->kernel)
		half = ns[SHARE_KERNEL] = w->system_ns / 2;
	own = likely_user(ns, (double)w->accesses, fresh_of(w, all)) +
	      ns[SHARE_KERNEL];
	own = fmin(own, all);
	/* Of a share p of n samples it is sqrt((1 - p) / (p n)) of p. */
	error = DEVIATIONS * sqrt((1 - own / all + 1 / known) /
				  ((own / all + 1 / known) * known));
	out->likely = own;
	out->least = fmax(own * (1 - hypot(1 - LEAST, error)) - half -
			  longer(ns, (double)w->accesses, all), 0);
	out->most = fmin(own * (1 + hypot(MOST - 1, error)) + half, all);
	return 1;
}
