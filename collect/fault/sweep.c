// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A sweep: the page-table entries of all traced memory, or of a sample of it
 * (sample.h), are thrown away, in slices that are bounded by the room in the
 * rings.
 */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "collect/fault/collector.h"
#include "collect/fault/freeze.h"
#include "collect/fault/keep.h"
#include "collect/fault/mm.h"
#include "collect/fault/sample.h"
#include "collect/fault/zap.h"
#include "collect/run/pageset.h"
#include "lib/base/stripe.h"
#include "lib/base/vec.h"

/* Pages let go under one hold of mm->lock. */
#define SLICE_PAGES 16384
/* A page may fault twice in an interval: a read, then a first write. */
#define SAMPLES_PER_PAGE 2
/* A request for a zapper that was not heard is made again. */
#define ASK_AGAIN_NS 100000000ull

static void collect_any(struct page_block *b, void *arg)
{
	struct block_list *l = arg;

	if (!moca_vec_fit(l->items, l->room, l->count + 1))
		l->items[l->count++] = b;
}

static void collect_block(struct page_block *b, void *arg)
{
	if (b->present)
		collect_any(b, arg);
}

/* Else a later sample takes them for what it let go. */
static void collect_faulted(struct page_block *b, void *arg)
{
	uint64_t faulted = 0;

	for (unsigned int w = 0; w < BLOCK_WORDS; w++)
		faulted |= b->faulted[w];
	if (b->present || faulted)
		collect_any(b, arg);
}

static int by_number(const void *a, const void *b)
{
	const struct page_block *x = *(struct page_block *const *)a;
	const struct page_block *y = *(struct page_block *const *)b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* What has something to zap; for a sample all. */
static struct block_list list_blocks(const struct recorder *rec, struct mm *mm,
				     int all)
{
	const struct moca_record_options *o = rec->opt;
	struct block_list l = { 0 };

	if (mm->pages)
		pageset_walk(mm->pages, 0, USER_END,
			     all ? collect_any :
			     o->sample_auto || o->sample_level ?
				     collect_faulted : collect_block, &l);
	if (l.count)
		qsort(l.items, l.count, sizeof(*l.items), by_number);
	return l;
}

/* One slice being gathered. */
struct slice {
	unsigned int ranges;
	uint64_t pages;
	size_t block;		/* next of the list */
	uint64_t limit;
	unsigned int level;
	uint64_t key;		/* moca_stripe_key */
	/* Pages that are not let go, sorted. */
	uint64_t hot[2 * HOT_STACKS];
	unsigned int hot_count;
};

static void put_cold_range(struct mm *mm, struct slice *s, uint64_t start,
			   uint64_t end)
{
	struct stub_zap *last;

	if (start >= end)
		return;
	last = s->ranges ? &mm->stub->zap[s->ranges - 1] : NULL;
	if (last && last->addr + last->len == start) {
		last->len += end - start;
		return;
	}
	mm->stub->zap[s->ranges++] = (struct stub_zap){ start, end - start, 0 };
}

/*
 * Without the pages of stacks that unwinding needs: the kernel copies a stack in
 * the fault of another page, when it can wait for none. Where the list has no room,
 * they go as well.
 */
static void put_range(struct mm *mm, struct slice *s, uint64_t start,
		      uint64_t end)
{
	for (unsigned int i = 0; i < s->hot_count; i++) {
		uint64_t hot = s->hot[i];

		if (hot < start || hot >= end ||
		    s->ranges + 2 * BLOCK_WORDS >= STUB_ZAP_MAX)
			continue;
		put_cold_range(mm, s, start, hot);
		start = hot + PAGE_SIZE;
	}
	put_cold_range(mm, s, start, end);
}

static int compare_pages(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The pages that a copy of each task's stack is of, but for deep ones' ends. */
static void find_hot(const struct recorder *rec, const struct mm *mm,
		     struct slice *s)
{
	for (unsigned int i = 0; rec->opt->stack_bytes && i < HOT_STACKS; i++) {
		uint64_t page = mm->hot[i] & ~(PAGE_SIZE - 1);

		if (!mm->hot[i])
			continue;
		s->hot[s->hot_count++] = page;
		s->hot[s->hot_count++] = page + PAGE_SIZE;
	}
	qsort(s->hot, s->hot_count, sizeof(*s->hot), compare_pages);
}

/* Writes to [start, end) shall fault once more. */
static void protect(struct mm *mm, uint64_t start, uint64_t end)
{
	struct uffdio_writeprotect wp = {
		.range = { start, end - start },
		.mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};

	/* Where it was not registered there is nothing to be seen. */
	ioctl(mm->uffd, UFFDIO_WRITEPROTECT, &wp);
}

/* Memory that is not zapped: the writes to its pages of this block. */
static void protect_block(struct mm *mm, const struct region *r, uint64_t base)
{
	uint64_t end = base + (1ull << BLOCK_SHIFT);

	protect(mm, base > r->start ? base : r->start,
		end < r->end ? end : r->end);
}

/* Nothing of r is let go: nothing of it will come back. */
static void forget_present(const struct block_list *l, struct slice *s,
			   const struct region *r)
{
	for (; s->block < l->count; s->block++) {
		struct page_block *b = l->items[s->block];

		if ((b->number + 1) << BLOCK_SHIFT > r->end)
			break;
		if (b->number << BLOCK_SHIFT >= r->start) {
			b->present = 0;
			memset(b->faults, 0, sizeof(b->faults));
		}
	}
}

/*
 * The next region that sweeps let go, from *pos on, which moves behind it: *r,
 * where to begin in it, and s->block, the first block there or behind. 0: there
 * is none.
 */
static int next_watched(struct mm *mm, const struct block_list *l,
			struct slice *s, uint64_t *pos, struct region *r,
			uint64_t *at)
{
	do {
		*at = *pos;
		if (!moca_regions_next(&mm->regions, pos, USER_END, r))
			return 0;
		if (sample_is_watched(mm, r) && r->kind == REGION_FROZEN)
			forget_present(l, s, r);
	} while (!sample_is_watched(mm, r) || r->kind == REGION_FROZEN);
	if (*at < r->start)
		*at = r->start;
	while (s->block < l->count &&
	       (l->items[s->block]->number + 1) << BLOCK_SHIFT <= *at)
		s->block++;
	return 1;
}

/*
 * Gather ranges from *pos on until the slice is full. Moves *pos. Returns 0
 * when the end of the address space is reached.
 */
static int gather(struct mm *mm, const struct block_list *l, struct slice *s,
		  uint64_t *pos)
{
	struct region r;

	while (s->ranges < STUB_ZAP_MAX - 1) {
		uint64_t at;

		if (!next_watched(mm, l, s, pos, &r, &at))
			return 0;
		for (; s->block < l->count; s->block++) {
			struct page_block *b = l->items[s->block];
			uint64_t base = b->number << BLOCK_SHIFT;

			if (base >= r.end)
				break;
			if (s->pages && s->pages + b->present > s->limit) {
				/* Full: go on from here next time. */
				*pos = base > at ? base : at;
				if (r.kind != REGION_PRIVATE)
					put_range(mm, s, at, *pos);
				return 1;
			}
			if (r.kind == REGION_PRIVATE)
				protect_block(mm, &r, base);
			s->pages += b->present;
			pageset_zapped(b);
			if (base + (1ull << BLOCK_SHIFT) > r.end)
				break;	/* shared with the next region */
		}
		if (r.kind != REGION_PRIVATE)
			put_range(mm, s, at, r.end);
	}
	return 1;
}

static int is_known(const struct page_block *b, unsigned int stripe,
		    uint64_t mask)
{
	return ((b->seen[stripe] | b->prefilled[stripe] | b->exists[stripe]) &
		mask) != 0;
}

/* Of one block of region r, behind `at`, what the sample has. */
static void gather_block(struct mm *mm, struct slice *s, const struct region *r,
			 struct page_block *b, uint64_t at)
{
	uint64_t base = b->number << BLOCK_SHIFT;

	for (unsigned int w = 0; w < BLOCK_WORDS; w++) {
		uint64_t start = base + ((uint64_t)w << MOCA_STRIPE_SHIFT);
		uint64_t end = start + MOCA_STRIPE_BYTES;
		uint64_t mask = pageset_mask(b, w, at, r->end);

		if (!mask || !is_known(b, w, mask) ||
		    (b->large >> w & 1 && moca_stripe_rank(start, s->key) < s->level))
			continue;
		s->pages += pageset_let_go(mm->pages, b, w, mask);
		start = start < at ? at : start;
		end = end > r->end ? r->end : end;
		if (r->kind == REGION_PRIVATE)
			protect(mm, start, end);
		else
			put_range(mm, s, start, end);
	}
}

/* As gather, of a sample. l has all blocks. */
static int gather_sample(struct mm *mm, const struct block_list *l,
			 struct slice *s, uint64_t *pos)
{
	struct region r;

	while (1) {
		uint64_t at;

		if (!next_watched(mm, l, s, pos, &r, &at))
			return 0;
		for (; s->block < l->count; s->block++) {
			struct page_block *b = l->items[s->block];
			uint64_t base = b->number << BLOCK_SHIFT;

			if (base >= r.end)
				break;
			if (s->ranges + BLOCK_WORDS >= STUB_ZAP_MAX ||
			    (s->pages && s->pages + b->present > s->limit)) {
				*pos = base > at ? base : at;
				return 1;
			}
			gather_block(mm, s, &r, b, at);
			if (base + (1ull << BLOCK_SHIFT) > r.end)
				break;	/* shared with the next region */
		}
	}
}

/* Main thread's stack: cannot be zapped, but its writes can be seen. */
static void protect_stack(struct recorder *rec, struct mm *mm)
{
	struct region r;
	uint64_t pos = mm->stack_start;

	if (!rec->opt->stack || !mm->wp_async || !mm->stack_end)
		return;
	while (moca_regions_next(&mm->regions, &pos, mm->stack_end, &r))
		if (r.kind == REGION_STACK)
			protect(mm, r.start, r.end);
}

/* The sweep of mm begins: it can be done. mm->lock held. */
static void begin_sweep(struct recorder *rec, struct mm *mm, struct slice *s,
			const struct block_list *l)
{
	if (mm->pages) {
		pageset_sweep(mm->pages, (uint16_t)(1u << s->level));
		s->key = moca_stripe_key(mm->space.id,
					 pageset_sweeps(mm->pages));
	}
	protect_stack(rec, mm);
	freeze_protect(mm);
	keep_swept(rec, mm);
	if (s->level)
		sample_classify(mm, l, moca_stripe_core(s->level));
}

/* *began: some of it was let go, or nothing had to be. */
static uint64_t sweep_mm(struct recorder *rec, struct collector *c,
			 struct mm *mm, unsigned int level, int *began)
{
	struct block_list l = list_blocks(rec, mm, level != 0);
	uint64_t pos = 0, total = 0;
	struct slice s = { .level = level };
	int more = 1, err = 0;

	*began = 0;
	find_hot(rec, mm, &s);
	while (more) {
		uint64_t room = collector_room(c) / SAMPLES_PER_PAGE / 2;

		s.ranges = 0;
		s.pages = 0;
		s.limit = room < SLICE_PAGES ? room : SLICE_PAGES;
		pthread_mutex_lock(&mm->lock);
		/* The zapper must not read a list that is being written. */
		if (mm->dead || mm->state != MM_MOVED || zap_wait(mm)) {
			pthread_mutex_unlock(&mm->lock);
			err = 1;
			break;
		}
		if (!*began)
			begin_sweep(rec, mm, &s, &l);
		*began = 1;
		more = level ? gather_sample(mm, &l, &s, &pos) :
			       gather(mm, &l, &s, &pos);
		if (s.ranges)
			err = zap_run(mm, s.ranges);
		more = more && !err;
		pthread_mutex_unlock(&mm->lock);
		total += s.pages;
		/* What came back meanwhile must not fill the rings. */
		if (more)
			collector_pump(c);
	}
	if (!level && !err)
		mm->swept = 1;
	free(l.items);
	return total;
}

/* Started for programs that live long enough to be swept. */
void sweep_prepare(struct recorder *rec, uint64_t now_ns)
{
	int asked = 0, free_;

	pthread_mutex_lock(&rec->space_lock);
	for (struct mm *mm = mm_first(rec); mm; mm = mm_next(mm)) {
		if (mm->state != MM_MOVED || mm->zapper || mm->dead ||
		    atomic_load(&mm->no_zapper) ||
		    now_ns < mm->start_ns + rec->opt->interval_ns / 2)
			continue;
		free_ = 0;
		if (now_ns > mm->asked_ns + ASK_AGAIN_NS)
			free_ = atomic_load(&mm->want_zapper);
		if (free_ == 1 ||
		    atomic_compare_exchange_strong(&mm->want_zapper, &free_,
						   1)) {
			asked = 1;
			mm->asked_ns = now_ns;
		}
	}
	pthread_mutex_unlock(&rec->space_lock);
	if (asked)
		pthread_kill(rec->supervisor, SIGURG);
}

void sweep_ask_thaw(struct recorder *rec, uint64_t now_ns)
{
	int asked = 0;

	pthread_mutex_lock(&rec->space_lock);
	for (struct mm *mm = mm_first(rec); mm; mm = mm_next(mm)) {
		struct freeze_state *f = &mm->freeze;
		uint64_t next = atomic_load(&f->next_ns);

		if (!next || now_ns < next || mm->dead)
			continue;
		/* Again when it was not heard. */
		atomic_store(&f->next_ns, now_ns + ASK_AGAIN_NS);
		atomic_store(&f->wanted, 1);
		asked = 1;
	}
	pthread_mutex_unlock(&rec->space_lock);
	if (asked)
		pthread_kill(rec->supervisor, SIGURG);
}

/* The address spaces as they are now; the collector alone frees them. */
static struct mm **list_mms(struct recorder *rec, size_t *count)
{
	struct mm **list, *mm;
	size_t n = 0;

	pthread_mutex_lock(&rec->space_lock);
	for (mm = mm_first(rec); mm; mm = mm_next(mm))
		n++;
	list = calloc(n + 1, sizeof(*list));
	*count = 0;
	for (mm = mm_first(rec); mm && list; mm = mm_next(mm))
		list[(*count)++] = mm;
	pthread_mutex_unlock(&rec->space_lock);
	return list;
}

/*
 * What is in the page tables of a process when it is attached to has no record: all
 * of it is let go once before samples are taken.
 */
static unsigned int level_of(const struct recorder *rec, const struct mm *mm,
			     unsigned int level)
{
	return rec->attach && !mm->swept ? 0 : level;
}

uint64_t sweep_all(struct recorder *rec, struct collector *c,
		   unsigned int level, int *done)
{
	size_t n;
	struct mm **mms = list_mms(rec, &n);
	uint64_t pages, total = 0;
	int began;

	*done = -1;
	for (size_t i = 0; i < n; i++) {
		unsigned int its = level_of(rec, mms[i], level);

		pages = sweep_mm(rec, c, mms[i], its, &began);
		mms[i]->zapped = pages;
		total += pages;
		if (began && *done < (int)its)
			*done = (int)its;
	}
	free(mms);
	return total;
}

/*
 * Pages that a sweep would let go: of all stripes, of those let go whole; of what
 * processes share.
 */
struct expected {
	uint64_t all, whole, shared;
};

static void add_present(struct page_block *b, void *arg)
{
	struct expected *e = arg;

	e->all += b->present;
	for (unsigned int w = 0; w < BLOCK_WORDS; w++)
		if (!(b->large >> w & 1))
			e->whole += b->faults[w];
}

static void add_shared(struct page_block *b, void *arg)
{
	((struct expected *)arg)->shared += b->present;
}

static void expect_shared(struct mm *mm, struct expected *e)
{
	struct region r;
	uint64_t pos = 0;

	pthread_mutex_lock(&mm->lock);
	while (moca_regions_next(&mm->regions, &pos, USER_END, &r))
		if (r.kind == REGION_SHARED)
			pageset_walk(mm->pages, r.start, r.end, add_shared, e);
	pthread_mutex_unlock(&mm->lock);
	/* Blocks at its ends have other pages, too. */
	if (e->shared > e->all)
		e->shared = e->all;
}

/* Of one address space, a sweep of that level. */
static double expect_level(const struct expected *e, unsigned int level)
{
	/* What came since the last sweep is not classified yet. */
	uint64_t most = SAMPLE_WHOLE_ALL + (e->all >> moca_stripe_core(level));
	uint64_t whole = e->whole < most ? e->whole : most;

	whole = whole < e->all ? whole : e->all;
	return whole + ldexp(e->all - whole, -(int)level);
}

void sweep_expect(struct recorder *rec, struct sweep_expected *x)
{
	size_t n;
	struct mm **mms = list_mms(rec, &n);
	uint64_t shared = 0;

	memset(x, 0, sizeof(*x));
	for (size_t i = 0; i < n; i++) {
		struct expected e = { 0 };

		if (mms[i]->state != MM_MOVED || !mms[i]->pages)
			continue;
		pageset_walk(mms[i]->pages, 0, USER_END, add_present, &e);
		expect_shared(mms[i], &e);
		x->distinct += e.all - e.shared;
		if (shared < e.shared)
			shared = e.shared;
		for (unsigned int k = 0; k <= MOCA_STRIPE_RANK_MAX; k++)
			x->pages[k] += expect_level(&e, k) * mms[i]->refault;
	}
	x->distinct += shared;
	free(mms);
}
