// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/sample.h"

#include <stdio.h>

#include "collect/run/pageset.h"

int sample_is_watched(const struct mm *mm, const struct region *r)
{
	/* Of what is left out, first touches alone are seen. */
	return r->kind != REGION_STACK && r->kind != REGION_UNSEEN &&
	       (r->kind != REGION_PRIVATE || mm->wp_async);
}

int sample_has(const struct recorder *rec, const struct region *r)
{
	/* Of private memory, and what is frozen, entries stay. */
	return (rec->opt->sample_auto || rec->opt->sample_level) &&
	       (r->kind == REGION_MEMFD || r->kind == REGION_SHARED ||
		r->kind == REGION_FILE);
}

/* Blocks without a gap, as far as they are of one region. */
struct clump {
	uint64_t start, end;
	size_t first, last;	/* of the list */
	uint64_t pages;		/* that were touched */
};

struct walk {
	struct mm *mm;
	const struct block_list *l;
	struct region r;
	uint64_t pos;		/* behind r */
	size_t at;		/* the block to be looked at next */
	int within;		/* r has more of them */
};

static uint64_t count_pages(const struct page_block *b, uint64_t start,
			    uint64_t end)
{
	uint64_t n = 0;

	for (unsigned int w = 0; w < BLOCK_WORDS; w++)
		n += (uint64_t)__builtin_popcountll(
			b->seen[w] & pageset_mask(b, w, start, end));
	return n;
}

/* The next region that has a block. */
static int next_region(struct walk *w)
{
	const struct block_list *l = w->l;

	while (moca_regions_next(&w->mm->regions, &w->pos, USER_END, &w->r)) {
		if (!sample_is_watched(w->mm, &w->r) ||
		    w->r.kind == REGION_FROZEN)
			continue;
		while (w->at < l->count &&
		       (l->items[w->at]->number + 1) << BLOCK_SHIFT <=
			       w->r.start)
			w->at++;
		if (w->at == l->count)
			return 0;
		if (l->items[w->at]->number << BLOCK_SHIFT < w->r.end)
			return 1;
	}
	return 0;
}

static int next_clump(struct walk *w, struct clump *c)
{
	const struct block_list *l = w->l;
	uint64_t base;
	size_t i;

	if (!w->within && !next_region(w))
		return 0;
	i = w->at;
	base = l->items[i]->number << BLOCK_SHIFT;
	*c = (struct clump){
		.start = base > w->r.start ? base : w->r.start, .first = i,
	};
	do {
		c->last = i;
		c->end = (l->items[i]->number + 1) << BLOCK_SHIFT;
		c->pages += count_pages(l->items[i], w->r.start, w->r.end);
		i++;
	} while (c->end < w->r.end && i < l->count &&
		 l->items[i]->number == l->items[i - 1]->number + 1);
	w->within = i < l->count &&
		    l->items[i]->number << BLOCK_SHIFT < w->r.end;
	/* The last block may be the next region's as well. */
	w->at = c->end > w->r.end ? i - 1 : i;
	if (c->end > w->r.end) {
		c->end = w->r.end;
		w->within = 0;
	}
	return 1;
}

/* The size up to which clumps are let go whole. */
static uint64_t whole_pages(struct walk w)
{
	uint64_t sums[SAMPLE_WHOLE + 1] = { 0 }, sum = 0, size;
	struct clump c;

	while (next_clump(&w, &c))
		if (c.pages <= SAMPLE_WHOLE)
			sums[c.pages] += c.pages;
	for (size = 0; size <= SAMPLE_WHOLE; size++) {
		sum += sums[size];
		if (sum > SAMPLE_WHOLE_ALL)
			return size - 1;
	}
	return SAMPLE_WHOLE;
}

/* Is stripe w of b sampled, if what it is of is large? */
static int is_drawn(const struct page_block *b, unsigned int w,
		    unsigned int core)
{
	uint64_t addr = (b->number << BLOCK_SHIFT) +
			((uint64_t)w << MOCA_STRIPE_SHIFT);

	return moca_stripe_rank(addr, MOCA_STRIPE_CORE_KEY) < core;
}

void sample_classify(struct mm *mm, const struct block_list *l,
		     unsigned int core)
{
	struct walk w = { .mm = mm, .l = l };
	uint64_t most = whole_pages(w);
	struct clump c;

	for (size_t i = 0; i < l->count; i++)
		l->items[i]->large = 0;
	while (next_clump(&w, &c)) {
		if (c.pages <= most)
			continue;
		for (size_t i = c.first; i <= c.last; i++)
			for (unsigned int s = 0; s < BLOCK_WORDS; s++)
				if (pageset_mask(l->items[i], s, c.start,
						 c.end) &&
				    is_drawn(l->items[i], s, core))
					l->items[i]->large |= 1u << s;
	}
}

void sample_describe(const uint64_t levels[MOCA_STRIPE_RANK_MAX + 1],
		     struct moca_meta *m, char shares[TEXT_SAMPLES_MAX])
{
	char list[32 * (MOCA_STRIPE_RANK_MAX + 1)] = "";
	unsigned int core = 0;
	int len = 0;

	for (unsigned int k = 0; k <= MOCA_STRIPE_RANK_MAX; k++) {
		if (!levels[k])
			continue;
		core = k ? moca_stripe_core(k) : 0;
		len += snprintf(list + len, sizeof(list) - len, "%s%u %lu",
				len ? " " : "", k, levels[k]);
	}
	/* The cores of higher levels are parts of those of lower ones. */
	if (core)
		moca_meta_set(m, "sample_core", "%u", core);
	if (*text_samples(shares, list))
		moca_meta_set(m, "sample.levels", "%s", list);
}
