/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Hash tables with open addressing and linear probing (Knuth, The Art of Computer
 * Programming 6.4, algorithm L). Nothing is ever removed. Two kinds:
 *
 * MOCA_TABLE makes the functions of a table whose entries are the items: as
 * quick as one by hand, for what is looked up at each access.
 *
 * struct moca_index finds items of an array by what they hold. An item's number
 * never changes.
 *
 * Hashes are 64 bits wide, and good: moca_mix() at the end of simple ones.
 */
#ifndef MOCA_BASE_TABLE_H
#define MOCA_BASE_TABLE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Every bit of x changes every bit of the result, nearly (degski's mixer). */
static inline uint64_t moca_mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

/* Of len bytes; several: each with the hash of those before it, first 0. */
uint64_t moca_hash_bytes(uint64_t hash, const void *bytes, size_t len);

/*
 * Memory for what is accessed at random: items of a power of two bytes do not
 * straddle cache lines, and huge pages spare most of the TLB misses. NULL: no
 * memory. Freed by free().
 */
void *moca_huge_alloc(size_t count, size_t size);
/* The same, zeroed. */
void *moca_table_memory(size_t count, size_t size);
/*
 * Bytes from .. to of that memory, or of moca_huge_alloc's, will not be read any more:
 * what of them are whole huge pages goes back at once, so that a copy that is being
 * made does not take as much again. p is still to be freed.
 */
void moca_table_let_go(void *p, size_t from, size_t to);
#define MOCA_TABLE_PIECE ((size_t)4 << 20)	/* bytes to let go at a time */

/*
 * NAME_at(entries, cap, key): the entry that is like *key, or the free one where
 * it would be. cap is a power of two, and not 0. NAME_find has its hash, too.
 * NAME_fit(&entries, &cap, count): room for one entry beside count. 0, or
 * -ENOMEM and nothing has changed. Entries move. The owner counts them.
 *
 * hash(const TYPE *): 64 bits. same(const TYPE *, const TYPE *): are they the
 * same? used(const TYPE *): is it an entry? Not if it is all zeros.
 */
#define MOCA_TABLE(name, type, hash, same, used)			\
	static inline type *name##_find(type *entries, size_t cap,	\
					uint64_t h, const type *key)	\
	{								\
		size_t at = h & (cap - 1);				\
									\
		while (used(&entries[at]) && !same(&entries[at], key))	\
			at = (at + 1) & (cap - 1);			\
		return &entries[at];					\
	}								\
									\
	static inline type *name##_at(type *entries, size_t cap,	\
				      const type *key)			\
	{								\
		return name##_find(entries, cap, hash(key), key);	\
	}								\
									\
	static inline int name##_fit(type **entries, size_t *cap,	\
				     size_t count)			\
	{								\
		size_t i, more = *cap ? 2 * *cap : 8, gone = 0;		\
		type *p;						\
									\
		if (10 * count < 7 * *cap)				\
			return 0;					\
		p = moca_table_memory(more, sizeof(*p));		\
		if (!p)							\
			return -ENOMEM;					\
		for (i = 0; i < *cap; i++) {				\
			if (used(&(*entries)[i]))			\
				*name##_at(p, more, &(*entries)[i]) =	\
					(*entries)[i];			\
			if ((i + 1) * sizeof(*p) - gone <		\
			    MOCA_TABLE_PIECE)				\
				continue;				\
			moca_table_let_go(*entries, gone,		\
					  (i + 1) * sizeof(*p));	\
			gone += MOCA_TABLE_PIECE;			\
		}							\
		free(*entries);						\
		*entries = p;						\
		*cap = more;						\
		return 0;						\
	}								\
	_Static_assert(sizeof(type) > 0, "a type")

/* Where the items of an array are. All zeros: empty. */
struct moca_index {
	uint64_t *slots;	/* half a hash, and the item's number + 1 */
	size_t cap, count;
};

#define MOCA_INDEX_NONE UINT32_MAX

/*
 * Add the item of that number, below MOCA_INDEX_NONE. 0 or -ENOMEM. It is not
 * looked for.
 */
int moca_index_add(struct moca_index *x, uint64_t hash, uint32_t number);
/* Forget all items; memory is kept. */
void moca_index_clear(struct moca_index *x);
void moca_index_free(struct moca_index *x);

/* The next candidate from *at on, which goes on behind it; as below. */
static inline uint32_t moca_index_next(const struct moca_index *x,
				       uint64_t hash, size_t *at)
{
	uint32_t tag = (uint32_t)(hash ^ hash >> 32);
	uint64_t slot;

	if (!x->cap)
		return MOCA_INDEX_NONE;
	while ((slot = x->slots[(tag + (*at)++) & (x->cap - 1)]))
		if (slot >> 32 == tag)
			return (uint32_t)slot - 1;
	return MOCA_INDEX_NONE;
}

/*
 * For each item i (uint32_t) that may have this hash; most often it has, so
 * compare. After break, i is the item; else it is MOCA_INDEX_NONE.
 */
#define moca_index_each(i, x, hash)					\
	for (size_t index_at = 0;					\
	     ((i) = moca_index_next((x), (hash), &index_at)) !=		\
	     MOCA_INDEX_NONE;)

#endif
