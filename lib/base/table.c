// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/table.h"

#include <string.h>
#include <sys/mman.h>

#define HUGE_BYTES ((size_t)2 << 20)
#define LINE_BYTES ((size_t)64)

/* FNV-1a, by Fowler, Noll and Vo. */
uint64_t moca_hash_bytes(uint64_t hash, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	hash ^= 0xcbf29ce484222325ull;
	while (len--)
		hash = (hash ^ *p++) * 0x100000001b3ull;
	return moca_mix(hash);
}

void *moca_huge_alloc(size_t count, size_t size)
{
	size_t align, bytes;
	void *p;

	if (__builtin_mul_overflow(count, size, &bytes) ||
	    bytes > PTRDIFF_MAX - HUGE_BYTES)
		return NULL;
	align = bytes < HUGE_BYTES ? LINE_BYTES : HUGE_BYTES;
	bytes = (bytes + align - 1) & ~(align - 1);
	p = aligned_alloc(align, bytes);
	if (p && align == HUGE_BYTES)
		madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

void *moca_table_memory(size_t count, size_t size)
{
	void *p = moca_huge_alloc(count, size);
	size_t bytes = count * size;

	/* What the kernel gives is zeroed; what is not touched takes no memory. */
	if (p && bytes >= HUGE_BYTES) {
		bytes = (bytes + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1);
		if (!madvise(p, bytes, MADV_DONTNEED))
			return p;
	}
	return p ? memset(p, 0, count * size) : NULL;
}

void moca_table_let_go(void *p, size_t from, size_t to)
{
	uintptr_t begin = (uintptr_t)p + from, end = (uintptr_t)p + to;

	begin = (begin + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1);
	end &= ~(HUGE_BYTES - 1);
	if (begin < end)
		madvise((void *)begin, end - begin, MADV_DONTNEED);
}

static void put(uint64_t *slots, size_t cap, uint64_t slot)
{
	size_t at = (size_t)(slot >> 32);

	while (slots[at & (cap - 1)])
		at++;
	slots[at & (cap - 1)] = slot;
}

int moca_index_add(struct moca_index *x, uint64_t hash, uint32_t number)
{
	uint64_t tag = (uint32_t)(hash ^ hash >> 32), *p;
	size_t i, cap = x->cap ? 2 * x->cap : 16;

	if (number == MOCA_INDEX_NONE)
		return -ENOMEM;
	if (2 * x->count >= x->cap) {
		p = moca_table_memory(cap, sizeof(*p));
		if (!p)
			return -ENOMEM;
		for (i = 0; i < x->cap; i++)
			if (x->slots[i])
				put(p, cap, x->slots[i]);
		free(x->slots);
		x->slots = p;
		x->cap = cap;
	}
	put(x->slots, x->cap, tag << 32 | (number + 1));
	x->count++;
	return 0;
}

void moca_index_clear(struct moca_index *x)
{
	if (x->count)
		memset(x->slots, 0, x->cap * sizeof(*x->slots));
	x->count = 0;
}

void moca_index_free(struct moca_index *x)
{
	free(x->slots);
	*x = (struct moca_index){ 0 };
}
