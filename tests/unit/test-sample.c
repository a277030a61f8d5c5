// SPDX-License-Identifier: GPL-2.0-or-later
/* The sample that a sweep lets go: which stripes, and what a fault stands for. */
#include <math.h>
#include <stdlib.h>

#include "collect/fault/collector.h"
#include "collect/fault/sample.h"
#include "collect/run/pageset.h"
#include "collect/run/recorder.h"
#include "lib/base/stripe.h"
#include "lib/text/text.h"
#include "tests/unit/trace-util.h"

#define STRIPE(n) ((uint64_t)(n) << MOCA_STRIPE_SHIFT)
#define MB(n) ((uint64_t)(n) << 20)

/* Of each aligned group of 2^level stripes exactly one; levels are nested, as a
 * rank is one number. Where it lies in its group follows no pattern. */
static int t_groups(void)
{
	for (unsigned int level = 1; level <= MOCA_STRIPE_RANK_MAX; level++) {
		uint64_t key = moca_stripe_key(7, level), size = 1ull << level;
		uint64_t first = (0x7f1200000000ull >> MOCA_STRIPE_SHIFT) & ~(size - 1);
		unsigned int half = 0, groups = 1 << 16 >> level;

		for (unsigned int g = 0; g < groups; g++) {
			uint64_t at = first + g * size;
			unsigned int n = 0;

			for (uint64_t i = 0; i < size; i++)
				if (moca_stripe_rank(STRIPE(at + i), key) >= level) {
					n++;
					half += i < size / 2;
				}
			CHECK(n == 1);
		}
		/* A coin for each group: within four deviations. */
		CHECK(groups < 256 ||
		      (2.0 * half - groups) * (2.0 * half - groups) <
			      16.0 * groups);
	}
	return 0;
}

/* A stripe is in a share of the draws, whatever others are. */
static int t_draws(void)
{
	unsigned int in = 0, both = 0, draws = 4000;

	for (unsigned int d = 1; d <= draws; d++) {
		uint64_t key = moca_stripe_key(3, d);
		int a = moca_stripe_rank(STRIPE(1000), key) >= 2;

		in += a;
		both += a && moca_stripe_rank(STRIPE(1004), key) >= 2;
	}
	CHECK(in > 850 && in < 1150);
	CHECK(both > 150 && both < 350);
	return 0;
}

static void list(struct page_block *b, void *arg)
{
	struct block_list *l = arg;

	l->items[l->count++] = b;
}

/* Beyond all ranks: without a core. */
static unsigned int core_rank = MOCA_STRIPE_RANK_MAX + 1;

static int by_number(const void *a, const void *b)
{
	const struct page_block *x = *(struct page_block *const *)a;
	const struct page_block *y = *(struct page_block *const *)b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static void classify(struct mm *mm)
{
	struct page_block *items[4096];
	struct block_list l = { .items = items };

	pageset_walk(mm->pages, 0, USER_END, list, &l);
	qsort(items, l.count, sizeof(*items), by_number);
	sample_classify(mm, &l, core_rank);
}

static unsigned int large(struct mm *mm, uint64_t addr)
{
	const struct page_block *b = pageset_block(mm->pages, addr, 0);

	return b ? b->large : 0;
}

static void region(struct mm *mm, uint64_t start, uint64_t end,
		   enum region_kind kind)
{
	struct region r = { .start = start, .end = end, .off = start,
			    .kind = kind };

	if (moca_regions_add(&mm->regions, &r))
		abort();
}

static void touch(struct mm *mm, uint64_t start, uint64_t end)
{
	for (; start < end; start += 4096)
		pageset_see(mm->pages, start);
}

static int t_small(void)
{
	struct mm mm = { .pages = pageset_new() };

	/* A large area; ten stacks behind it, of which the top is used. */
	region(&mm, MB(100), MB(180), REGION_MEMFD);
	touch(&mm, MB(100), MB(104));
	for (int i = 1; i <= 9; i++)
		touch(&mm, MB(100 + 8 * i) - 0x10000, MB(100 + 8 * i));
	/* A library: variables beside more of its code than is small. */
	region(&mm, MB(400), MB(402) + 0x3000, REGION_FILE);
	region(&mm, MB(402) + 0x3000, MB(402) + 0x6000, REGION_MEMFD);
	touch(&mm, MB(400), MB(402) + 0x6000);
	/* The main stack is not let go: no sample of it. */
	region(&mm, MB(500), MB(504), REGION_STACK);
	touch(&mm, MB(500), MB(504));
	classify(&mm);
	CHECK(large(&mm, MB(100)) == 0xff && large(&mm, MB(102)) == 0xff);
	for (int i = 2; i <= 9; i++)
		CHECK(large(&mm, MB(100 + 8 * i) - 4096) == 0);
	CHECK(large(&mm, MB(400)) == 0xff);
	CHECK(large(&mm, MB(402)) == 1);
	CHECK(large(&mm, MB(500)) == 0);
	/* In one stripe with what is large, they are sampled with it. */
	region(&mm, MB(402), MB(402) + 0x3000, REGION_STACK);
	classify(&mm);
	CHECK(large(&mm, MB(402)) == 0);
	moca_regions_free(&mm.regions);
	pageset_free(mm.pages);
	return 0;
}

/* What processes share are not as many pages as have entries of it. */
static int t_distinct(void)
{
	static struct recorder rec;
	struct mm mm[3] = { 0 };
	struct sweep_expected x;

	for (int i = 0; i < 3; i++) {
		mm[i].pages = pageset_new();
		mm[i].state = MM_MOVED;
		mm[i].refault = 1;
		mm[i].space.next = i < 2 ? &mm[i + 1].space : NULL;
		pthread_mutex_init(&mm[i].lock, NULL);
		region(&mm[i], MB(100), MB(164), REGION_SHARED);
		region(&mm[i], MB(200), MB(208), REGION_MEMFD);
		/* One of them has used the half only. */
		touch(&mm[i], MB(100), MB(i ? 164 : 132));
		touch(&mm[i], MB(200), MB(208));
	}
	rec.spaces = &mm[0].space;
	sweep_expect(&rec, &x);
	CHECK(x.distinct == MB(64 + 3 * 8) / 4096);
	CHECK(x.pages[0] == (double)(MB(2 * 64 + 32 + 3 * 8) / 4096));
	for (int i = 0; i < 3; i++) {
		moca_regions_free(&mm[i].regions);
		pageset_free(mm[i].pages);
		pthread_mutex_destroy(&mm[i].lock);
	}
	return 0;
}

/* So many small ones that all of them are no small share: the smallest. */
static int t_many_small(void)
{
	struct mm mm = { .pages = pageset_new() };
	unsigned int whole = 0;

	region(&mm, MB(1000), MB(9000), REGION_MEMFD);
	for (int i = 0; i < 1000; i++)
		touch(&mm, MB(1000 + 8 * i),
		      MB(1000 + 8 * i) + (i % 2 ? 4096 : 64 * 4096));
	classify(&mm);
	for (int i = 0; i < 1000; i++) {
		whole += !large(&mm, MB(1000 + 8 * i));
		CHECK((large(&mm, MB(1000 + 8 * i)) == 0) == i % 2);
	}
	CHECK(whole == 500);
	moca_regions_free(&mm.regions);
	pageset_free(mm.pages);
	return 0;
}

struct fault {
	enum page_fault kind;
	int ours;
};

static unsigned int fault(struct pageset *s, uint64_t addr, struct fault *f)
{
	f->kind = pageset_fault(s, addr);
	return pageset_weigh(s, addr, f->kind, &f->ours);
}

static int t_weights(void)
{
	struct pageset *s = pageset_new();
	struct page_block *b;
	struct fault f;

	/* Without a sweep, and behind one of everything, one is one. */
	for (int i = 0; i < 4; i++)
		CHECK(fault(s, MB(2) + i * 4096ull, &f) == 1);
	CHECK(fault(s, MB(2) + STRIPE(1), &f) == 1);
	b = pageset_block(s, MB(2), 0);
	CHECK(b->present == 5 && b->faults[0] == 4 && b->faults[1] == 1);
	b->large = 3;
	/* Stripe 0 is let go, but for its page 3; stripe 1 is not. */
	pageset_sweep(s, 8);
	CHECK(pageset_let_go(s, b, 0, ~8ull) == 3);
	CHECK(b->present == 2);
	CHECK(fault(s, MB(2), &f) == 8 && f.kind == PAGE_REPEATED && f.ours);
	/* A write after the read stands for the same. */
	CHECK(fault(s, MB(2), &f) == 8 && f.kind == PAGE_AGAIN && f.ours);
	/* A write to what was not let go: others' writes are not seen. */
	CHECK(fault(s, MB(2) + 3 * 4096, &f) == 0 && !f.ours);
	CHECK(fault(s, MB(2) + STRIPE(1), &f) == 0 && !f.ours);
	/* First touches are all seen; and their writes. */
	CHECK(fault(s, MB(2) + 9 * 4096, &f) == 1 && f.kind == PAGE_TOUCHED);
	CHECK(fault(s, MB(2) + 9 * 4096, &f) == 1 && !f.ours);
	/* Page 1 went and did not come back: whoever comes next is seen. */
	pageset_sweep(s, 16);
	CHECK(fault(s, MB(2) + 4096, &f) == 1 && f.kind == PAGE_REPEATED &&
	      !f.ours);
	pageset_let_go(s, b, 0, ~0ull);
	CHECK(fault(s, MB(2), &f) == 16);
	/* Given back, it is new. */
	pageset_clear(s, MB(2), MB(2) + 4 * 4096);
	CHECK(fault(s, MB(2) + 4096, &f) == 1 && f.kind == PAGE_TOUCHED);
	/* mremap brought its entry along: it stands for others that did not
	   show, and not if it was only filled. */
	pageset_prefill(s, MB(2) + 20 * 4096, MB(2) + 21 * 4096, FILLED_MAPPED);
	pageset_prefill(s, MB(2) + 21 * 4096, MB(2) + 22 * 4096, FILLED_DATA);
	pageset_sweep(s, 16);
	pageset_let_go(s, b, 0, ~0ull);
	CHECK(fault(s, MB(2) + 20 * 4096, &f) == 16 && f.kind == PAGE_COPIED);
	CHECK(fault(s, MB(2) + 21 * 4096, &f) == 1 && f.kind == PAGE_COPIED);
	CHECK(fault(s, MB(2) + 4096, &f) == 16);
	/* What is small is let go whole. */
	b->large = 2;
	pageset_sweep(s, 16);
	pageset_let_go(s, b, 0, ~0ull);
	CHECK(fault(s, MB(2) + 4096, &f) == 1 && f.ours);
	/* All is let go. */
	pageset_sweep(s, 1);
	pageset_zapped(b);
	CHECK(b->present == 0);
	CHECK(fault(s, MB(2) + STRIPE(1), &f) == 1 && f.ours);
	pageset_free(s);
	return 0;
}

static int t_masks(void)
{
	const struct page_block b = { .number = 3 };
	uint64_t base = 3ull << BLOCK_SHIFT;

	CHECK(pageset_mask(&b, 0, 0, USER_END) == ~0ull);
	CHECK(pageset_mask(&b, 1, base, base + STRIPE(1)) == 0);
	CHECK(pageset_mask(&b, 1, base, base + STRIPE(1) + 4096) == 1);
	CHECK(pageset_mask(&b, 1, base + STRIPE(2) - 4096, USER_END) ==
	      1ull << 63);
	CHECK(pageset_mask(&b, 7, base + STRIPE(8), USER_END) == 0);
	CHECK(pageset_mask(&b, 7, base + STRIPE(7) + 8192,
			   base + STRIPE(7) + 3 * 4096) == 4);
	return 0;
}

/*
 * A program reads every page in each interval, or only some by chance; what full
 * sweeps would see is what the weights add up to, in the mean.
 */
static int t_sums(void)
{
	struct pageset *s = pageset_new();
	uint64_t state = 1, truth = 0, sum = 0;
	struct fault f;

	for (unsigned int sweep = 1; sweep <= 200; sweep++) {
		unsigned int level = sweep % 5;
		uint64_t key = moca_stripe_key(1, sweep);

		for (uint64_t i = 0; i < 8 * 64 * 64; i++) {
			uint64_t addr = MB(64) + i * 4096;
			struct page_block *b;

			/* The first half always, the others each 20th time. */
			state = state * 6364136223846793005ull + 1;
			if (i >= 4 * 64 * 64 && (state >> 33) % 20)
				continue;
			truth++;
			b = pageset_block(s, addr, 1);
			if (!(b->faulted[addr >> MOCA_STRIPE_SHIFT & 7] >>
			      (addr >> 12 & 63) & 1))
				sum += fault(s, addr, &f);
		}
		pageset_sweep(s, (uint16_t)(1u << level));
		for (uint64_t i = 0; i < 8 * 64; i++) {
			struct page_block *b =
				pageset_block(s, MB(64) + STRIPE(i), 1);

			b->large = 0xff;
			if (moca_stripe_rank(MB(64) + STRIPE(i), key) >= level)
				pageset_let_go(s, b, i % 8, ~0ull);
		}
	}
	CHECK(sum > 0.98 * truth && sum < 1.02 * truth);
	pageset_free(s);
	return 0;
}

static int shares(void)
{
	char b[TEXT_SAMPLES_MAX];

	CHECK(!strcmp(text_samples(b, "0 1 3 39"),
		      "1/8 of large memory in 39 of 40 intervals"));
	CHECK(!strcmp(text_samples(b, "0 3 2 1 6 36"),
		      "1/4 to 1/64 of large memory in 37 of 40 intervals"));
	CHECK(!*text_samples(b, "0 40") && !*text_samples(b, NULL));
	CHECK(!*text_samples(b, "") && !*text_samples(b, "3 x") &&
	      !*text_samples(b, "3 1 4") && !*text_samples(b, "99 1"));
	return 0;
}

static int lasts(uint64_t ns, const char *want)
{
	char b[TEXT_MAX];

	if (!strcmp(text_duration(b, ns), want))
		return 1;
	printf("'%s' is not '%s'\n", b, want);
	return 0;
}

/* Rounding goes on to the next unit; what is below 1 ns is not told as 0. */
static int durations(void)
{
	char b[TEXT_MAX];

	CHECK(lasts(0, "0 ns") && lasts(999, "999 ns") && lasts(1000, "1 us"));
	CHECK(lasts(999499, "999 us") && lasts(999500, "1 ms"));
	CHECK(lasts(999999, "1 ms") && lasts(45600000, "45.6 ms"));
	CHECK(lasts(999499999, "999 ms") && lasts(999500000, "1.00 s"));
	CHECK(lasts(999999999, "1.00 s") && lasts(2500000000, "2.50 s"));
	CHECK(lasts(119994999999, "119.99 s"));
	CHECK(lasts(119995000000, "2 min 00 s"));
	CHECK(lasts(119999999999, "2 min 00 s"));
	CHECK(lasts(125000000000, "2 min 05 s"));
	CHECK(!strcmp(text_mean(b, 48789969, 487899696), "0.1 ns"));
	CHECK(!strcmp(text_mean(b, 32, 10), "3.2 ns"));
	CHECK(!strcmp(text_mean(b, 1, 1000000), "0.01 ns"));
	CHECK(!strcmp(text_mean(b, 0, 5), "0 ns"));
	CHECK(!strcmp(text_mean(b, 99, 10), "9.9 ns"));
	CHECK(!strcmp(text_mean(b, 1250000, 10), "125 us"));
	return 0;
}

/* What is told of a ratio keeps its bounds: none is cut off, or left out. */
static int ratios(void)
{
	char b[TEXT_MAX];

	CHECK(!strcmp(text_than(b, 0.77), "23 % less"));
	CHECK(!strcmp(text_than(b, 1.054), "5.4 % more"));
	CHECK(!strcmp(text_than(b, 1.0004), "as much"));
	CHECK(!strcmp(text_than(b, 10), "900 % more"));
	CHECK(!strcmp(text_than(b, 11), "more than 10 times as much"));
	CHECK(!strcmp(text_than(b, HUGE_VAL), "without a bound"));
	return 0;
}

int main(void)
{
	run("sample: ratios as they are told", ratios);
	run("sample: durations as they are told", durations);
	run("sample: one stripe of each group, levels nested", t_groups);
	run("sample: each sweep draws anew", t_draws);
	run("sample: what is small is let go whole", t_small);
	run("sample: of many small areas the smallest", t_many_small);
	run("sample: what processes share counts once", t_distinct);
	run("sample: what a fault stands for", t_weights);
	run("sample: pages of a stripe", t_masks);
	run("sample: sums are those of full sweeps", t_sums);
	run("sample: shares as they are told", shares);
	return failures != 0;
}
