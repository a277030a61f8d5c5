// SPDX-License-Identifier: GPL-2.0-or-later
/* Sets of pages, and the certificate's arithmetic on them. */
#include "collect/run/pageset.h"
#include "tests/unit/trace-util.h"

#define AT(p) ((uint64_t)(p) << 12)

static int t_settle(void)
{
	struct pageset *s = pageset_new();
	uint64_t touched = 0, seen = 0;

	CHECK(s);
	CHECK(pageset_see(s, AT(10) + 5) == 1);
	CHECK(pageset_see(s, AT(10)) == 0);
	CHECK(pageset_see(s, AT(600)) == 1);	/* another block */
	pageset_prefill(s, AT(11), AT(13), FILLED_DATA);
	CHECK(pageset_see(s, AT(12)) == 1);
	/* 10 seen, 11 only filled, 12 filled and seen, 13 touched unseen. */
	pageset_settle(s, AT(10), AT(14), &touched, &seen);
	CHECK(touched == 3 && seen == 2);
	/* A range without any block counts as touched. */
	pageset_settle(s, AT(1 << 20), AT((1 << 20) + 1000), &touched, &seen);
	CHECK(touched == 1003 && seen == 2);
	CHECK(pageset_clear(s, AT(10), AT(11)) == 1);
	CHECK(pageset_see(s, AT(10)) == 1);
	CHECK(pageset_clear(s, 0, 1ull << 47) == 3);
	pageset_free(s);
	return 0;
}

static void zap(struct page_block *b, void *arg)
{
	(void)arg;
	pageset_zapped(b);
}

/* Has a sweep undone a fault of the page? */
static int is_undone(struct pageset *s, uint64_t addr)
{
	return pageset_record(s, addr, PAGE_AGAIN, 1, 0).undone;
}

/* What a fault costs depends on what it is. */
static int t_faults(void)
{
	struct pageset *s = pageset_new();
	uint64_t touched = 0, seen = 0;

	CHECK(s);
	pageset_prefill(s, AT(20), AT(21), FILLED_DATA);
	CHECK(pageset_fault(s, AT(10)) == PAGE_TOUCHED);
	/* It was read, then; natively that was the page of zeros. */
	CHECK(pageset_fault(s, AT(10) + 8) == PAGE_UNSHARED);
	CHECK(pageset_fault(s, AT(10) + 8) == PAGE_AGAIN);
	CHECK(pageset_fault(s, AT(20)) == PAGE_COPIED);
	CHECK(pageset_fault(s, AT(20)) == PAGE_AGAIN);
	/* No sweep undid a fault so far; of page 30 none ever does. */
	CHECK(!is_undone(s, AT(10)) && !is_undone(s, AT(20)));
	pageset_walk(s, 0, 1ull << 47, zap, NULL);
	CHECK(pageset_fault(s, AT(30)) == PAGE_TOUCHED);
	CHECK(is_undone(s, AT(10)) && !is_undone(s, AT(30)));
	CHECK(pageset_fault(s, AT(10)) == PAGE_REPEATED);
	CHECK(pageset_fault(s, AT(20)) == PAGE_REPEATED);
	CHECK(pageset_fault(s, AT(20)) == PAGE_AGAIN);
	/* Emptied and kept, it is natively a first touch. */
	pageset_clear(s, AT(20), AT(22));
	pageset_prefill(s, AT(20), AT(22), FILLED_KEPT);
	CHECK(pageset_fault(s, AT(20)) == PAGE_KEPT);
	CHECK(pageset_fault(s, AT(20)) == PAGE_UNSHARED);
	pageset_settle(s, AT(20), AT(22), &touched, &seen);
	CHECK(touched == 1 && seen == 1);
	touched = seen = 0;
	pageset_prefill(s, AT(20), AT(22), FILLED_TOUCHED);
	pageset_settle(s, AT(20), AT(22), &touched, &seen);
	CHECK(touched == 2 && seen == 1);
	pageset_clear(s, AT(20), AT(22));
	CHECK(pageset_fault(s, AT(20)) == PAGE_TOUCHED);
	/* Given back, it is empty again. */
	pageset_clear(s, AT(10), AT(11));
	CHECK(!is_undone(s, AT(10)));
	CHECK(pageset_fault(s, AT(10)) == PAGE_TOUCHED);
	pageset_clear(s, AT(10), AT(11));
	CHECK(pageset_fault(s, AT(10)) == PAGE_TOUCHED);
	/* What was zapped in between is seen by its repeated fault. */
	pageset_walk(s, 0, 1ull << 47, zap, NULL);
	CHECK(pageset_fault(s, AT(10)) == PAGE_REPEATED);
	CHECK(pageset_fault(s, AT(10)) == PAGE_AGAIN);
	pageset_clear(s, 0, 1ull << 47);
	CHECK(pageset_fault(s, AT(20)) == PAGE_TOUCHED);
	pageset_free(s);
	return 0;
}

static void count(struct page_block *b, void *arg)
{
	*(unsigned int *)arg += b->present;
}

static int t_many(void)
{
	struct pageset *s = pageset_new();
	unsigned int n = 0;

	CHECK(s);
	/* 8 GiB of pages, in blocks far apart and near. */
	for (uint64_t p = 0; p < 1 << 21; p++)
		CHECK(pageset_see(s, AT(p * 3)) == 1);
	pageset_walk(s, 0, 1ull << 47, count, &n);
	CHECK(n == 1 << 21);
	n = 0;
	pageset_walk(s, 0, AT(512 * 3), count, &n);
	CHECK(n == 512);
	CHECK(pageset_clear(s, 0, 1ull << 47) == 1 << 21);
	pageset_free(s);
	return 0;
}

/* What the kernel put into the page tables is let go as what was touched is. */
static int t_filled(void)
{
	struct pageset *s = pageset_new();
	struct page_block *b;
	struct page_record r;

	CHECK(s);
	pageset_prefill(s, AT(0), AT(4), FILLED_DATA);
	pageset_prefill(s, AT(4), AT(8), FILLED_MAPPED);
	b = pageset_block(s, 0, 0);
	CHECK(b && !b->present && b->faulted[0] == 0xf0);
	CHECK(pageset_fault(s, AT(66)) == PAGE_TOUCHED);
	pageset_prefill(s, AT(64), AT(96), FILLED_SWEPT);
	pageset_prefill(s, AT(64), AT(96), FILLED_SWEPT);
	CHECK(b->present == 32 && b->faults[1] == 32 && !b->faults[0]);
	/* An eighth of it: it stands for all of it, and was counted. */
	b->large = 0xff;
	pageset_sweep(s, 8);
	CHECK(pageset_let_go(s, b, 1, ~0ull) == 32 && !b->present);
	CHECK(pageset_fault(s, AT(70)) == PAGE_COPIED);
	r = pageset_record(s, AT(70), PAGE_COPIED, 1, 0);
	CHECK(r.weight == 8 && r.ours);
	/* A page of the same stripe that had none. */
	CHECK(pageset_fault(s, AT(100)) == PAGE_TOUCHED);
	r = pageset_record(s, AT(100), PAGE_TOUCHED, 1, 0);
	CHECK(r.weight == 1 && !r.ours);
	/* No more than there are pages. */
	for (uint64_t p = 0; p < 600; p++)
		pageset_fault(s, AT(p % 64 + 128));
	pageset_prefill(s, AT(192), AT(256), FILLED_SWEPT);
	CHECK(b->present <= BLOCK_PAGES && b->faults[2] == 64 &&
	      b->faults[3] == 64);
	pageset_free(s);
	return 0;
}

static struct page_record fault(struct pageset *s, uint64_t addr, uint32_t tid,
				int write)
{
	return pageset_record(s, addr, pageset_fault(s, addr), tid, write);
}

/*
 * Behind a recheck, the use of an interval that is known already has no record, that
 * of another task one that no sum counts, and a first write what it would have had.
 */
static int t_recheck(void)
{
	struct pageset *s = pageset_new();
	struct page_block *b;
	struct page_record r;

	CHECK(s);
	for (uint64_t p = 0; p < 4; p++) {
		r = fault(s, AT(p), 1, 0);
		CHECK(r.told && r.weight == 1 && !r.again && !r.found);
	}
	b = pageset_block(s, 0, 0);
	CHECK(pageset_single(b, 0) == 15);
	pageset_sweep(s, 1);
	pageset_zapped(b);
	CHECK(!pageset_single(b, 0));	/* nothing that could be let go */
	for (uint64_t p = 0; p < 4; p++) {
		r = fault(s, AT(p), 1, p == 3);
		CHECK(r.told && r.weight == 1 && r.ours && r.same);
	}
	CHECK(pageset_recheck(s, b, 0, 15) == 4 && !b->present);
	CHECK(b->users->tries[0] == 1 && !b->users->tries[4]);
	r = fault(s, AT(0), 1, 0);
	CHECK(!r.told && r.again && !r.ours && r.same);
	/* Written to now, with or without the recheck. */
	r = fault(s, AT(0), 1, 1);
	CHECK(r.told && r.weight == 1);
	r = fault(s, AT(1), 2, 0);
	CHECK(r.told && !r.weight && r.found && r.again && b->found == 1);
	CHECK(pageset_single(b, 0) == 1);
	r = fault(s, AT(2), 1, 1);
	CHECK(r.told && r.weight == 1);
	/* Its write has a record in this interval. */
	r = fault(s, AT(3), 1, 1);
	CHECK(!r.told);
	/* The next interval is as any other; what is known of users stays. */
	pageset_sweep(s, 1);
	pageset_zapped(b);
	r = fault(s, AT(3), 1, 1);
	CHECK(r.told && r.weight == 1 && r.ours && !r.again);
	r = fault(s, AT(1), 1, 0);
	CHECK(r.told && r.weight == 1 && !r.found && !r.same);
	CHECK(pageset_single(b, 0) == 8 && !b->users->tries[0]);
	/* Given back, nobody is known to use it. */
	pageset_clear(s, AT(1), AT(2));
	r = fault(s, AT(1), 2, 0);
	CHECK(!r.found && pageset_single(b, 0) == 10);
	pageset_free(s);
	return 0;
}

/* A page that the sample does not have counts no more for being rechecked. */
static int t_recheck_sampled(void)
{
	struct pageset *s = pageset_new();
	struct page_block *b;
	struct page_record r;

	CHECK(s);
	for (uint64_t p = 0; p < 128; p++)
		fault(s, AT(p), 1, 0);
	b = pageset_block(s, 0, 0);
	b->large = 0xff;
	pageset_sweep(s, 4);
	CHECK(pageset_let_go(s, b, 0, ~0ull) == 64);
	CHECK(pageset_recheck(s, b, 1, 3) == 2 && b->present == 62);
	r = fault(s, AT(64), 2, 1);
	CHECK(r.told && !r.weight && r.found);
	r = fault(s, AT(65), 1, 1);
	CHECK(r.told && !r.weight);
	/* Of the sample: a write behind the read weighs what that does. */
	CHECK(fault(s, AT(0), 1, 0).weight == 4);
	CHECK(pageset_recheck(s, b, 0, 1) == 1);
	r = fault(s, AT(0), 1, 1);
	CHECK(r.told && r.weight == 4);
	pageset_free(s);
	return 0;
}

int main(void)
{
	run("pageset: touched and seen", t_settle);
	run("pageset: kinds of faults", t_faults);
	run("pageset: filled by the kernel", t_filled);
	run("pageset: rechecks", t_recheck);
	run("pageset: rechecks beside a sample", t_recheck_sampled);
	run("pageset: two million pages", t_many);
	return failures != 0;
}
