// SPDX-License-Identifier: GPL-2.0-or-later
/* moca try: intervals of ratios, environments, and how a program was started. */
#include <math.h>

#include <sched.h>
#include <sys/stat.h>

#include "analysis/objects/objects.h"
#include "lib/format/launch.h"
#include "lib/format/meta.h"
#include "lib/format/tried.h"
#include "tests/unit/trace-util.h"
#include "try/change.h"
#include "try/machine.h"
#include "try/output.h"
#include "try/plan.h"
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

/* Ranks: of 15 pairs two wild ones on each side are none of the interval. */
static int wild_pairs(void)
{
	double plain[15], changed[15];
	struct try_ratio r;
	size_t i;

	for (i = 0; i < 15; i++) {
		plain[i] = 1;
		changed[i] = 0.8 + 0.001 * (double)i;
	}
	changed[3] = changed[9] = 11;
	plain[5] = plain[6] = 7;
	r = try_ratio_of(plain, changed, 15);
	CHECK(r.verdict == TRY_LESS && r.mean > 0.8 && r.mean < 0.82);
	CHECK(r.low >= 0.8 && r.high < 0.82);
	/* A third one is a bound of it. */
	changed[0] = 12;
	r = try_ratio_of(plain, changed, 15);
	CHECK(r.verdict == TRY_UNDECIDED && near(r.high, 11));
	/* Less than 12 pairs: of one wild run in 5 the mean tells nothing. */
	changed[0] = 0.8;
	r = try_ratio_of(plain, changed, 5);
	CHECK(r.verdict == TRY_UNDECIDED && r.mean > 1 && r.median < 0.82);
	CHECK(try_ratio_promises(&r));
	return 0;
}

/* How often the interval holds the median of what all come from: 99 % and more. */
static int coverage(void)
{
	static const size_t counts[] = { 12, 15, 20, 60, 1000 };
	double a[1000], b[1000];
	struct try_ratio r;
	unsigned seed = 3;
	size_t n, i;
	int k, out;

	for (n = 0; n < sizeof(counts) / sizeof(*counts); n++) {
		for (k = 0, out = 0; k < 2000; k++) {
			for (i = 0; i < counts[n]; i++) {
				a[i] = 1;
				/* Far from a normal distribution. */
				b[i] = pow(10, 2. * rand_r(&seed) / RAND_MAX - 1);
			}
			r = try_ratio_of(a, b, counts[n]);
			out += r.low > 1 || r.high < 1;
		}
		CHECK(out > 0 && out <= 34);
	}
	return 0;
}

/* One time in ten a run takes some times as long, as on a busy machine. */
static double noisy(unsigned *seed)
{
	double x = 1 + 0.1 * rand_r(seed) / RAND_MAX;

	return rand_r(seed) % 10 ? x : x * (1 + 4. * rand_r(seed) / RAND_MAX);
}

static struct try_ratio series(unsigned *seed, double gain, size_t n)
{
	double a[25], b[25];
	size_t i;

	for (i = 0; i < n; i++) {
		a[i] = noisy(seed);
		b[i] = gain * noisy(seed);
	}
	return try_ratio_of(a, b, n);
}

/* As moca try does: 5 rounds, and where these promise something 25 new ones. */
static int gains_of(double gain)
{
	unsigned seed = 2;
	struct try_ratio r;
	int i, gains = 0;

	for (i = 0; i < 2000; i++) {
		r = series(&seed, gain, 5);
		if (r.verdict == TRY_LESS)
			r = series(&seed, gain, 5);
		if (try_ratio_promises(&r))
			r = series(&seed, gain, 25);
		gains += r.verdict == TRY_LESS;
	}
	return gains;
}

static int busy_machine(void)
{
	int none = gains_of(1), some = gains_of(0.8);

	if (none > 4 || some < 1800)
		printf("gains of none: %d, of 20 %%: %d of 2000\n", none, some);
	CHECK(none <= 4);
	CHECK(some >= 1800);
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

/* What lists of values have already stays; of LD_PRELOAD the first counts. */
static int joined_lists(void)
{
	char *const env[] = { (char *)"LD_PRELOAD=/a.so /b.so",
			      (char *)"MALLOC_CONF=x:1", (char *)"EMPTY=",
			      NULL };
	char **e = try_environment(env, "LD_PRELOAD=/m.so MALLOC_CONF=y:2 EMPTY=1");

	CHECK(e && !strcmp(e[0], "LD_PRELOAD=/m.so:/a.so /b.so"));
	CHECK(!strcmp(e[1], "MALLOC_CONF=x:1,y:2"));
	CHECK(!strcmp(e[2], "EMPTY=1") && !e[3]);
	try_environment_free(e);
	return 0;
}

/* --- plans ---------------------------------------------------------------- */

static int plans(void)
{
	const struct moca_site here = { .file = "/src/a.c", .line = 12,
					.module = "/bin/a \"b\"", .through = "" };
	const struct moca_site unknown = { .file = "/src/a.c", .line = 12 };
	const struct moca_object heap = { .kind = MOCA_OBJECT_HEAP,
					  .name = "h", .alloc = &here };
	const struct moca_object fixed = { .kind = MOCA_OBJECT_STATIC,
					   .name = "grid",
					   .module = "/bin/a" };
	const struct moca_object odd = { .kind = MOCA_OBJECT_STATIC,
					 .name = "two\nlines",
					 .module = "/bin/a" };
	const struct moca_object stack = { .kind = MOCA_OBJECT_STACK,
					   .name = "stack" };
	const struct moca_object nameless = { .kind = MOCA_OBJECT_HEAP,
					      .name = "x", .alloc = &unknown };
	struct try_plan p = { 0 }, more = { 0 };
	char *text;

	CHECK(!try_plan_add(&p, &heap, &(struct try_wish){ .pad = 64 }));
	CHECK(!try_plan_add(&more, &heap, &(struct try_wish){ .pad = 128, .huge = 1 }));
	CHECK(!try_plan_add(&more, &fixed, &(struct try_wish){ .bind = 2 }));
	CHECK(try_plan_add(&p, &odd, &(struct try_wish){ .huge = 1 }) == -ENOENT);
	CHECK(try_plan_add(&p, &stack, &(struct try_wish){ .huge = 1 }) == -ENOENT);
	CHECK(try_plan_add(&p, &nameless, &(struct try_wish){ .huge = 1 }) == -ENOENT);
	CHECK(!try_plan_merge(&p, &more));
	text = try_plan_text(&p);
	CHECK(text && !strcmp(text,
		"[[place]]\nsite = \"a.c:12\"\nmodule = \"/bin/a \\\"b\\\"\"\n"
		"huge = true\npad = 128\n"
		"[[place]]\nobject = \"grid\"\nmodule = \"/bin/a\"\n"
		"memory = \"bind\"\nnodes = [1]\n"));
	free(text);
	CHECK(!try_plan_merge(&p, &(struct try_plan){ &(struct try_wish){
		.name = more.items[1].name, .interleave = 1 }, 1, 1 }));
	text = try_plan_text(&p);
	CHECK(text && strstr(text, "interleave") && !strstr(text, "bind"));
	free(text);
	try_plan_free(&p);
	try_plan_free(&more);
	return 0;
}

/* All CPUs of one core, of two, or nothing that tells. */
static int cores(void)
{
	char path[600], base[400];
	int cpu, n;
	cpu_set_t set;

	CHECK(!sched_getaffinity(0, sizeof(set), &set));
	snprintf(base, sizeof(base), "/proc/self/fd/%d", dirfd_);
	CHECK(try_machine_cores(base) == 0);
	for (n = 1; n <= 2; n++) {
		int seen = 0;

		for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			FILE *f;

			if (!CPU_ISSET(cpu, &set))
				continue;
			snprintf(path, sizeof(path), "%s/cpu%d", base, cpu);
			CHECK(n > 1 || !mkdir(path, 0700));
			strcat(path, "/topology");
			CHECK(n > 1 || !mkdir(path, 0700));
			strcat(path, "/thread_siblings_list");
			f = fopen(path, "w");
			CHECK(f);
			fprintf(f, "%d-%d\n", n == 1 ? 0 : seen++, 4096);
			fclose(f);
		}
		CHECK(try_machine_cores(base) ==
		      (n == 1 ? 1 : (unsigned)CPU_COUNT(&set)));
	}
	return 0;
}

/* --- the file tried ------------------------------------------------------- */

static const struct moca_tried_change example = {
	.id = "pad-64", .result = "quicker", .findings = "shared-lines,one-node",
	.setting = "", .command = "", .plan = "[[place]]\nsite = \"a\"\n",
	.predicted = NAN, .when_ns = 1234567890123456789, .rounds = 5,
	.confidence = 0.99, .wall = { 0.5, 0.25, 1 }, .cpu = { 0.5, 0, HUGE_VAL },
	.faults = { 10, 20 }, .peak_bytes = { 4096, 1 << 20 },
};

static int tried(void)
{
	struct moca_tried_change c[2] = { example, example };
	struct moca_tried t;

	CHECK(moca_tried_read(&t, dirfd_) == -ENOENT);
	CHECK(!moca_tried_write(dirfd_, c, 1));
	c[0].id = "prefault";
	c[0].predicted = 0.25;
	c[1].result = "slower";
	CHECK(!moca_tried_write(dirfd_, c, 2));
	CHECK(!moca_tried_read(&t, dirfd_) && t.count == 2);
	/* Of one name the new one counts. */
	CHECK(!strcmp(t.items[0].id, "prefault"));
	CHECK(near(t.items[0].predicted, 0.25));
	CHECK(!strcmp(t.items[1].id, "pad-64") && isnan(t.items[1].predicted));
	CHECK(!strcmp(t.items[1].result, "slower"));
	CHECK(!strcmp(t.items[1].plan, example.plan) && !*t.items[1].setting);
	CHECK(t.items[1].when_ns == example.when_ns && t.items[1].rounds == 5);
	CHECK(near(t.items[1].wall.low, 0.25) && t.items[1].cpu.high > 1000);
	CHECK(t.items[1].faults[1] == 20 && t.items[1].peak_bytes[0] == 4096);
	CHECK(moca_tried_follows(&t.items[1], "one-node"));
	CHECK(moca_tried_follows(&t.items[1], "shared-lines"));
	CHECK(!moca_tried_follows(&t.items[1], "shared"));
	CHECK(!moca_tried_follows(&t.items[1], "node"));
	moca_tried_free(&t);
	/* More than there may be. */
	for (int i = 0; i <= MOCA_TRIED_MAX; i++) {
		char id[16];

		snprintf(id, sizeof(id), "c%d", i);
		c[0].id = id;
		if (moca_tried_write(dirfd_, c, 1))
			return i < MOCA_TRIED_MAX - 2;
	}
	return 1;
}

/* With a right checksum, and values that cannot be. */
static int tried_hostile(void)
{
	static const char *const lines[][2] = {
		{ "wall", "500000 600000 700000" }, { "wall", "1 1" },
		{ "wall", "1 1 1 " }, { "wall", "-1 -1 1" },
		{ "wall", "1 1 99999999999999999999" }, { "cpu", "nan nan nan" },
		{ "faults", "1 2 3" }, { "peak", "0x10 1" },
		{ "predicted", "1000001" }, { "confidence", "" },
		{ "when", "18446744073709551615" }, { "rounds", "99999999" },
		{ "result", "a\033[2J" }, { "setting", "A=1\nB=2" },
		{ "plan", "\007" }, { "change", "-" }, { "command", "\r" },
	};
	struct moca_tried t;
	struct moca_meta *m;
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		CHECK(moca_tried_write(dirfd_, &example, 1) == (i > 0));
		CHECK(!moca_meta_read_as(&m, dirfd_, MOCA_TRIED_NAME));
		CHECK(!moca_meta_set(m, lines[i][0], "%s", lines[i][1]));
		CHECK(!moca_meta_write_as(m, dirfd_, MOCA_TRIED_NAME));
		moca_meta_free(m);
		if (moca_tried_read(&t, dirfd_) != -EBADMSG)
			return fprintf(stderr, "%s %s\n", lines[i][0],
				       lines[i][1]), 1;
	}
	/* A line that is missing, and a damaged file, which is kept. */
	CHECK(moca_tried_write(dirfd_, &example, 1) == 1);
	CHECK(!moca_meta_read_as(&m, dirfd_, MOCA_TRIED_NAME));
	moca_meta_unset(m, "peak");
	CHECK(!moca_meta_write_as(m, dirfd_, MOCA_TRIED_NAME));
	moca_meta_free(m);
	CHECK(moca_tried_read(&t, dirfd_) == -EBADMSG);
	CHECK(moca_tried_write(dirfd_, &example, 1) == 1);
	CHECK(!faccessat(dirfd_, MOCA_TRIED_DAMAGED, R_OK, 0));
	CHECK(!moca_tried_read(&t, dirfd_) && t.count == 1);
	moca_tried_free(&t);
	return 0;
}

static int tried_damaged(void)
{
	struct moca_tried t;
	size_t len, i;
	uint8_t *p;

	CHECK(!moca_tried_write(dirfd_, &example, 1));
	p = slurp("tried", &len);
	CHECK(p);
	for (i = 0; i < 2 * len; i++) {
		if (i < len)
			p[i] ^= 4;
		spill("tried", p, i < len ? len : i - len);
		if (i < len)
			p[i] ^= 4;
		if (!moca_tried_read(&t, dirfd_)) {
			moca_tried_free(&t);
			return fprintf(stderr, "byte %zu\n", i), 1;
		}
	}
	free(p);
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
static int t_cores(void) { return in_directory(cores); }
static int t_tried(void) { return in_directory(tried); }
static int t_tried_damaged(void) { return in_directory(tried_damaged); }
static int t_tried_hostile(void) { return in_directory(tried_hostile); }
static int t_large(void) { return in_directory(large_environment); }

/* --- output --------------------------------------------------------------- */

static struct try_stream stream(const char *text, size_t at)
{
	struct try_hash h;

	try_hash_begin(&h);
	try_hash_add(&h, text, at);
	try_hash_add(&h, text + at, strlen(text) - at);
	return try_hash_end(&h);
}

/* In whatever pieces the two come. */
static int differ(const char *a, const char *b, enum try_difference want)
{
	struct try_stream x, y = stream(b, 0);
	size_t i;

	for (i = 0; i <= strlen(a); i++) {
		x = stream(a, i);
		if (try_stream_compare(&x, &y) != want)
			return fprintf(stderr, "'%s' '%s' %zu\n", a, b, i), 0;
	}
	return 1;
}

static int outputs(void)
{
	static char large[2][TRY_REST_MAX + 2];
	struct try_stream a, b;

	CHECK(differ("pid 12", "pid 12", TRY_EQUAL));
	CHECK(differ("pid 12", "pid 7", TRY_NUMBERS));
	CHECK(differ("took  9.5 s", "took 10.25 s", TRY_NUMBERS));
	CHECK(differ("done in 3.", "done in 2.5.", TRY_NUMBERS));
	CHECK(differ("at 0x7f3a00", "at 0xBeef", TRY_NUMBERS));
	CHECK(differ("0x12 xs", "0 xs", TRY_NUMBERS));
	CHECK(differ("a 1 b", "a 1 c", TRY_TEXT));
	CHECK(differ("1 2", "1 x", TRY_TEXT));
	CHECK(differ("5 of 6", "5 of", TRY_TEXT));
	CHECK(differ("10xa", "10xb", TRY_TEXT));
	CHECK(differ("-1", "1", TRY_TEXT) && differ("", "1", TRY_TEXT));
	/* What is too long to look for numbers in may differ in more. */
	memset(large, 'x', sizeof(large));
	large[0][0] = '1';
	large[1][0] = '2';
	large[0][TRY_REST_MAX] = large[1][TRY_REST_MAX] = 0;
	a = stream(large[0], 0);
	b = stream(large[1], 0);
	CHECK(try_stream_compare(&a, &b) == TRY_NUMBERS);
	large[0][TRY_REST_MAX] = large[1][TRY_REST_MAX] = 'x';
	large[0][TRY_REST_MAX + 1] = large[1][TRY_REST_MAX + 1] = 0;
	a = stream(large[0], 0);
	b = stream(large[1], 0);
	CHECK(try_stream_compare(&a, &b) == TRY_TEXT);
	return 0;
}

static int tails(void)
{
	struct try_tail t = { .n = 0 };
	char buf[TRY_TAIL + 1], text[3 * TRY_TAIL];
	size_t i;

	CHECK(!*try_tail_line(&t, buf));
	try_tail_add(&t, "one\ntwo", 7);
	CHECK(!strcmp(try_tail_line(&t, buf), "two"));
	try_tail_add(&t, " words\n\n \n", 10);
	CHECK(!strcmp(try_tail_line(&t, buf), "two words"));
	/* Longer than what is kept, at once and byte by byte. */
	for (i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 26);
	try_tail_add(&t, text, sizeof(text));
	CHECK(t.n == TRY_TAIL);
	CHECK(!memcmp(try_tail_line(&t, buf), text + 2 * TRY_TAIL, TRY_TAIL));
	CHECK(!buf[TRY_TAIL]);
	t.n = 0;
	for (i = 0; i < sizeof(text); i++)
		try_tail_add(&t, text + i, 1);
	CHECK(t.n == TRY_TAIL && !memcmp(t.text, text + 2 * TRY_TAIL, TRY_TAIL));
	return 0;
}

int main(void)
{
	run("try/outputs", outputs);
	run("try/last words", tails);
	run("try/interval", interval);
	run("try/verdicts", verdicts);
	run("try/no false gain", no_false_gain);
	run("try/median", medians);
	run("try/wild pairs", wild_pairs);
	run("try/coverage of ranks", coverage);
	run("try/busy machine", busy_machine);
	run("try/environment", environments);
	run("try/lists of values", joined_lists);
	run("try/plans", plans);
	run("try/cores", t_cores);
	run("tried/round trip", t_tried);
	run("tried/damaged", t_tried_damaged);
	run("tried/hostile", t_tried_hostile);
	run("launch/round trip", t_launched);
	run("launch/damaged", t_damaged);
	run("launch/large environment", t_large);
	dir_remove();
	return failures != 0;
}
