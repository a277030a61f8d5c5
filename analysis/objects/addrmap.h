/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A map from every byte of a 64-bit address space to an id: a radix tree over
 * pages of 4,096 bytes, 512 to a node. An aligned run of one id is one slot,
 * however long; a page with several ids has the list of its pieces. Nodes and
 * lists are shared between copies and duplicated when one of them changes: so a
 * fork costs nothing.
 *
 * Not thread-safe, as copies share nodes.
 */
#ifndef MOCA_OBJECTS_ADDRMAP_H
#define MOCA_OBJECTS_ADDRMAP_H

#include <stddef.h>
#include <stdint.h>

#define MOCA_ADDRPOOL_CLASSES 16

/*
 * Where maps have their memory: in huge pages, as it is accessed at random. And
 * what they may take together, since a hostile trace scatters its addresses.
 * Zero-initialise, with limit set.
 */
struct moca_addrpool {
	size_t bytes;		/* in use */
	size_t limit;		/* 0 = none */
	void *slabs;		/* a chain */
	char *at;		/* free in the last slab, */
	size_t left;		/* so many bytes */
	void *free[MOCA_ADDRPOOL_CLASSES];	/* given back, by size */
};

/* All maps must be cleared before. */
void moca_addrpool_free(struct moca_addrpool *pool);

/* Zero-initialise, with pool set. */
struct moca_addrmap {
	uint64_t root;
	unsigned height;	/* levels of nodes */
	struct moca_addrpool *pool;
};

/* to, which must be empty, becomes a copy. */
void moca_addrmap_copy(struct moca_addrmap *to, const struct moca_addrmap *from);
void moca_addrmap_clear(struct moca_addrmap *m);

/*
 * Bytes first to last (inclusive; first <= last) get that id; 0 takes them out.
 * 0; -ENOMEM; -E2BIG, beyond the pool's limit: a part may have been changed.
 */
int moca_addrmap_set(struct moca_addrmap *m, uint64_t first, uint64_t last,
		     uint32_t id);
/* The first piece at or above from, up to last: its ends and id. 1 or 0. */
int moca_addrmap_next(const struct moca_addrmap *m, uint64_t from,
		      uint64_t last, uint64_t *begin, uint64_t *end,
		      uint32_t *id);

/*
 * For the many: the slot of addr's page, or one further up, or NULL; to be
 * prefetched and then passed to _at, both before the next change.
 */
const uint64_t *moca_addrmap_slot(const struct moca_addrmap *m, uint64_t addr);
/*
 * The same of many addresses: most are where the one before was. Zero-initialise, and
 * no change of any map in between.
 */
struct moca_addrnear {
	const struct moca_addrmap *map;
	uint64_t addr;
	const uint64_t *slot;	/* further up, of both; NULL: none */
};
const uint64_t *moca_addrmap_slot_near(const struct moca_addrmap *m,
				       uint64_t addr,
				       struct moca_addrnear *near);
uint32_t moca_addrmap_pieces_at(uint64_t slot, uint64_t addr);

/* Of a slot: the id at addr; 0 = none. */
static inline uint32_t moca_addrmap_at(uint64_t slot, uint64_t addr)
{
	return slot & 1 ? (uint32_t)(slot >> 1) :
	       slot	? moca_addrmap_pieces_at(slot, addr) : 0;
}

/* The second step of a prefetch: what a slot points to. */
static inline void moca_addrmap_prefetch(uint64_t slot)
{
	if (slot && !(slot & 1))
		__builtin_prefetch((const void *)(uintptr_t)(slot & ~3ull));
}

/* Does the page of that slot have more than one id, or one in a part of it? */
static inline int moca_addrmap_mixed(uint64_t slot)
{
	return slot && !(slot & 1);
}

static inline uint32_t moca_addrmap_find(const struct moca_addrmap *m,
					 uint64_t addr)
{
	const uint64_t *slot = moca_addrmap_slot(m, addr);

	return slot ? moca_addrmap_at(*slot, addr) : 0;
}

#endif
