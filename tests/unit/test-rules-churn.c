// SPDX-License-Identifier: GPL-2.0-or-later
/* Hand-made traces of memory that is given back and taken again, or only seems so. */
#include "analysis/advice/rules.h"
#include "tests/unit/advice-trace.h"

#define STEPS 100u

static unsigned long touched, cpu_ms, huge_asked, lost, huge_ns = 200;
static int made_by = MOCA_ALLOC_MALLOC;
static int has_blocks;		/* blocks were measured, too */

static void put_prices(struct moca_meta *m)
{
	if (moca_meta_set(m, "certificate.pages_touched", "%lu", touched) ||
	    moca_meta_set(m, "certificate.pages_seen", "%lu", touched) ||
	    moca_meta_set(m, "certificate.records", "1000") ||
	    moca_meta_set(m, "certificate.lost", "%lu", lost) ||
	    moca_meta_set(m, "cost.price.native_touch_ns", "800") ||
	    moca_meta_set(m, "cost.price.native_free_ns", "200") ||
	    moca_meta_set(m, "cost.price.native_huge_ns", "%lu", huge_ns) ||
	    moca_meta_set(m, "cost.huge_asked", "%lu", huge_asked) ||
	    moca_meta_set(m, "cost.cpu_ns", "%lu", 2 * cpu_ms * 1000000) ||
	    moca_meta_set(m, "cost.cpu_estimate", "2.0"))
		abort();
	if (has_blocks &&
	    (moca_meta_set(m, "cost.price.renew_small_ns", "1000") ||
	     moca_meta_set(m, "cost.price.renew_large_ns", "2000") ||
	     moca_meta_set(m, "cost.price.spared_small_ns", "800") ||
	     moca_meta_set(m, "cost.price.spared_large_ns", "1600") ||
	     moca_meta_set(m, "cost.program_user_ns", "500000000")))
		abort();
}

/* An array that is allocated and freed `times` times; of so many pages. */
static int steps(unsigned times, uint64_t pages, const char *library)
{
	unsigned i;

	begin(1, pages);
	if (library)
		put_map(0, CODE + (16 << 20), PAGE, library);
	for (i = 1; i < times; i++) {
		put_free(0, HEAP, MOCA_ALLOC_MALLOC);
		put_alloc(0, HEAP, pages * PAGE, 1, made_by);
	}
	sweep(0, 0, pages, MOCA_ACCESS_WRITE);
	put_more = put_prices;
	i = (unsigned)look("2x1");
	put_more = NULL;
	return (int)i;
}

static int churn(void)
{
	const struct moca_finding *f;

	/* 200,000 first touches at 1.35 microseconds, of a second. */
	touched = STEPS * 2000;
	cpu_ms = 1000;
	CHECK(!steps(STEPS, 2000, NULL));
	CHECK(advice->count == 1);
	f = finding(MOCA_FINDING_CHURN);
	CHECK(f && near(f->gain, 0.267) && near(f->seconds, 0.267));
	CHECK(f->confidence == MOCA_CONFIDENCE_HIGH);
	CHECK(has_line(f->evidence, "198000 gave the program memory again"));
	CHECK(has_line(f->evidence, "100 times 7.8 MiB"));
	CHECK(has_line(f->try_, "glibc.malloc.trim_threshold=67108864"));
	CHECK(has_line(f->try_, "glibc.malloc.mmap_threshold=33554432"));
	/* What was lost may have said something else. */
	lost = 30;
	CHECK(!steps(STEPS, 2000, NULL));
	CHECK(finding(MOCA_FINDING_CHURN)->confidence == MOCA_CONFIDENCE_HIGH);
	lost = 100;
	CHECK(!steps(STEPS, 2000, NULL));
	f = finding(MOCA_FINDING_CHURN);
	CHECK(f->confidence == MOCA_CONFIDENCE_MEDIUM);
	CHECK(has_line(f->evidence, "9 % of the samples were lost"));
	lost = 1000;
	CHECK(!steps(STEPS, 2000, NULL));
	CHECK(finding(MOCA_FINDING_CHURN)->confidence == MOCA_CONFIDENCE_LOW);
	lost = 0;
	/* Larger than what glibc's threshold takes. */
	CHECK(!steps(STEPS, 10000, NULL));
	CHECK(finding(MOCA_FINDING_CHURN));
	CHECK(has_line(advice->findings[0].try_, "glibc.malloc.mmap_max=0"));
	/* Others have other settings. */
	CHECK(!steps(STEPS, 2000, "/usr/lib/libjemalloc.so.2"));
	CHECK(has_line(advice->findings[0].try_, "MALLOC_CONF=dirty_decay"));
	CHECK(!steps(STEPS, 2000, "/usr/lib/libmimalloc.so.2.0"));
	CHECK(has_line(advice->findings[0].try_, "MIMALLOC_PURGE_DELAY=-1"));
	/* Faults were dearer when their price was measured. */
	cpu_ms = 100;
	CHECK(!steps(STEPS, 2000, NULL));
	cpu_ms = 1000;
	f = finding(MOCA_FINDING_CHURN);
	CHECK(f && near(f->gain, 0.05) && isnan(f->seconds));
	CHECK(f->confidence == MOCA_CONFIDENCE_LOW);
	CHECK(strstr(f->title, "198000 times; what its page faults take is not known"));
	CHECK(has_line(f->evidence, "longer than its 0.10 s of CPU time"));
	/* The program's own mmap: malloc has no part in it. */
	made_by = MOCA_ALLOC_MMAP;
	CHECK(!steps(STEPS, 2000, NULL));
	made_by = MOCA_ALLOC_MALLOC;
	f = finding(MOCA_FINDING_CHURN);
	CHECK(f && !f->try_[0] && strstr(f->fix, "Map the memory once"));
	return 0;
}

/* Where it asks for huge pages, most faults are the recorder's. */
static int huge_churn(void)
{
	const struct moca_finding *f;

	touched = STEPS * 2000;
	cpu_ms = 1000;
	huge_asked = 99000;
	CHECK(!steps(STEPS, 2000, NULL));
	f = finding(MOCA_FINDING_CHURN);
	/* Half of them take 950 ns less. */
	CHECK(f && near(f->seconds, 0.267 - 0.094));
	CHECK(f->confidence == MOCA_CONFIDENCE_HIGH);
	CHECK(has_line(f->evidence, "99000 of these pages"));
	/* The price of huge pages is not known, as none was free: all or half. */
	huge_ns = 790;
	CHECK(!steps(STEPS, 2000, NULL));
	huge_ns = 200;
	f = finding(MOCA_FINDING_CHURN);
	CHECK(f && near(f->seconds, 0.75 * 0.267));
	CHECK(f->confidence == MOCA_CONFIDENCE_LOW);
	CHECK(has_line(f->evidence, "0.13 to 0.27 s of"));
	huge_asked = 0;
	return 0;
}

/*
 * Blocks of 2,000 pages come to ten places in turn. One place is enough where malloc
 * keeps it, ten where the program had them all at once.
 */
static int churn_elsewhere(void)
{
	const struct moca_finding *f;
	unsigned i, err;

	touched = 20 * 2000;
	cpu_ms = 400;
	begin(1, 2000);
	first_ns = clock_ns + 1000;
	for (i = 0; i < 20; i++) {
		if (i) {
			clock_ns = first_ns + interval * INTERVAL_NS - 10000;
			put_free(0, HEAP + (i - 1) % 10 * 2000 * PAGE,
				 MOCA_ALLOC_MALLOC);
			put_alloc(0, HEAP + i % 10 * 2000 * PAGE, 2000 * PAGE, 1,
				  MOCA_ALLOC_MALLOC);
		}
		next();
	}
	touch_count = 0;
	interval = 0;
	for (i = 0; i < 20; i++) {
		sweep(0, i % 10 * 2000, i % 10 * 2000 + 2000, MOCA_ACCESS_WRITE);
		next();
	}
	put_more = put_prices;
	err = (unsigned)look("2x1");
	put_more = NULL;
	CHECK(!err);
	f = finding(MOCA_FINDING_CHURN);
	CHECK(f && near(f->gain, 29 * 1.35 / 400));
	CHECK(has_line(f->evidence, "20000 to 38000 gave the program memory again"));
	CHECK(has_line(f->evidence, "0.03 to 0.05 s of the program's 0.40 s"));
	return 0;
}

/* What keeping blocks spares was measured with small and large ones. */
static int churn_of_blocks(void)
{
	const struct moca_finding *f;

	has_blocks = 1;
	/* 8 MiB each: 1.95 microseconds with cold caches. */
	touched = STEPS * 2048;
	cpu_ms = 1000;
	CHECK(!steps(STEPS, 2048, NULL));
	f = finding(MOCA_FINDING_CHURN);
	CHECK(f && near(f->seconds, 0.395) && near(f->gain, 0.395));
	CHECK(has_line(f->evidence, "takes 1950 ns of CPU time more"));
	/*
	 * By itself it would have run 0.3 s, as recording keeps the pages: but it ran
	 * 0.5 s in user space, and the kernel takes 2.35 microseconds for each.
	 */
	cpu_ms = 300;
	CHECK(!steps(STEPS, 2048, NULL));
	f = finding(MOCA_FINDING_CHURN);
	CHECK(f && near(f->seconds, 0.395) && near(f->gain, 0.395 / 0.9765));
	/* 256 KiB each: 1.15 microseconds; 1.41 MiB, between: 1.55. */
	touched = 10 * STEPS * 64;
	CHECK(!steps(10 * STEPS, 64, NULL));
	f = finding(MOCA_FINDING_CHURN);
	CHECK(f && near(f->seconds, 0.0735));
	touched = STEPS * 362;
	CHECK(!steps(STEPS, 362, NULL));
	f = finding(MOCA_FINDING_CHURN);
	CHECK(f && near(f->seconds, 0.0555));
	has_blocks = 0;
	return 0;
}

static int no_churn(void)
{
	/* malloc kept it. */
	touched = 2000;
	cpu_ms = 1000;
	CHECK(!steps(STEPS, 2000, NULL) && !advice->count);
	CHECK(check(MOCA_FINDING_CHURN) && !check(MOCA_FINDING_CHURN)->found);
	/* As many faults, in a program that runs ten times as long. */
	touched = STEPS * 2000;
	cpu_ms = 10000;
	CHECK(!steps(STEPS, 2000, NULL) && !advice->count);
	CHECK(check(MOCA_FINDING_CHURN)->near > 0.3);
	CHECK(strstr(check(MOCA_FINDING_CHURN)->missed,
		     "CPU time of these 2.7 %, not 5.0 % at least"));
	/* Nobody allocates it again: what it is, is not known. */
	cpu_ms = 1000;
	CHECK(!steps(1, 2000, NULL) && !advice->count);
	return 0;
}

int main(void)
{
	run("churn", churn);
	run("huge_churn", huge_churn);
	run("churn, elsewhere", churn_elsewhere);
	run("churn of blocks", churn_of_blocks);
	run("no churn", no_churn);
	done();
	free(touches);
	dir_remove();
	return failures != 0;
}
