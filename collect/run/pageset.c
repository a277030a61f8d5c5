// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/pageset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stripe.h"

#define BLOCK_BYTES (1ull << BLOCK_SHIFT)

_Static_assert(MOCA_STRIPE_BYTES == 64 << 12, "a word of a block is a stripe");

struct pageset {
	struct page_block **buckets;
	size_t size;		/* a power of two */
	size_t count;
	struct page_block *last;	/* the one asked for last */
	uint32_t sweep;		/* the number of the last one */
	uint16_t weight;	/* of a page of its sample */
};

struct pageset *pageset_new(void)
{
	struct pageset *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->size = 64;
	s->buckets = calloc(s->size, sizeof(*s->buckets));
	if (!s->buckets) {
		free(s);
		return NULL;
	}
	return s;
}

void pageset_free(struct pageset *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->size; i++)
		while (s->buckets[i]) {
			struct page_block *b = s->buckets[i];

			s->buckets[i] = b->next;
			free(b->nodes);
			free(b);
		}
	free(s->buckets);
	free(s);
}

static size_t bucket_of(const struct pageset *s, uint64_t number)
{
	return (number * 0x9e3779b97f4a7c15ull >> 32) & (s->size - 1);
}

static void grow(struct pageset *s)
{
	struct page_block **old = s->buckets, *b, *next;
	size_t n = s->size;

	s->buckets = calloc(n * 2, sizeof(*s->buckets));
	if (!s->buckets) {
		s->buckets = old;	/* only slower */
		return;
	}
	s->size = n * 2;
	for (size_t i = 0; i < n; i++)
		for (b = old[i]; b; b = next) {
			size_t at = bucket_of(s, b->number);

			next = b->next;
			b->next = s->buckets[at];
			s->buckets[at] = b;
		}
	free(old);
}

struct page_block *pageset_block(struct pageset *s, uint64_t addr, int create)
{
	uint64_t number = addr >> BLOCK_SHIFT;
	struct page_block *b;
	size_t at;

	if (s->last && s->last->number == number)
		return s->last;
	for (b = s->buckets[bucket_of(s, number)]; b; b = b->next)
		if (b->number == number)
			return s->last = b;
	if (!create)
		return NULL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	if (++s->count > s->size)
		grow(s);
	at = bucket_of(s, number);
	b->number = number;
	b->next = s->buckets[at];
	s->buckets[at] = b;
	return s->last = b;
}

static unsigned int page_of(uint64_t addr)
{
	return (addr >> 12) % BLOCK_PAGES;
}

/* One more to let go. */
static void count_entry(struct page_block *b, unsigned int p)
{
	if (b->present < BLOCK_PAGES)
		b->present++;
	if (b->faults[p / 64] < 64)
		b->faults[p / 64]++;
}

int pageset_see(struct pageset *s, uint64_t addr)
{
	struct page_block *b = pageset_block(s, addr, 1);
	unsigned int p = page_of(addr);
	uint64_t bit = 1ull << (p % 64);

	if (!b)
		return -ENOMEM;
	count_entry(b, p);
	if (b->seen[p / 64] & bit)
		return 0;
	b->seen[p / 64] |= bit;
	return 1;
}

enum page_fault pageset_fault(struct pageset *s, uint64_t addr)
{
	struct page_block *b = pageset_block(s, addr, 1);
	unsigned int p = page_of(addr);
	uint64_t bit = 1ull << (p % 64);
	int again, fresh;

	if (!b)
		return PAGE_REPEATED;
	again = (b->faulted[p / 64] & bit) != 0;
	fresh = (b->fresh[p / 64] & bit) != 0;
	b->faulted[p / 64] |= bit;
	b->fresh[p / 64] &= ~bit;
	if (!pageset_see(s, addr))
		return !again ? PAGE_REPEATED :
		       fresh ? PAGE_UNSHARED : PAGE_AGAIN;
	if (b->prefilled[p / 64] & ~b->kept[p / 64] & bit)
		return PAGE_COPIED;
	b->fresh[p / 64] |= bit;
	return b->kept[p / 64] & bit ? PAGE_KEPT : PAGE_TOUCHED;
}

int pageset_undone(struct pageset *s, uint64_t addr)
{
	struct page_block *b = pageset_block(s, addr, 0);
	unsigned int p = page_of(addr);

	return b && b->undone[p / 64] >> (p % 64) & 1;
}

void pageset_zapped(struct page_block *b)
{
	for (int i = 0; i < BLOCK_WORDS; i++)
		b->undone[i] |= b->faulted[i];
	b->present = 0;
	memset(b->faulted, 0, sizeof(b->faulted));
	memset(b->fresh, 0, sizeof(b->fresh));
	memset(b->faults, 0, sizeof(b->faults));
}

void pageset_sweep(struct pageset *s, uint16_t weight)
{
	s->sweep++;
	s->weight = weight;
}

uint32_t pageset_sweeps(const struct pageset *s)
{
	return s->sweep;
}

/* What is known of the last sweep, not of one before it. */
static void renew(const struct pageset *s, struct page_block *b)
{
	if (b->sweep == s->sweep)
		return;
	b->sweep = s->sweep;
	memset(b->gone, 0, sizeof(b->gone));
	memset(b->recent, 0, sizeof(b->recent));
}

unsigned int pageset_let_go(struct pageset *s, struct page_block *b,
			    unsigned int stripe, uint64_t mask)
{
	unsigned int faults = b->faults[stripe], left;

	renew(s, b);
	b->gone[stripe] |= b->faulted[stripe] & mask;
	b->undone[stripe] |= b->faulted[stripe] & mask;
	b->faulted[stripe] &= ~mask;
	b->fresh[stripe] &= ~mask;
	left = (unsigned int)__builtin_popcountll(b->faulted[stripe]);
	b->faults[stripe] = (uint8_t)(left < faults ? left : faults);
	b->present = 0;
	for (int i = 0; i < BLOCK_WORDS; i++)
		b->present += b->faults[i];
	return faults - b->faults[stripe];
}

uint64_t pageset_mask(const struct page_block *b, unsigned int stripe,
		      uint64_t start, uint64_t end)
{
	uint64_t base = (b->number << BLOCK_SHIFT) +
			((uint64_t)stripe << MOCA_STRIPE_SHIFT);
	uint64_t last = base + (MOCA_STRIPE_BYTES), mask = ~0ull;

	if (start >= last || end <= base)
		return 0;
	if (start > base)
		mask <<= (start - base) >> 12;
	if (end < last)
		mask &= ~0ull >> ((last - end) >> 12);
	return mask;
}

uint16_t pageset_weigh(struct pageset *s, uint64_t addr, enum page_fault f,
		       int *ours)
{
	struct page_block *b = pageset_block(s, addr, 0);
	unsigned int p = page_of(addr), w = p / 64;
	uint64_t bit = 1ull << (p % 64), before;
	int later = f == PAGE_AGAIN || f == PAGE_UNSHARED;

	*ours = 1;
	if (s->weight <= 1 || !b)
		return 1;
	renew(s, b);
	before = b->recent[w] & bit;
	b->recent[w] |= bit;
	*ours = (b->gone[w] & bit) != 0;
	if (!(b->large >> w & 1))
		return 1;
	if (*ours)
		return s->weight;
	return !later || before;
}

void pageset_prefill(struct pageset *s, uint64_t start, uint64_t end,
		     enum page_filled filled)
{
	for (; start < end; start += 4096) {
		struct page_block *b = pageset_block(s, start, 1);
		unsigned int p = page_of(start);
		uint64_t bit = 1ull << (p % 64);

		if (!b)
			continue;
		b->prefilled[p / 64] |= bit;
		b->kept[p / 64] &= ~bit;
		if (filled == FILLED_KEPT)
			b->kept[p / 64] |= bit;
		if (filled == FILLED_TOUCHED)
			b->prefilled[p / 64] &= ~bit;
		if (filled >= FILLED_KEPT)
			continue;
		if (filled == FILLED_SWEPT && !(b->faulted[p / 64] & bit))
			count_entry(b, p);
		if (filled != FILLED_DATA)
			b->faulted[p / 64] |= bit;
	}
}

int pageset_node(struct pageset *s, uint64_t addr)
{
	struct page_block *b = pageset_block(s, addr, 0);

	return b && b->nodes ? b->nodes[page_of(addr)] - 1 : -1;
}

void pageset_set_node(struct pageset *s, uint64_t addr, int node)
{
	struct page_block *b = pageset_block(s, addr, 0);

	if (!b || node < 0 || node >= UINT8_MAX)
		return;
	if (!b->nodes)
		b->nodes = calloc(BLOCK_PAGES, 1);
	if (b->nodes)
		b->nodes[page_of(addr)] = (uint8_t)(node + 1);
}

void pageset_exists(struct pageset *s, uint64_t start, uint64_t end)
{
	for (; start < end; start += 4096) {
		struct page_block *b = pageset_block(s, start, 1);
		unsigned int p = page_of(start);

		if (b)
			b->exists[p / 64] |= 1ull << (p % 64);
	}
}

struct blind_args {
	uint64_t start, end, blind, known;
};

static void blind_block(struct page_block *b, void *arg)
{
	uint64_t base = b->number << BLOCK_SHIFT;
	struct blind_args *a = arg;

	for (unsigned int p = 0; p < BLOCK_PAGES; p++) {
		uint64_t addr = base + p * 4096ull, bit = 1ull << (p % 64);

		if (addr < a->start || addr >= a->end)
			continue;
		if (b->seen[p / 64] & bit)
			a->known++;
		else if (b->exists[p / 64] & ~b->prefilled[p / 64] & bit)
			a->blind++;
	}
}

void pageset_blind(struct pageset *s, uint64_t start, uint64_t end,
		   uint64_t *blind, uint64_t *known)
{
	struct blind_args a = { start, end, 0, 0 };

	pageset_walk(s, start, end, blind_block, &a);
	*blind = a.blind;
	*known = a.known;
}

void pageset_settle(struct pageset *s, uint64_t start, uint64_t end,
		    uint64_t *touched, uint64_t *seen)
{
	while (start < end) {
		struct page_block *b = pageset_block(s, start, 0);
		uint64_t next = (start | (BLOCK_BYTES - 1)) + 1;

		if (next > end)
			next = end;
		if (!b)
			*touched += (next - start) >> 12;
		for (; b && start < next; start += 4096) {
			unsigned int p = page_of(start);
			uint64_t bit = 1ull << (p % 64);
			int saw = (b->seen[p / 64] & bit) != 0;

			*seen += saw;
			*touched += saw || !(b->prefilled[p / 64] & bit);
		}
		start = next;
	}
}

struct clear_args {
	uint64_t start, end, seen;
};

static void clear_block(struct page_block *b, void *arg)
{
	uint64_t base = b->number << BLOCK_SHIFT;
	struct clear_args *c = arg;

	if (c->start <= base && base + BLOCK_BYTES <= c->end) {
		for (int i = 0; i < BLOCK_WORDS; i++)
			c->seen += __builtin_popcountll(b->seen[i]);
		memset(b->seen, 0, sizeof(b->seen));
		memset(b->prefilled, 0, sizeof(b->prefilled));
		memset(b->kept, 0, sizeof(b->kept));
		pageset_zapped(b);
		memset(b->undone, 0, sizeof(b->undone));
		memset(b->gone, 0, sizeof(b->gone));
		memset(b->recent, 0, sizeof(b->recent));
		free(b->nodes);
		b->nodes = NULL;
		memset(b->exists, 0, sizeof(b->exists));
		return;
	}
	for (unsigned int p = 0; p < BLOCK_PAGES; p++) {
		uint64_t addr = base + p * 4096ull, bit = 1ull << (p % 64);

		if (addr < c->start || addr >= c->end)
			continue;
		c->seen += (b->seen[p / 64] & bit) != 0;
		b->seen[p / 64] &= ~bit;
		b->prefilled[p / 64] &= ~bit;
		b->kept[p / 64] &= ~bit;
		b->faulted[p / 64] &= ~bit;
		b->fresh[p / 64] &= ~bit;
		b->undone[p / 64] &= ~bit;
		b->gone[p / 64] &= ~bit;
		b->recent[p / 64] &= ~bit;
		if (b->nodes)
			b->nodes[p] = 0;
		b->exists[p / 64] &= ~bit;
	}
}

uint64_t pageset_clear(struct pageset *s, uint64_t start, uint64_t end)
{
	struct clear_args c = { start, end, 0 };

	pageset_walk(s, start, end, clear_block, &c);
	return c.seen;
}

void pageset_walk(struct pageset *s, uint64_t start, uint64_t end,
		  pageset_visit visit, void *arg)
{
	uint64_t first = start >> BLOCK_SHIFT;
	uint64_t last = (end + BLOCK_BYTES - 1) >> BLOCK_SHIFT;

	if (last - first <= s->count) {
		for (uint64_t n = first; n < last; n++) {
			struct page_block *b = pageset_block(
				s, n << BLOCK_SHIFT, 0);

			if (b)
				visit(b, arg);
		}
		return;
	}
	for (size_t i = 0; i < s->size; i++)
		for (struct page_block *b = s->buckets[i]; b; b = b->next)
			if (b->number >= first && b->number < last)
				visit(b, arg);
}
