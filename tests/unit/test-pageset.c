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
	CHECK(!pageset_undone(s, AT(10)) && !pageset_undone(s, AT(20)));
	pageset_walk(s, 0, 1ull << 47, zap, NULL);
	CHECK(pageset_fault(s, AT(30)) == PAGE_TOUCHED);
	CHECK(pageset_undone(s, AT(10)) && !pageset_undone(s, AT(30)));
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
	CHECK(!pageset_undone(s, AT(10)));
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
	int ours;

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
	CHECK(pageset_weigh(s, AT(70), PAGE_COPIED, &ours) == 8 && ours);
	/* A page of the same stripe that had none. */
	CHECK(pageset_fault(s, AT(100)) == PAGE_TOUCHED);
	CHECK(pageset_weigh(s, AT(100), PAGE_TOUCHED, &ours) == 1 && !ours);
	/* No more than there are pages. */
	for (uint64_t p = 0; p < 600; p++)
		pageset_fault(s, AT(p % 64 + 128));
	pageset_prefill(s, AT(192), AT(256), FILLED_SWEPT);
	CHECK(b->present <= BLOCK_PAGES && b->faults[2] == 64 &&
	      b->faults[3] == 64);
	pageset_free(s);
	return 0;
}

int main(void)
{
	run("pageset: touched and seen", t_settle);
	run("pageset: kinds of faults", t_faults);
	run("pageset: filled by the kernel", t_filled);
	run("pageset: two million pages", t_many);
	return failures != 0;
}
