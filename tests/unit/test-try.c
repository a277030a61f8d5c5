// SPDX-License-Identifier: GPL-2.0-or-later
/* moca try: intervals of ratios, environments, and how a program was started. */
#include <math.h>

#include "lib/format/launch.h"
#include "tests/unit/trace-util.h"
#include "try/change.h"
#include "try/stat.h"

static int near(double a, double b)
{
	return fabs(a - b) < 0.002;
}

/* Ratios 0.5, 0.5 * 1.1, 0.5 / 1.1: t of 2 degrees is 9.925. */
static int interval(void)
{
	const double plain[] = { 1, 2, 4 };
	const double changed[] = { 0.5, 1.1, 4 / 2.2 };
	struct try_ratio r = try_ratio_of(plain, changed, 3);
	double half = 9.925 * log(1.1) / sqrt(3);

	CHECK(near(r.mean, 0.5));
	CHECK(near(r.low, 0.5 * exp(-half)) && near(r.high, 0.5 * exp(half)));
	CHECK(r.verdict == TRY_LESS);
	return 0;
}

static int verdicts(void)
{
	const double one[] = { 1, 1, 1, 1 };
	const double more[] = { 1.1, 1.11, 1.1, 1.09 };
	const double same[] = { 1.001, 0.999, 1, 1 };
	const double wild[] = { 0.5, 1.5, 0.7, 1.2 };
	const double little[] = { 0.995, 0.995, 0.9949, 0.995 };
	const double none[] = { 0, 0, 0, 1 };

	CHECK(try_ratio_of(one, more, 4).verdict == TRY_MORE);
	CHECK(try_ratio_of(one, same, 4).verdict == TRY_SAME);
	CHECK(try_ratio_of(one, wild, 4).verdict == TRY_UNDECIDED);
	/* Sure, and below what counts. */
	CHECK(try_ratio_of(one, little, 4).verdict == TRY_SAME);
	CHECK(try_ratio_of(one, more, 2).verdict == TRY_UNDECIDED);
	CHECK(try_ratio_of(one, none, 4).verdict == TRY_UNDECIDED);
	CHECK(try_ratio_of(one, none, 3).mean == 1);
	return 0;
}

/* Equal programs: of 2,000 series of 5 rounds hardly any has a gain. */
static int no_false_gain(void)
{
	unsigned seed = 1;
	int gains = 0, i, k, n;
	double a[5], b[5];

	for (i = 0; i < 2000; i++) {
		for (k = 0; k < 5; k++) {
			a[k] = b[k] = 1;
			for (n = 0; n < 4; n++) {
				a[k] += 0.1 * rand_r(&seed) / RAND_MAX;
				b[k] += 0.1 * rand_r(&seed) / RAND_MAX;
			}
		}
		gains += try_ratio_of(a, b, 5).verdict == TRY_LESS;
	}
	/* 0.5 % of them by chance alone, less those below TRY_GAIN_MIN. */
	CHECK(gains <= 12);
	return 0;
}

static int medians(void)
{
	double odd[] = { 3, 1, 2 }, even[] = { 4, 1, 3, 2 };

	CHECK(try_median(odd, 3) == 2 && try_median(even, 4) == 2.5);
	return 0;
}

static int environments(void)
{
	char *const env[] = { (char *)"A=1", (char *)"GLIBC_TUNABLES=x=1",
			      (char *)"AB=2", NULL };
	char *joined;
	char **e = try_environment(env, "A=3 GLIBC_TUNABLES=y=2 NEW=4 GLIBC_TUNABLES=z=3");

	CHECK(e && !strcmp(e[0], "A=3") && !strcmp(e[2], "AB=2"));
	CHECK(!strcmp(e[1], "GLIBC_TUNABLES=x=1:y=2:z=3"));
	CHECK(!strcmp(e[3], "NEW=4") && !e[4]);
	try_environment_free(e);
	joined = try_setting_joined(env, "GLIBC_TUNABLES=y=2 A=3 GLIBC_TUNABLES=z=3");
	CHECK(joined && !strcmp(joined, "GLIBC_TUNABLES=x=1:y=2:z=3 A=3"));
	free(joined);
	e = try_environment(env, NULL);
	CHECK(e && !strcmp(e[0], env[0]) && !strcmp(e[2], env[2]) && !e[3]);
	try_environment_free(e);
	return 0;
}

/* --- the file launch ------------------------------------------------------ */

static int launched(void)
{
	char *const argv[] = { (char *)"prog", (char *)"a b",
			       (char *)"line\nline \\n", (char *)"", NULL };
	char *const env[] = { (char *)"A=1", (char *)"B=x\ny", NULL };
	struct moca_launch l;

	CHECK(moca_launch_read(&l, dirfd_) == -ENOENT);
	CHECK(!moca_launch_write(dirfd_, argv, env));
	CHECK(!moca_launch_read(&l, dirfd_));
	CHECK(!strcmp(l.argv[0], "prog") && !strcmp(l.argv[1], "a b"));
	CHECK(!strcmp(l.argv[2], argv[2]) && !*l.argv[3] && !l.argv[4]);
	CHECK(!strcmp(l.env[0], "A=1") && !strcmp(l.env[1], "B=x\ny"));
	CHECK(!l.env[2] && l.dir && *l.dir == '/' && !l.env_left_out);
	moca_launch_free(&l);
	return 0;
}

/* Any byte that is changed is noticed. */
static int launch_damaged(void)
{
	char *const argv[] = { (char *)"prog", NULL };
	struct moca_launch l;
	size_t len, i;
	uint8_t *p;

	CHECK(!moca_launch_write(dirfd_, argv, argv + 1));
	p = slurp("launch", &len);
	CHECK(p);
	for (i = 0; i < len; i++) {
		p[i] ^= 4;
		spill("launch", p, len);
		p[i] ^= 4;
		if (!moca_launch_read(&l, dirfd_)) {
			moca_launch_free(&l);
			return fprintf(stderr, "byte %zu\n", i), 1;
		}
	}
	for (i = 0; i < len; i++) {
		spill("launch", p, i);
		CHECK(moca_launch_read(&l, dirfd_));
	}
	free(p);
	return 0;
}

static int large_environment(void)
{
	char *const argv[] = { (char *)"prog", NULL };
	char *env[2] = { malloc(300 << 10), NULL };
	struct moca_launch l;

	CHECK(env[0]);
	memset(env[0], 'x', 300 << 10);
	env[0][1] = '=';
	env[0][(300 << 10) - 1] = 0;
	CHECK(!moca_launch_write(dirfd_, argv, env));
	CHECK(!moca_launch_read(&l, dirfd_));
	CHECK(l.env_left_out && !l.env[0] && !strcmp(l.argv[0], "prog"));
	moca_launch_free(&l);
	free(env[0]);
	return 0;
}

static int in_directory(int (*test)(void))
{
	dir_new();
	return test();
}

static int t_launched(void) { return in_directory(launched); }
static int t_damaged(void) { return in_directory(launch_damaged); }
static int t_large(void) { return in_directory(large_environment); }

int main(void)
{
	run("try/interval", interval);
	run("try/verdicts", verdicts);
	run("try/no false gain", no_false_gain);
	run("try/median", medians);
	run("try/environment", environments);
	run("launch/round trip", t_launched);
	run("launch/damaged", t_damaged);
	run("launch/large environment", t_large);
	dir_remove();
	return failures != 0;
}
