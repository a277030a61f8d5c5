// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sweeps that took samples: what is told of a trace with weights, against the same
 * trace of full sweeps; and that nothing is said of what was just not looked at.
 */
#include "report/advice.h"
#include "tests/unit/advice-trace.h"

#define HALF 6144u		/* pages: 24 MiB */
#define ALL (2 * HALF)
#define SMALL_AT 16500u		/* of 200 pages, by itself */
#define OTHER (65536u / 4)	/* pages from HEAP on: the next mapping */

static unsigned none(uint32_t k)
{
	return 0;
}

static unsigned eighth(uint32_t k)
{
	return k < 2 ? 0 : 3;
}

#define CORE 3

/* Full sweeps. */
static int look_whole(void)
{
	thin(none, MOCA_STRIPE_RANK_MAX + 1);
	sample_core = sample_level = 0;
	return look("2x1");
}

static int look_sampled(unsigned (*level_of)(uint32_t k))
{
	thin(level_of, CORE);
	sample_core = CORE;
	sample_level = 3;
	return look("2x1");
}

/* Samples of all sizes, and full sweeps in between. */
static unsigned any(uint32_t k)
{
	static const unsigned levels[] = { 1, 0, 2, 3, 3, 2, 0, 3 };

	return k < 2 ? 0 : levels[k % 8];
}

static double share_of(const struct moca_profile_object *o)
{
	return (double)o->accesses / (double)profile->accesses;
}

/* What a trace says of its largest object and of the program. */
struct told_of {
	double share, remote, placed, shared, hot, cold, late, all;
	double write_share, lane;
};

static struct told_of measure(void)
{
	const struct moca_profile_object *o = object();
	double n = (double)o->accesses, pages = (double)o->pages;

	return (struct told_of){
		.share = share_of(o), .all = (double)profile->accesses,
		.remote = (double)profile->remote[MOCA_POLICY_FIRST_TOUCH] /
			  (double)profile->accesses,
		.placed = (double)o->remote[MOCA_POLICY_PARALLEL_INIT] / n,
		.shared = (double)o->shared_pages / pages,
		.hot = (double)o->hot_pages / pages,
		.cold = (double)o->cold_pages / pages,
		.late = (double)o->late_pages / pages,
		.write_share = (double)o->writes / n,
		.lane = (double)o->use[1] / n,
	};
}

/*
 * One thread fills all; then each reads its half, the first quarter is written by
 * both in turn, the last eighth seldom used; and there is a second object.
 */
static void mixed(void)
{
	unsigned i;

	begin(THREADS, ALL);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP + OTHER * PAGE, 8192 * PAGE, 2, MOCA_ALLOC_MALLOC);
	sweep(0, 0, ALL, MOCA_ACCESS_WRITE);
	sweep(1, OTHER, OTHER + 8192, MOCA_ACCESS_WRITE);
	for (i = 0; i < 30; i++) {
		next();
		sweep(i & 1, 0, ALL / 4, MOCA_ACCESS_WRITE);
		sweep(0, ALL / 4, HALF, MOCA_ACCESS_READ);
		sweep(1, HALF, ALL * 7 / 8, MOCA_ACCESS_READ);
		if (i == 9 || i == 20)
			sweep(1, ALL * 7 / 8, ALL, MOCA_ACCESS_READ);
		if (i % 3 == 0)
			sweep(1, OTHER, OTHER + 8192, MOCA_ACCESS_WRITE);
	}
}

/* Within two points of what full sweeps tell, but for what is told with n stripes. */
static int agrees(unsigned (*level_of)(uint32_t k))
{
	struct told_of full, x;
	double error;

	mixed();
	CHECK(!look_whole());
	full = measure();
	CHECK(!profile->sampled && profile->top_weight == 1);
	CHECK(object()->watched_pages == object()->pages);
	CHECK(object()->variance == 0);
	CHECK(!look_sampled(level_of));
	x = measure();
	error = moca_profile_share_error(profile, object());
	printf("# share %.3f %.3f error %.3f, remote %.3f %.3f, placed %.3f %.3f, shared %.3f %.3f, hot %.3f %.3f, cold %.3f %.3f, late %.3f %.3f, accesses %.3f\n",
	       full.share, x.share, error, full.remote, x.remote, full.placed,
	       x.placed, full.shared, x.shared, full.hot, x.hot, full.cold,
	       x.cold, full.late, x.late, x.all / full.all);
	CHECK(profile->sampled && profile->top_weight == 8);
	CHECK(object()->pages == ALL && object()->watched_pages < ALL / 4);
	CHECK(object()->first[0] == ALL);
	CHECK(error > 0 && error < 0.04);
	CHECK(fabs(x.share - full.share) < 2 * error);
	CHECK(fabs(x.remote - full.remote) < 0.04);
	CHECK(fabs(x.placed - full.placed) < 0.04);
	CHECK(fabs(x.write_share - full.write_share) < 0.04);
	CHECK(fabs(x.lane - full.lane) < 0.04);
	CHECK(fabs(x.shared - full.shared) < 0.05);
	CHECK(fabs(x.hot - full.hot) < 0.05);
	CHECK(fabs(x.cold - full.cold) < 0.05);
	CHECK(fabs(x.late - full.late) < 0.03);
	CHECK(fabs(x.all / full.all - 1) < 0.05);
	return 0;
}

static int as_full_sweeps(void)
{
	CHECK(!agrees(eighth));
	return 0;
}

static int levels_change(void)
{
	CHECK(!agrees(any));
	return 0;
}

#define PART 2048u		/* pages */

/*
 * Of what one thread filled, a fifth is used all the time; and in the second half there
 * are new pages in each interval. Windows have five sweeps each.
 */
static void long_run(void)
{
	unsigned i;

	begin(1, 5 * PART + 640);
	sweep(0, 0, 5 * PART, MOCA_ACCESS_WRITE);
	for (i = 0; i < 640; i++) {
		next();
		sweep(0, PART, 2 * PART, MOCA_ACCESS_READ);
		if (i >= 320)
			touch(0, 5 * PART + i, MOCA_ACCESS_WRITE);
	}
}

/* Each sweep of a window draws anew: that is not to be added up. */
static int sets_agree(unsigned (*level_of)(uint32_t k))
{
	uint64_t full[MOCA_PROFILE_WINDOWS], n;
	double least = 9, most = 0, x;
	unsigned w;

	long_run();
	CHECK(!look_whole());
	CHECK(profile->windows == MOCA_PROFILE_WINDOWS);
	CHECK(profile->intervals == 5 * MOCA_PROFILE_WINDOWS + 1);
	memcpy(full, profile->working_set, sizeof(full));
	CHECK(!look_sampled(level_of));
	CHECK(profile->distinct > 4 * PART);
	CHECK(profile->working_set[0] == full[0]);
	for (w = 1; w < profile->windows; w++) {
		n = profile->working_set[w];
		CHECK(full[w] >= PART && full[w] <= PART + 6);
		x = (double)n / (double)full[w];
		least = x < least ? x : least;
		most = x > most ? x : most;
	}
	printf("# working sets: %.3f to %.3f of those of full sweeps\n", least,
	       most);
	CHECK(least > 0.9 && most < 1.15);
	return 0;
}

static int working_set(void)
{
	CHECK(!sets_agree(eighth));
	return 0;
}

static int working_set_of_any(void)
{
	CHECK(!sets_agree(any));
	return 0;
}

/* Half of the memory is new in a window, the other half was there before. */
static int growing_set(void)
{
	uint64_t full = 0, n = 0;
	unsigned i, w;

	begin(1, 16 * PART);
	sweep(0, 0, PART, MOCA_ACCESS_WRITE);
	for (i = 0; i < 640; i++) {
		next();
		sweep(0, 0, PART, MOCA_ACCESS_READ);
		if (i >= 100 && i < 110)
			sweep(0, PART + (i - 100) * 512, PART + (i - 99) * 512,
			      MOCA_ACCESS_WRITE);
	}
	CHECK(!look_whole());
	for (w = 0; w < profile->windows; w++)
		full = full > profile->working_set[w] ? full :
						profile->working_set[w];
	CHECK(full >= PART + 2048);
	CHECK(!look_sampled(eighth));
	for (w = 0; w < profile->windows; w++)
		n = n > profile->working_set[w] ? n : profile->working_set[w];
	printf("# working set while it grows: %.3f\n", (double)n / (double)full);
	CHECK(fabs((double)n / (double)full - 1) < 0.1);
	return 0;
}

/* All of it is used to the end, but only an eighth is looked at. */
static int not_abandoned(void)
{
	unsigned i;

	begin(1, ALL);
	for (i = 0; i < 60; i++) {
		sweep(0, 0, ALL, MOCA_ACCESS_WRITE);
		next();
	}
	CHECK(!look_sampled(eighth));
	CHECK(!advice->count && !object()->idle_pages && !object()->brief_pages);
	CHECK(!object()->cold_pages);
	CHECK(object()->late_pages == ALL);
	CHECK(near((double)object()->hot_pages / ALL, 1));
	CHECK(!(object()->patterns & MOCA_PATTERN_ABANDONED));
	return 0;
}

/* What `moca summary` prints of it has that text. */
static int says(const char *text)
{
	static char out[16384];
	const struct advice_view v = {
		.path = "trace", .trace = trace, .profile = profile,
		.advice = advice,
	};
	FILE *f = tmpfile();
	int old = dup(1);
	size_t n;

	if (!f || old < 0)
		abort();
	fflush(stdout);
	dup2(fileno(f), 1);
	advice_print(&v);
	fflush(stdout);
	dup2(old, 1);
	close(old);
	rewind(f);
	n = fread(out, 1, sizeof(out) - 1, f);
	out[n] = 0;
	fclose(f);
	return strstr(out, text) != NULL;
}

/* A structure of which no stripe, or few, are in all samples. */
static int unwatched(void)
{
	static const uint64_t sizes[] = { 300, 600, 1000 };
	uint64_t from;
	unsigned i, k;

	for (k = 0; k < 3; k++)
		for (from = 0; from < 4096; from += 512) {
			begin(THREADS, 0x4000);
			for (i = 0; i < 60; i++) {
				sweep(i & 1, from, from + sizes[k],
				      MOCA_ACCESS_WRITE);
				next();
			}
			CHECK(!look_sampled(eighth));
			CHECK(object()->pages == sizes[k]);
			CHECK(!object()->watched_pages ||
			      object()->watched_pages == sizes[k]);
			CHECK(!object()->idle_pages && !advice->count);
			CHECK(!object()->private_pages &&
			      !object()->migratory_pages);
			CHECK(!(object()->patterns &
				(MOCA_PATTERN_ABANDONED | MOCA_PATTERN_PRIVATE |
				 MOCA_PATTERN_MIGRATORY | MOCA_PATTERN_WRITE_ONCE)));
		}
	return 0;
}

/* The parts of two threads differ in size; whose pages are is seen of few. */
static int not_known(void)
{
	const struct moca_check *c;
	unsigned i;

	begin(THREADS, 0x4000);
	for (i = 0; i < 60; i++) {
		sweep(0, 0, 500, MOCA_ACCESS_WRITE);
		if (i % 3 == 0)
			sweep(1, 500, 800, MOCA_ACCESS_WRITE);
		next();
	}
	CHECK(!look_sampled(eighth));
	CHECK(object()->pages == 800 && !object()->watched_pages);
	CHECK(!profile->watched_pages && says("Temperature   not known: "));
	c = check(MOCA_FINDING_UNBALANCED);
	CHECK(c && c->missed && c->near > 0);
	CHECK(strstr(c->missed, "pages of one thread each: not known, as "));
	CHECK(!look_whole());
	CHECK(profile->watched_pages == 800);
	CHECK(!says("not known") && !says("watched"));
	return 0;
}

/* 2 MiB are hot and 80 MiB cold; `other` pages of another object are used, too. */
static int hot_cold(uint64_t other)
{
	unsigned i, from;

	begin(1, 512 + 20480);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP + 26000 * PAGE, 4096 * PAGE, 2, MOCA_ALLOC_MALLOC);
	for (i = 0; i < 60; i++) {
		from = 512 + i % 20 * 1024;
		sweep(0, 0, 512, i ? MOCA_ACCESS_READ : MOCA_ACCESS_WRITE);
		sweep(0, from, from + 1024, MOCA_ACCESS_READ);
		sweep(0, 26000, 26000 + other, MOCA_ACCESS_WRITE);
		next();
	}
	return look_sampled(eighth);
}

/* Pages that no sweep let go are not counted as seldom used. */
static int tiers(void)
{
	CHECK(!hot_cold(0));
	CHECK(profile->watched_pages == profile->pages);
	CHECK(finding(MOCA_FINDING_TIERS));
	CHECK(says(", of 82.0 MiB\n"));
	CHECK(!hot_cold(3000));
	CHECK(profile->pages == 20992 + 3000);
	CHECK(profile->watched_pages == 20992);
	CHECK(!finding(MOCA_FINDING_TIERS));
	CHECK(says(", of 82.0 MiB that were watched, of 93.7 MiB\n"));
	return 0;
}

/* What is not used any more is found by the stripes that are looked at. */
static int abandoned(void)
{
	unsigned i;

	begin(1, 24576);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP + 26000 * PAGE, 100 * PAGE, 2, MOCA_ALLOC_MALLOC);
	for (i = 0; i < 60; i++) {
		if (i < 20)
			sweep(0, 0, 24576, MOCA_ACCESS_WRITE);
		sweep(0, 26000, 26100, MOCA_ACCESS_WRITE);
		next();
	}
	CHECK(!look_sampled(eighth));
	CHECK(object()->idle_pages == 24576);
	CHECK(finding(MOCA_FINDING_ABANDONED));
	return 0;
}

/* A small structure is swept whole: all of it is known. */
static int small(void)
{
	const struct moca_profile_object *o = NULL;
	unsigned i;

	begin(THREADS, ALL);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP + SMALL_AT * PAGE, 200 * PAGE, 2, MOCA_ALLOC_MALLOC);
	for (i = 0; i < 30; i++) {
		sweep(0, 0, HALF, MOCA_ACCESS_WRITE);
		sweep(1, HALF, ALL, MOCA_ACCESS_WRITE);
		sweep(i & 1, SMALL_AT, SMALL_AT + 200, MOCA_ACCESS_WRITE);
		next();
	}
	CHECK(!look_sampled(eighth));
	for (i = 0; i < profile->count; i++)
		if (profile->rows[i].pages == 200)
			o = &profile->rows[i];
	CHECK(o && o->watched_pages == 200 && o->variance == 0);
	CHECK(o->accesses == 200 * 30 && o->shared_pages == 200);
	return 0;
}

/*
 * No stripe is known to be let go each time: nothing is said of when pages are used,
 * but that 30 samples of the second half, which drew each stripe, met none.
 */
static int no_core(void)
{
	unsigned i;

	begin(1, ALL);
	for (i = 0; i < 60; i++) {
		if (i < 20)
			sweep(0, 0, ALL, MOCA_ACCESS_WRITE);
		touch(0, 20000, MOCA_ACCESS_WRITE);
		next();
	}
	thin(eighth, MOCA_STRIPE_RANK_MAX + 1);
	sample_core = 0;
	sample_level = 3;
	CHECK(!look("2x1"));
	CHECK(!object()->watched_pages && !object()->late_pages);
	CHECK(!object()->cold_pages && !object()->hot_pages);
	CHECK(object()->idle_pages == ALL && only(MOCA_FINDING_ABANDONED));
	return 0;
}

/* The same, but a tenth of it is used on: some of that was drawn. */
static int no_core_used(void)
{
	unsigned i;

	begin(1, ALL);
	for (i = 0; i < 60; i++) {
		sweep(0, 0, i < 20 ? ALL : ALL / 10, MOCA_ACCESS_WRITE);
		next();
	}
	thin(eighth, MOCA_STRIPE_RANK_MAX + 1);
	sample_core = 0;
	sample_level = 3;
	CHECK(!look("2x1"));
	CHECK(object()->idle_pages > ALL / 100 * 87 &&
	      object()->idle_pages < ALL / 100 * 93);
	CHECK(!finding(MOCA_FINDING_ABANDONED));
	return 0;
}

/* Nothing was drawn of it, so nothing has a weight: it is not taken for unused. */
static int never_drawn(void)
{
	unsigned i;

	begin(1, ALL);
	for (i = 0; i < 60; i++) {
		if (!i)
			sweep(0, 0, ALL, MOCA_ACCESS_WRITE);
		touch(0, 20000, MOCA_ACCESS_WRITE);
		next();
	}
	sample_core = 0;
	sample_level = 3;
	CHECK(!look("2x1"));
	CHECK(profile->sampled && !object()->watched_pages);
	CHECK(!object()->idle_pages && !object()->brief_pages);
	CHECK(!advice->count);
	sample_level = 0;
	CHECK(!look("2x1"));
	CHECK(object()->idle_pages == ALL);
	return 0;
}

/* Of a page outside of the sample there is a first touch, and no access. */
static int weights_of_none(void)
{
	begin(1, ALL);
	sweep(0, 0, ALL, MOCA_ACCESS_WRITE);
	next();
	sample_core = sample_level = 0;
	touches[0].weight = 2;
	touches[1].weight = touches[2].weight = 0;
	CHECK(!look("2x1"));
	CHECK(object()->pages == ALL && object()->accesses == ALL - 1);
	CHECK(object()->object->pages == ALL);
	CHECK(object()->object->accesses == ALL - 1);
	CHECK(object()->object->writes == ALL - 1);
	CHECK(object()->object->node_unknown == ALL - 1);
	CHECK(object()->records == ALL && object()->first[0] == ALL);
	return 0;
}

int main(void)
{
	run("sampled: as full sweeps", as_full_sweeps);
	run("sampled: samples of all sizes", levels_change);
	run("sampled: working sets of several sweeps", working_set);
	run("sampled: working sets of samples of all sizes", working_set_of_any);
	run("sampled: a working set that grows", growing_set);
	run("sampled: what is used is not abandoned", not_abandoned);
	run("sampled: nothing is said of what is not looked at", unwatched);
	run("sampled: what is not looked at is not known", not_known);
	run("sampled: hot and cold, of what is looked at", tiers);
	run("sampled: what is not used any more", abandoned);
	run("sampled: a small structure", small);
	run("sampled: no core", no_core);
	run("sampled: no core, a tenth is used", no_core_used);
	run("sampled: what was never drawn", never_drawn);
	run("sampled: records that weigh nothing", weights_of_none);
	done();
	dir_remove();
	return failures != 0;
}
