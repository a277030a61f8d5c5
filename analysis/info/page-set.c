// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/info/page-set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/table.h"

#define BLOCK_BITS 9	/* 512 pages of 4 KiB */

struct page_block {
	uint64_t number;
	uint32_t owner;
	uint32_t used;
	uint64_t bits[(1 << BLOCK_BITS) / 64];
};

static uint64_t hash_block(const struct page_block *b)
{
	uint64_t h = (b->number ^ ((uint64_t)b->owner << 40)) *
		     0x9e3779b97f4a7c15u;

	return h ^ h >> 32;
}

static int same_block(const struct page_block *a, const struct page_block *b)
{
	return a->number == b->number && a->owner == b->owner;
}

static int used_block(const struct page_block *b)
{
	return b->used != 0;
}

MOCA_TABLE(blocks, struct page_block, hash_block, same_block, used_block);

static struct page_block *find(const struct page_set *s, uint32_t owner,
			       uint64_t number)
{
	const struct page_block key = { .number = number, .owner = owner };

	return blocks_at(s->blocks, s->slots, &key);
}

int page_set_add(struct page_set *s, uint32_t owner, uint64_t page)
{
	unsigned index = page & ((1u << BLOCK_BITS) - 1);
	uint64_t bit = 1ull << (index % 64);
	struct page_block *b;

	if (blocks_fit(&s->blocks, &s->slots, s->used))
		return -ENOMEM;
	b = find(s, owner, page >> BLOCK_BITS);
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
	b = find(s, owner, page >> BLOCK_BITS);
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
