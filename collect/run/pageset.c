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
			free(b->users);
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
	memset(b->rechecked, 0, sizeof(b->rechecked));
	memset(b->wrote, 0, sizeof(b->wrote));
	if (b->users)
		memset(b->users->tries, 0, sizeof(b->users->tries));
}

/* Of pages that lose their entries: returns how many faults they had, to 64. */
static unsigned int empty(struct page_block *b, unsigned int stripe,
			  uint64_t mask)
{
	unsigned int faults = b->faults[stripe], left;

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

unsigned int pageset_let_go(struct pageset *s, struct page_block *b,
			    unsigned int stripe, uint64_t mask)
{
	renew(s, b);
	b->gone[stripe] |= b->faulted[stripe] & mask;
	return empty(b, stripe, mask);
}

unsigned int pageset_recheck(struct pageset *s, struct page_block *b,
			     unsigned int stripe, uint64_t mask)
{
	renew(s, b);
	b->rechecked[stripe] |= mask;
	for (uint64_t m = mask; m && b->users; m &= m - 1) {
		uint8_t *n = &b->users->tries[stripe * 64 +
					      (unsigned int)__builtin_ctzll(m)];

		*n = (uint8_t)(*n + (*n < UINT8_MAX));
	}
	empty(b, stripe, mask);
	return (unsigned int)__builtin_popcountll(mask);
}

uint64_t pageset_single(const struct page_block *b, unsigned int stripe)
{
	return b->users ? b->faulted[stripe] & b->seen[stripe] &
				  ~b->several[stripe] : 0;
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

/* 1: by a task that is not known to have used the page before. */
static int is_new_user(struct page_block *b, unsigned int p, uint32_t tid)
{
	uint16_t user = (uint16_t)(tid % UINT16_MAX + 1), *first;

	if (!b->users)
		b->users = calloc(1, sizeof(*b->users));
	if (!b->users)
		return 0;
	first = &b->users->task[p];
	if (!*first)
		*first = user;
	return *first != user;
}

struct page_record pageset_record(struct pageset *s, uint64_t addr,
				  enum page_fault f, uint32_t tid, int write)
{
	struct page_block *b = pageset_block(s, addr, 0);
	unsigned int p = page_of(addr), w = p / 64;
	uint64_t bit = 1ull << (p % 64);
	struct page_record r = { .weight = 1, .ours = 1, .told = 1 };
	int later = f == PAGE_AGAIN || f == PAGE_UNSHARED, other, first_write;
	uint16_t full = 1;

	if (!b)
		return r;
	r.undone = (b->undone[w] & bit) != 0;
	renew(s, b);
	other = is_new_user(b, p, tid);
	r.found = other && !(b->several[w] & bit);
	if (other)
		b->several[w] |= bit;
	r.same = !r.found && !(b->several[w] & bit) && f == PAGE_REPEATED;
	b->found += (uint32_t)r.found;
	first_write = write && !(b->wrote[w] & bit);
	if (write)
		b->wrote[w] |= bit;
	if (s->weight > 1) {
		r.ours = (b->gone[w] & bit) != 0;
		if (r.ours && b->large >> w & 1)
			full = s->weight;
	}
	r.weight = full;
	if (b->rechecked[w] & bit) {
		r.ours = 0;
		r.again = 1;
		r.told = other || first_write;
		/* A write behind a read would have shown without the recheck. */
		if (!first_write || !(b->recent[w] & bit))
			r.weight = 0;
		return r;
	}
	if (s->weight > 1 && b->large >> w & 1 && !r.ours && later &&
	    !(b->recent[w] & bit))
		r.weight = 0;
	b->recent[w] |= bit;
	return r;
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
		memset(b->rechecked, 0, sizeof(b->rechecked));
		memset(b->wrote, 0, sizeof(b->wrote));
		memset(b->several, 0, sizeof(b->several));
		free(b->users);
		b->users = NULL;
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
		b->rechecked[p / 64] &= ~bit;
		b->wrote[p / 64] &= ~bit;
		b->several[p / 64] &= ~bit;
		if (b->users)
			b->users->task[p] = 0;
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
