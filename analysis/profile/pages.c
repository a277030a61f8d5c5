// SPDX-License-Identifier: GPL-2.0-or-later
/* The pages of all rows: entries that never move, and an index. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "analysis/profile/internal.h"

#define HUGE ((size_t)2 << 20)
#define MEMORY ((size_t)400 << 20)

/* Huge pages: entries are used at random, and TLB misses are dear. */
static void *huge(size_t size)
{
	void *p = aligned_alloc(HUGE, (size + HUGE - 1) & ~(HUGE - 1));

	if (p)
		madvise(p, size, MADV_HUGEPAGE);
	return p;
}

int pages_init(struct pages *p, unsigned lanes)
{
	p->entry = (sizeof(struct page) + 2 * lanes + 7) & ~(size_t)7;
	/* And up to 8 bytes of the index for each, 12 while it grows. */
	p->limit = MEMORY / (p->entry + 12);
	p->index_cap = 4096;
	p->index = calloc(p->index_cap, sizeof(*p->index));
	/* All there may ever be; what is not used takes no memory. */
	p->entries = mmap(NULL, p->limit * p->entry, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p->entries == MAP_FAILED)
		p->entries = NULL;
	else
		madvise(p->entries, p->limit * p->entry, MADV_HUGEPAGE);
	return p->index && p->entries ? 0 : -ENOMEM;
}

void pages_free(struct pages *p)
{
	if (p->entries)
		munmap(p->entries, p->limit * p->entry);
	free(p->index);
	memset(p, 0, sizeof(*p));
}

struct page *pages_at(const struct pages *p, size_t i)
{
	return (struct page *)(void *)(p->entries + i * p->entry);
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
	size_t size = cap * sizeof(uint32_t);
	uint32_t *index = size < HUGE ? malloc(size) : huge(size);
	const struct page *e;

	if (!index)
		return -ENOMEM;
	memset(index, 0, size);
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
	if (p->count == p->limit)
		return NULL;
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
