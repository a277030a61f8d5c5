// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/info/page-set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BITS 9	/* 512 pages of 4 KiB */
#define FIRST_SLOTS 4

struct page_block {
	uint64_t number;
	uint32_t owner;
	uint32_t used;
	uint64_t bits[(1 << BLOCK_BITS) / 64];
};

static struct page_block *find(struct page_block *blocks, size_t slots,
			       uint32_t owner, uint64_t number)
{
	uint64_t h = (number ^ ((uint64_t)owner << 40)) * 0x9e3779b97f4a7c15u;
	size_t i = (h ^ h >> 32) & (slots - 1);

	while (blocks[i].used &&
	       (blocks[i].number != number || blocks[i].owner != owner))
		i = (i + 1) & (slots - 1);
	return &blocks[i];
}

static int grow(struct page_set *s)
{
	size_t slots = s->slots ? 2 * s->slots : FIRST_SLOTS, i;
	struct page_block *blocks = calloc(slots, sizeof(*blocks));

	if (!blocks)
		return -ENOMEM;
	for (i = 0; i < s->slots; i++)
		if (s->blocks[i].used)
			*find(blocks, slots, s->blocks[i].owner,
			      s->blocks[i].number) = s->blocks[i];
	free(s->blocks);
	s->blocks = blocks;
	s->slots = slots;
	return 0;
}

int page_set_add(struct page_set *s, uint32_t owner, uint64_t page)
{
	unsigned index = page & ((1u << BLOCK_BITS) - 1);
	uint64_t bit = 1ull << (index % 64);
	struct page_block *b;

	if (4 * (s->used + 1) > 3 * s->slots && grow(s))
		return -ENOMEM;
	b = find(s->blocks, s->slots, owner, page >> BLOCK_BITS);
	if (!b->used) {
		b->used = 1;
		b->owner = owner;
		b->number = page >> BLOCK_BITS;
		s->used++;
	}
	if (b->bits[index / 64] & bit)
		return 0;
	b->bits[index / 64] |= bit;
	s->pages++;
	return 1;
}

int page_set_has(const struct page_set *s, uint32_t owner, uint64_t page)
{
	unsigned index = page & ((1u << BLOCK_BITS) - 1);
	const struct page_block *b;

	if (!s->used)
		return 0;
	b = find(s->blocks, s->slots, owner, page >> BLOCK_BITS);
	return b->used && b->bits[index / 64] >> (index % 64) & 1;
}

void page_set_clear(struct page_set *s)
{
	if (s->used)
		memset(s->blocks, 0, s->slots * sizeof(*s->blocks));
	s->used = 0;
	s->pages = 0;
}

void page_set_free(struct page_set *s)
{
	free(s->blocks);
	memset(s, 0, sizeof(*s));
}
