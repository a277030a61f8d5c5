// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose CPU time it is, by made samples. No clock. */
#include "collect/exact/own-time.h"

#include <math.h>

#include "tests/unit/trace-util.h"

#define SECOND 1e9
#define SAMPLE 4e6		/* ns */

/*
 * Programs that were run plainly and recorded in turns (a busy VM, 28 November
 * 2026): seconds by kind of sample, accesses counted where they are made, seconds of
 * translating, and the CPU time of the plain one.
 */
static const struct {
	const char *name;
	double seconds[SHARE_UNKNOWN];
	double accesses, translating, plain;
} measured[] = {
	{ "load", { 0.16, 0.02, 0.58, 0.09, 0.02, 0, 0.02 }, 1.00e9, 0.03, 0.61 },
	{ "bash", { 0.59, 0.32, 0.52, 4.86, 0.06, 0.09, 0.08 }, 2.95e9, 0.06, 0.59 },
	{ "stencil", { 0.29, 0.16, 0.85, 0.31, 0.11, 0.02, 0.03 }, 3.02e9, 0.11,
	  0.70 },
	{ "csr", { 0.92, 0.04, 0.04, 0.06, 0.06, 0.05, 0.02 }, 0.54e9, 0.07, 0.67 },
	{ "gcc", { 0.50, 0.12, 0.18, 1.16, 1.65, 0.06, 0.32 }, 0.58e9, 1.80, 0.34 },
	{ "ft", { 0.81, 0.10, 0.07, 0.12, 0.08, 0.04, 0.02 }, 1.21e9, 0.07, 0.61 },
	{ "is", { 0.39, 0.10, 0.15, 0.16, 0.07, 0.04, 0.02 }, 0.38e9, 0.07, 0.60 },
	{ "lu", { 0.50, 0.03, 0.12, 0.09, 0.06, 0.03, 0.02 }, 1.20e9, 0.07, 0.40 },
	{ "chase", { 1.15, 0, 0.19, 0, 0.08, 0.11, 0.02 }, 0.02e9, 0.09, 1.44 },
	{ "python", { 0.16, 0.16, 0.26, 0.55, 0.16, 0.00, 0.05 }, 1.74e9, 0.20, 0.27 },
	{ "perl", { 0.42, 0.13, 0.21, 0.45, 0.12, 0.09, 0.04 }, 0.98e9, 0.10, 0.38 },
	{ "luajit", { 2.11, 0.28, 0.36, 0.57, 0.04, 0.08, 0.08 }, 5.40e9, 0.08, 1.70 },
	{ "node", { 0.20, 0.11, 0.11, 0.73, 0.71, 0.02, 0.17 }, 0.71e9, 0.79, 0.21 },
	{ "java", { 0.21, 0.10, 0.12, 1.52, 0.89, 0.14, 0.27 }, 0.40e9, 1.03, 0.29 },
	{ "dot", { 5.01, 0.15, 0.61, 0.36, 0.28, 0.03, 0.11 }, 1.24e9, 0.29, 2.79 },
	{ "movsq", { 1.31, 0, 0, 0.02, 0.18, 0.04, 0 }, 0.03e9, 0.02, 1.32 },
};

/* Its CPU time, ns. */
static double put(struct shares *s, const double *seconds)
{
	double sum = 0;

	*s = (struct shares){ .kernel = 1 };
	for (int i = 0; i < SHARE_UNKNOWN; i++) {
		s->count[i] = (uint64_t)lround(seconds[i] * SECOND / SAMPLE);
		sum += (double)s->count[i] * SAMPLE;
	}
	return sum;
}

static int tell(const struct shares *s, uint64_t accesses, double user,
		double system, struct own_time *out)
{
	struct work_done w = { .accesses = accesses, .user_ns = user,
			       .system_ns = system };

	return own_time_of(s, &w, out);
}

/* What was measured lies in what is told, but for a tenth. */
static int t_measured(void)
{
	for (size_t i = 0; i < sizeof(measured) / sizeof(*measured); i++) {
		double plain = measured[i].plain * SECOND;
		struct own_time own;
		struct shares s;
		struct work_done w = {
			.user_ns = put(&s, measured[i].seconds),
			.accesses = (uint64_t)measured[i].accesses,
			.translating_ns = measured[i].translating * SECOND,
		};

		if (own_time_of(&s, &w, &own) != 1 ||
		    plain < 0.9 * own.least || plain > 1.1 * own.most) {
			printf("# %s: %.2f s, told %.2f to %.2f s\n",
			       measured[i].name, measured[i].plain,
			       own.least / SECOND, own.most / SECOND);
			return 1;
		}
	}
	return 0;
}

/* More of the same are more certain, as far as samples can be. */
static int t_chance(void)
{
	double all = 3 * SECOND, width = INFINITY;
	struct own_time own;

	for (uint64_t n = 50; n <= 5000000; n *= 10) {
		struct shares s = { .count = { [SHARE_OWN] = n,
					       [SHARE_COUNTING] = n,
					       [SHARE_AGENT] = n },
				    .kernel = 1 };

		CHECK(tell(&s, 0, all, 0, &own));
		CHECK(fabs(own.likely - SECOND) < 1e-3);
		CHECK(own.most / own.least < width);
		width = own.most / own.least;
	}
	CHECK(width < 1.78 && width > 1.68);
	return 0;
}

static int t_too_few(void)
{
	struct shares s = { .count = { [SHARE_OWN] = SHARE_ENOUGH - 1 } };
	struct own_time own;

	CHECK(!tell(&s, 0, SECOND, 0, &own));
	s.count[SHARE_AGENT] = 1;
	CHECK(tell(&s, 0, SECOND, 0, &own));
	/* Where there was nobody who could tell whose it was. */
	s.count[SHARE_UNKNOWN] = SHARE_ENOUGH / 5;
	CHECK(!tell(&s, 0, SECOND, 0, &own));
	s.count[SHARE_UNKNOWN] = SHARE_ENOUGH / 20;
	CHECK(tell(&s, 0, SECOND, 0, &own));
	s.lost = 2 * SHARE_ENOUGH;
	CHECK(!tell(&s, 0, SECOND, 0, &own));
	s.lost = 0;
	CHECK(!tell(&s, 0, 0, 0, &own));
	CHECK(!tell(&s, 0, NAN, 0, &own));
	return 0;
}

/* The kernel's time may be the program's, or none of it. */
static int t_kernel(void)
{
	struct shares s = { .count = { [SHARE_OWN] = 50000,
				       [SHARE_AGENT] = 50000 } };
	struct own_time without, with;

	CHECK(tell(&s, 0, 2 * SECOND, 0, &without));
	CHECK(tell(&s, 0, 2 * SECOND, SECOND, &with));
	CHECK(fabs(without.likely - SECOND) < 1e-3);
	CHECK(fabs(with.likely - 1.5 * SECOND) < 1e-3);
	CHECK(with.least < without.likely && with.most > 1.9 * SECOND);
	/* Where it was seen, it is one of them. */
	s.kernel = 1;
	s.count[SHARE_KERNEL] = 50000;
	CHECK(tell(&s, 0, 2 * SECOND, SECOND, &with));
	CHECK(fabs(with.likely - 2 * SECOND) < 1e-3);
	return 0;
}

/*
 * While counters are updated the program goes on, as far as it does elsewhere; what
 * counting must take and did not show was hidden in the program's time; and where
 * counting is slow, so is the rest.
 */
static int t_overlap(void)
{
	struct shares s = { .count = { [SHARE_OWN] = 10000,
				       [SHARE_COUNTING] = 10000 },
			    .kernel = 1 };
	struct own_time own;
	struct work_done w;

	CHECK(tell(&s, 0, 2 * SECOND, 0, &own));
	CHECK(fabs(own.likely - SECOND) < 1e-3);
	s.count[SHARE_UPDATED] = 20000;
	CHECK(tell(&s, 0, 4 * SECOND, 0, &own));
	CHECK(fabs(own.likely - 2 * SECOND) < 1e-3);
	s.count[SHARE_UPDATED] = 0;
	CHECK(tell(&s, 4000000000, 2 * SECOND, 0, &own));
	CHECK(own.likely < 0.7 * SECOND);
	CHECK(tell(&s, 1000000000, 2 * SECOND, 0, &own));
	CHECK(own.likely < 0.7 * SECOND);
	/* So is it where much is translated. */
	w = (struct work_done){ .user_ns = 2 * SECOND,
				.translating_ns = SECOND };
	CHECK(own_time_of(&s, &w, &own));
	CHECK(own.likely < 0.9 * SECOND && own.likely > 0.7 * SECOND);
	return 0;
}

/* Charts are the program's memory, and so are counters. */
static int t_nonsense(void)
{
	const uint64_t odd[] = { 0, 1, 99, 1ull << 40, INT64_MAX, UINT64_MAX };
	const double times[] = { 0, 1, SECOND, 1e18 };
	const int n = sizeof(odd) / sizeof(*odd);
	struct own_time own;
	struct shares s;

	for (int i = 0; i < n * n * n * n * n; i++)
		for (int k = 0; k < 16; k++) {
			double user = times[k % 4], system = times[k / 4];

			s = (struct shares){ .kernel = i & 1, .count = {
				odd[i % n], odd[i / n % n], odd[i / n / n % n],
				odd[i / n / n / n % n], odd[i % n],
				odd[i / n % n], 7, 0 } };
			if (!tell(&s, odd[i / n / n / n / n % n], user, system, &own))
				continue;
			CHECK(own.least >= 0 && own.least <= own.likely);
			CHECK(own.likely <= own.most);
			CHECK(own.most <= user + system);
		}
	return 0;
}

int main(void)
{
	run("own time: as measured", t_measured);
	run("own time: chance", t_chance);
	run("own time: too few samples", t_too_few);
	run("own time: the kernel's", t_kernel);
	run("own time: overlap", t_overlap);
	run("own time: nonsense", t_nonsense);
	return failures != 0;
}
