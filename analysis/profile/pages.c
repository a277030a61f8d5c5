// SPDX-License-Identifier: GPL-2.0-or-later
/* The pages of all rows: entries in blocks that never move, and an index. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/internal.h"

#define BLOCK 16384u		/* entries */
#define MEMORY ((size_t)400 << 20)

int pages_init(struct pages *p, unsigned lanes)
{
	p->entry = (sizeof(struct page) + 2 * lanes + 7) & ~(size_t)7;
	/* And up to 8 bytes of the index for each, 12 while it grows. */
	p->limit = MEMORY / (p->entry + 12) / BLOCK * BLOCK;
	p->index_cap = 4096;
	p->index = calloc(p->index_cap, sizeof(*p->index));
	p->blocks = calloc(p->limit / BLOCK, sizeof(*p->blocks));
	return p->index && p->blocks ? 0 : -ENOMEM;
}

void pages_free(struct pages *p)
{
	size_t i;

	for (i = 0; p->blocks && i < (p->count + BLOCK - 1) / BLOCK; i++)
		free(p->blocks[i]);
	free(p->blocks);
	free(p->index);
	memset(p, 0, sizeof(*p));
}

struct page *pages_at(const struct pages *p, size_t i)
{
	return (struct page *)(void *)(p->blocks[i / BLOCK] +
				       i % BLOCK * p->entry);
}

uint64_t pages_hash(uint32_t key, uint32_t space, uint64_t number)
{
	uint64_t h = ((uint64_t)key << 32 | space) * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 29 ^ number) * 0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}

void pages_prefetch_index(const struct pages *p, uint64_t hash)
{
	__builtin_prefetch(&p->index[hash & (p->index_cap - 1)]);
}

void pages_prefetch_entry(const struct pages *p, uint64_t hash)
{
	uint32_t i = p->index[hash & (p->index_cap - 1)];
	char *e;

	if (!i)
		return;
	e = (char *)pages_at(p, i - 1);
	__builtin_prefetch(e, 1);
	__builtin_prefetch(e + p->entry - 1, 1);
}

static int grow(struct pages *p)
{
	size_t cap = 2 * p->index_cap, i, at;
	uint32_t *index = calloc(cap, sizeof(*index));
	const struct page *e;

	if (!index)
		return -ENOMEM;
	for (i = 0; i < p->count; i++) {
		e = pages_at(p, i);
		at = pages_hash(e->key, e->space, e->number) & (cap - 1);
		while (index[at])
			at = (at + 1) & (cap - 1);
		index[at] = (uint32_t)i + 1;
	}
	free(p->index);
	p->index = index;
	p->index_cap = cap;
	return 0;
}

static struct page *add(struct pages *p, size_t at)
{
	char **block = &p->blocks[p->count / BLOCK];

	if (p->count == p->limit)
		return NULL;
	if (!*block) {
		*block = calloc(BLOCK, p->entry);
		if (!*block)
			return NULL;
	}
	p->index[at] = (uint32_t)++p->count;
	return pages_at(p, p->count - 1);
}

struct page *pages_get(struct pages *p, uint64_t hash, uint32_t key,
		       uint32_t space, uint64_t number)
{
	struct page *e;
	size_t at;

	if (10 * p->count >= 7 * p->index_cap && grow(p))
		return NULL;
	at = hash & (p->index_cap - 1);
	for (; p->index[at]; at = (at + 1) & (p->index_cap - 1)) {
		e = pages_at(p, p->index[at] - 1);
		if (e->number == number && e->key == key && e->space == space)
			return e;
	}
	e = add(p, at);
	if (!e)
		return NULL;
	e->number = number;
	e->key = key;
	e->space = space;
	return e;
}
