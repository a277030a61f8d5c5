// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The same program recorded twice: in 40 intervals of one length; and in 20 short
 * ones, then one that lasts for all of the second half. The findings must agree.
 */
#include "tests/unit/advice-trace.h"

#define MOMENTS 40u
#define PAGES 22000u

static int burst;
/* Interval + 1 of each page's last record, of any kind and of a write. */
static uint32_t last[PAGES], last_write[PAGES];

/* The recorder chose these lengths. */
static void chosen(struct moca_meta *m)
{
	if (moca_meta_set(m, "credit_ns", "%u", 200000000))
		abort();
}

static void start(unsigned threads, uint64_t pages)
{
	begin(threads, pages);
	memset(last, 0, sizeof(last));
	memset(last_write, 0, sizeof(last_write));
	long_from = burst ? MOMENTS / 2 : 0;
	long_times = MOMENTS / 2;
	put_more = chosen;
}

static void moment(unsigned m)
{
	interval = burst && m > MOMENTS / 2 ? MOMENTS / 2 : m;
}

/* Who comes first in an interval is recorded, and a first write. */
static void use(uint32_t task, uint64_t from, uint64_t to, int type)
{
	int write = type == MOCA_ACCESS_WRITE;

	for (; from < to; from++) {
		if (write ? last_write[from] == interval + 1 :
			    last[from] == interval + 1)
			continue;
		last[from] = interval + 1;
		if (write)
			last_write[from] = interval + 1;
		touch(task, from, type);
	}
}

/* One thread uses one array for half of the time, then another another's. */
static int shares(void)
{
	unsigned m;

	start(THREADS, BIG);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP + BIG * PAGE, BIG * PAGE, 2, MOCA_ALLOC_MALLOC);
	for (m = 0; m < MOMENTS; m++) {
		moment(m);
		if (!m)
			use(0, BIG, 2 * BIG, MOCA_ACCESS_WRITE);
		if (m < MOMENTS / 2)
			use(0, 0, BIG, MOCA_ACCESS_WRITE);
		else
			use(1, BIG, 2 * BIG, MOCA_ACCESS_WRITE);
	}
	CHECK(!look("2x1"));
	CHECK(profile->count >= 2 && profile->rows[1].pages == BIG);
	CHECK(near((double)object()->accesses / profile->accesses, 21 / 41.));
	CHECK(near((double)profile->rows[1].accesses / profile->accesses, 20 / 41.));
	CHECK(near((double)profile->remote[MOCA_POLICY_FIRST_TOUCH] /
		   profile->accesses, 20 / 41.));
	CHECK(near(profile->accesses / 41. / BIG, burst ? 21.5 / 41 : 1));
	/* As many as were made: 20 and one, and the first of the other. */
	CHECK(profile->records == (burst ? 22 : 41) * BIG);
	/* By chance: each record counts as one. */
	put_more = NULL;
	CHECK(!look("2x1"));
	CHECK(profile->accesses == profile->records);
	return 0;
}

/* The same by few records that stand for many: with the resolution of lengths. */
static int shares_of_samples(void)
{
	static const uint16_t weights[] = { 128, 1024, 4096 };
	double share;
	size_t i, k;

	CHECK(!shares());
	put_more = chosen;
	for (k = 0; k < 3; k++) {
		for (i = 0; i < touch_count; i++)
			touches[i].weight = weights[k];
		CHECK(!look("2x1"));
		CHECK(profile->top_weight == weights[k]);
		share = (double)object()->accesses / profile->accesses;
		printf("# weight %u: %.3f for %.3f\n", weights[k], share,
		       21 / 41.);
		CHECK(near(share, 21 / 41.));
		CHECK(near(profile->accesses / 41. / BIG / weights[k],
			   burst ? 21.5 / 41 : 1));
	}
	return 0;
}

/* Half of it is another thread's than its first toucher, all the time. */
static int serial(void)
{
	unsigned m;

	start(THREADS, BIG);
	for (m = 0; m < MOMENTS; m++) {
		moment(m);
		if (!m)
			use(0, 0, BIG, MOCA_ACCESS_WRITE);
		if (m > 3)
			use(0, 0, BIG / 2, MOCA_ACCESS_READ);
		if (m > 3)
			use(1, BIG / 2, BIG, MOCA_ACCESS_READ);
	}
	CHECK(!look("2x1"));
	CHECK(only(MOCA_FINDING_SERIAL_TOUCH));
	CHECK(near(advice->findings[0].gain, 36 * .5 / 37));
	CHECK(object()->private_pages == BIG / 2);
	return 0;
}

/*
 * 2 MiB all the time, 3 MiB in the first third of it, 3 MiB in three eighths of all of
 * it, 74 MiB a tenth each time: each of these in the long interval as well.
 */
static int temperature(void)
{
	unsigned m, from;

	start(1, 2048 + 19000);
	for (m = 0; m < MOMENTS; m++) {
		moment(m);
		use(0, 0, 512, MOCA_ACCESS_WRITE);
		if (m < 15)
			use(0, 512, 1280, MOCA_ACCESS_WRITE);
		if (m % 8 < 3)
			use(0, 1280, 2048, MOCA_ACCESS_WRITE);
		from = 2048 + m % 10 * 1900;
		use(0, from, from + 1900, MOCA_ACCESS_READ);
	}
	CHECK(!look("2x1"));
	CHECK(object()->hot_pages == 512);
	CHECK(object()->cold_pages == 19000);
	/* By the median of the lengths, not their mean. */
	CHECK(near((double)profile->hot_ns / INTERVAL_NS, 1.443));
	return 0;
}

/* What is used all the time, but not in the 60 intervals at the end: not hot. */
static int idle_at_the_end(void)
{
	unsigned m;

	start(1, 512);
	for (m = 0; m < MOMENTS; m++) {
		moment(m);
		use(0, 0, 512, MOCA_ACCESS_WRITE);
	}
	interval += 60;
	CHECK(!look("2x1"));
	CHECK(object()->pages == 512 && !object()->hot_pages);
	return 0;
}

/* Threads fight for a line in a fifth of the time, or in nearly all of it. */
static int line(unsigned moments)
{
	unsigned m;

	start(THREADS, 1);
	for (m = 0; m < MOMENTS; m++) {
		moment(m);
		if (m < moments) {
			use(m & 1, 0, 1, MOCA_ACCESS_WRITE);
			touches[touch_count - 1].addr = HEAP + (m & 1 ? 16 : 40);
		}
		/* Something that always is. */
		use(0, 100, 110, MOCA_ACCESS_WRITE);
	}
	return look("2x1");
}

static int lines(void)
{
	CHECK(!line(10));
	CHECK(!finding(MOCA_FINDING_SHARED_LINES));
	CHECK(!line(MOMENTS / 2 + 1));
	CHECK(finding(MOCA_FINDING_SHARED_LINES));
	return 0;
}

/* 96 MiB at random: in a quarter of the time, 40 MiB an interval; or all of it. */
static int at_random(unsigned moments)
{
	unsigned m, i;

	start(1, PAGES);
	for (m = 0; m < MOMENTS; m++) {
		moment(m);
		use(0, 0, 1, MOCA_ACCESS_WRITE);
		for (i = 0; m < moments && i < 10000; i++) {
			uint64_t page = rnd() % PAGES;

			use(0, page, page + 1, MOCA_ACCESS_READ);
		}
	}
	return look("2x1");
}

/* 86 MiB, each page in a fifth of the time; of 2 MiB, all the time. */
static int part(unsigned hot)
{
	unsigned m, i;

	start(1, PAGES);
	for (m = 0; m < MOMENTS; m++) {
		moment(m);
		use(0, 0, hot, MOCA_ACCESS_READ);
		for (i = 0; i < PAGES / 5; i++) {
			uint64_t page = i * 1999 % (PAGES / 5) * 5 + m % 5;

			use(0, page, page + 1, MOCA_ACCESS_READ);
		}
	}
	return look("one");
}

static int huge(void)
{
	CHECK(!part(512));
	CHECK(!finding(MOCA_FINDING_HUGE_PAGES));
	CHECK(!part(0));
	CHECK(finding(MOCA_FINDING_HUGE_PAGES));
	CHECK(!at_random(10));
	CHECK(!finding(MOCA_FINDING_HUGE_PAGES));
	CHECK(!at_random(MOMENTS));
	CHECK(finding(MOCA_FINDING_HUGE_PAGES));
	return 0;
}

/* Used in all of the first quarter only; or to the end. */
static int idle(unsigned moments)
{
	unsigned m;

	start(1, 5000);
	long_times *= 3;
	for (m = 0; m < MOMENTS; m++) {
		moment(m);
		use(0, 5000, 5100, MOCA_ACCESS_WRITE);
		if (m < moments)
			use(0, 0, 5000, MOCA_ACCESS_WRITE);
	}
	return look("2x1");
}

static int abandoned(void)
{
	if (!burst)
		return 0;
	CHECK(!idle(10));
	CHECK(only(MOCA_FINDING_ABANDONED));
	CHECK(!idle(MOMENTS));
	CHECK(!advice->count);
	return 0;
}

int main(void)
{
	for (burst = 0; burst < 2; burst++) {
		run("shares of two arrays", shares);
		run("shares of two arrays, by samples", shares_of_samples);
		run("the half of another thread", serial);
		run("hot and cold", temperature);
		run("hot, but idle at the end", idle_at_the_end);
		run("a line that is fought about", lines);
		run("huge pages", huge);
		run("memory that is not used any more", abandoned);
	}
	done();
	free(touches);
	dir_remove();
	return failures != 0;
}
