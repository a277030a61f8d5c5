// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/objects/addrmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BITS 9
#define SLOTS (1u << BITS)
#define PAGE_BITS 12
#define PAGE_SIZE 4096u
#define SLAB ((size_t)2 << 20)
#define ALIGNMENT ((size_t)16)

/*
 * A slot is 0 (nothing), id << 1 | 1 (all of it is of that id), a struct pieces
 * with bit 1 set (only of a page), or a struct node.
 */
struct node {
	uint32_t refs;
	uint32_t used;		/* slots that are not 0 */
	uint64_t slots[SLOTS];
};

struct piece {
	uint16_t first;		/* byte in the page, inclusive */
	uint16_t last;
	uint32_t id;
};

struct pieces {
	uint32_t refs;
	uint16_t count;
	uint16_t class;		/* there is room for 2^class */
	struct piece p[];	/* disjoint, sorted */
};

static int is_id(uint64_t slot)
{
	return slot & 1;
}

static int is_pieces(uint64_t slot)
{
	return (slot & 3) == 2;
}

static int is_node(uint64_t slot)
{
	return slot && !(slot & 3);
}

static struct node *to_node(uint64_t slot)
{
	return (struct node *)(uintptr_t)slot;
}

static struct pieces *to_pieces(uint64_t slot)
{
	return (struct pieces *)(uintptr_t)(slot & ~3ull);
}

static uint64_t id_slot(uint32_t id)
{
	return id ? (uint64_t)id << 1 | 1 : 0;
}

static uint64_t pieces_slot(struct pieces *p)
{
	return (uintptr_t)p | 2;
}

static size_t pieces_size(size_t cap)
{
	return sizeof(struct pieces) + cap * sizeof(struct piece);
}

/* Class 0 is of nodes, class i of pieces, 2^i of them. */
static size_t class_size(unsigned class)
{
	return class ? pieces_size((size_t)1 << class) : sizeof(struct node);
}

/* One of SLAB bytes more, aligned so that it can be a huge page. */
static int pool_grow(struct moca_addrpool *pool)
{
	char *p = aligned_alloc(SLAB, SLAB);

	if (!p)
		return -ENOMEM;
	madvise(p, SLAB, MADV_HUGEPAGE);
	*(void **)p = pool->slabs;
	pool->slabs = p;
	pool->at = p + ALIGNMENT;
	pool->left = SLAB - ALIGNMENT;
	return 0;
}

/* Not zeroed. *err is 0, -ENOMEM or -E2BIG. */
static void *pool_alloc(struct moca_addrpool *pool, unsigned class, int *err)
{
	size_t size = class_size(class);
	size_t room = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
	void *p = pool->free[class];

	*err = 0;
	if (pool->limit && pool->bytes + size > pool->limit) {
		*err = -E2BIG;
		return NULL;
	}
	if (p) {
		pool->free[class] = *(void **)p;
	} else {
		if (pool->left < room && pool_grow(pool)) {
			*err = -ENOMEM;
			return NULL;
		}
		p = pool->at;
		pool->at += room;
		pool->left -= room;
	}
	pool->bytes += size;
	return p;
}

static void pool_release(struct moca_addrpool *pool, void *p, unsigned class)
{
	*(void **)p = pool->free[class];
	pool->free[class] = p;
	pool->bytes -= class_size(class);
}

void moca_addrpool_free(struct moca_addrpool *pool)
{
	void *next, *p;

	for (p = pool->slabs; p; p = next) {
		next = *(void **)p;
		free(p);
	}
	*pool = (struct moca_addrpool){ 0 };
}

static void hold(uint64_t slot)
{
	if (is_node(slot))
		to_node(slot)->refs++;
	else if (is_pieces(slot))
		to_pieces(slot)->refs++;
}

static void release(struct moca_addrpool *pool, uint64_t slot)
{
	struct pieces *p;
	struct node *n;
	unsigned i;

	if (is_pieces(slot)) {
		p = to_pieces(slot);
		if (!--p->refs)
			pool_release(pool, p, p->class);
	} else if (is_node(slot)) {
		n = to_node(slot);
		if (--n->refs)
			return;
		for (i = 0; n->used && i < SLOTS; i++) {
			if (!n->slots[i])
				continue;
			release(pool, n->slots[i]);
			n->used--;
		}
		pool_release(pool, n, 0);
	}
}

void moca_addrmap_copy(struct moca_addrmap *to, const struct moca_addrmap *from)
{
	*to = *from;
	hold(to->root);
}

void moca_addrmap_clear(struct moca_addrmap *m)
{
	release(m->pool, m->root);
	m->root = 0;
	m->height = 0;
}

/* Bytes below one slot of a node at that level, less one. */
static uint64_t span(unsigned level)
{
	unsigned bits = PAGE_BITS + BITS * level;

	return bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
}

static unsigned slot_index(uint64_t addr, unsigned level)
{
	return addr >> (PAGE_BITS + BITS * level) & (SLOTS - 1);
}

/* A list of pieces of our own with room for two more, in place of slot's. */
static int own_pieces(struct moca_addrpool *pool, uint64_t *slot,
		      struct pieces **out)
{
	struct pieces *old = is_pieces(*slot) ? to_pieces(*slot) : NULL;
	struct pieces *p;
	unsigned class = 2;
	int err;

	if (old && old->refs == 1 && old->count + 2u <= 1u << old->class) {
		*out = old;
		return 0;
	}
	while (old && 1u << class < old->count + 2u)
		class++;
	p = pool_alloc(pool, class, &err);
	if (!p)
		return err ? err : -ENOMEM;
	p->refs = 1;
	p->count = 0;
	p->class = (uint16_t)class;
	if (old) {
		p->count = old->count;
		memcpy(p->p, old->p, old->count * sizeof(*p->p));
	} else if (is_id(*slot)) {
		p->count = 1;
		p->p[0] = (struct piece){ 0, PAGE_SIZE - 1,
					  (uint32_t)(*slot >> 1) };
	}
	release(pool, *slot);
	*slot = pieces_slot(p);
	*out = p;
	return 0;
}

/* The first piece that ends at or behind offset. */
static size_t piece_at(const struct pieces *p, unsigned offset)
{
	size_t lo = 0, hi = p->count, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (p->p[mid].last < offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Neighbours of one id become one. *n pieces at v. */
static void join(struct piece *v, size_t *n)
{
	size_t i, out = 0;

	for (i = 1; i < *n; i++) {
		if (v[i].id == v[out].id && v[out].last + 1 == v[i].first)
			v[out].last = v[i].last;
		else
			v[++out] = v[i];
	}
	if (*n)
		*n = out + 1;
}

/* Bytes first to last of one page. */
static int set_pieces(struct moca_addrpool *pool, uint64_t *slot,
		      unsigned first, unsigned last, uint32_t id)
{
	struct piece now[5];	/* neighbours, what sticks out, the new */
	struct pieces *p;
	size_t i, j, n = 0;
	int err;

	err = own_pieces(pool, slot, &p);
	if (err)
		return err;
	i = piece_at(p, first);
	for (j = i; j < p->count && p->p[j].first <= last; j++)
		;
	if (i < j && p->p[i].first < first) {
		now[n] = p->p[i];
		now[n++].last = (uint16_t)(first - 1);
	} else if (i) {
		now[n++] = p->p[--i];
	}
	if (id)
		now[n++] = (struct piece){ (uint16_t)first, (uint16_t)last,
					   id };
	if (j > i && p->p[j - 1].last > last) {
		now[n] = p->p[j - 1];
		now[n++].first = (uint16_t)(last + 1);
	} else if (j < p->count) {
		now[n++] = p->p[j++];
	}
	join(now, &n);
	memmove(&p->p[i + n], &p->p[j], (p->count - j) * sizeof(*p->p));
	memcpy(&p->p[i], now, n * sizeof(*p->p));
	p->count = (uint16_t)(p->count - (j - i) + n);
	if (!p->count || (p->count == 1 && !p->p[0].first &&
			  p->p[0].last == PAGE_SIZE - 1)) {
		uint64_t whole = p->count ? id_slot(p->p[0].id) : 0;

		release(pool, *slot);
		*slot = whole;
	}
	return 0;
}

static struct node *node_new(struct moca_addrpool *pool, int *err)
{
	struct node *n = pool_alloc(pool, 0, err);

	if (!n)
		return NULL;
	memset(n, 0, sizeof(*n));
	n->refs = 1;
	return n;
}

/* A node of our own in the slot, with what the slot had. */
static int own_node(struct moca_addrpool *pool, uint64_t *slot)
{
	struct node *n, *old;
	unsigned i;
	int err;

	if (is_node(*slot) && to_node(*slot)->refs == 1)
		return 0;
	n = node_new(pool, &err);
	if (!n)
		return err;
	if (is_node(*slot)) {
		old = to_node(*slot);
		n->used = old->used;
		memcpy(n->slots, old->slots, sizeof(n->slots));
		for (i = 0; i < SLOTS; i++)
			hold(n->slots[i]);
		old->refs--;
	} else if (*slot) {
		for (i = 0; i < SLOTS; i++)
			n->slots[i] = *slot;
		n->used = SLOTS;
	}
	*slot = (uintptr_t)n;
	return 0;
}

/* The slot covers bytes base to base + span(level). */
static int set(struct moca_addrpool *pool, uint64_t *slot, unsigned level,
	       uint64_t base, uint64_t first, uint64_t last, uint32_t id)
{
	uint64_t end = base + span(level), child = span(level - 1);
	struct node *n;
	unsigned i, stop;
	int err, was;

	if (first <= base && last >= end) {
		release(pool, *slot);
		*slot = id_slot(id);
		return 0;
	}
	if (*slot == id_slot(id))
		return 0;
	if (first < base)
		first = base;
	if (last > end)
		last = end;
	if (!level)
		return set_pieces(pool, slot, (unsigned)(first - base),
				  (unsigned)(last - base), id);
	err = own_node(pool, slot);
	if (err)
		return err;
	n = to_node(*slot);
	stop = slot_index(last, level - 1);
	for (i = slot_index(first, level - 1); !err && i <= stop; i++) {
		was = n->slots[i] != 0;
		err = set(pool, &n->slots[i], level - 1,
			  base + i * (child + 1), first, last, id);
		n->used += (n->slots[i] != 0) - was;
	}
	if (!n->used) {
		release(pool, *slot);
		*slot = 0;
	}
	return err;
}

int moca_addrmap_set(struct moca_addrmap *m, uint64_t first, uint64_t last,
		     uint32_t id)
{
	struct node *n;
	int err;

	while (last > span(m->height)) {
		if (!m->root) {
			m->height++;
			continue;
		}
		n = node_new(m->pool, &err);
		if (!n)
			return err;
		n->used = 1;
		n->slots[0] = m->root;
		m->root = (uintptr_t)n;
		m->height++;
	}
	return set(m->pool, &m->root, m->height, 0, first, last, id);
}

const uint64_t *moca_addrmap_slot(const struct moca_addrmap *m, uint64_t addr)
{
	const uint64_t *slot = &m->root;
	unsigned level = m->height;

	if (addr > span(level))
		return NULL;
	/* The last one is not read: it is what is to be prefetched. */
	while (level && is_node(*slot))
		slot = &to_node(*slot)->slots[slot_index(addr, --level)];
	return slot;
}

#define NEAR_LEVEL 2		/* 1 GiB */

const uint64_t *moca_addrmap_slot_near(const struct moca_addrmap *m,
				       uint64_t addr,
				       struct moca_addrnear *near)
{
	unsigned level = m->height;
	const uint64_t *slot;

	if (near->slot && near->map == m &&
	    !((addr ^ near->addr) & ~span(NEAR_LEVEL))) {
		slot = near->slot;
		level = NEAR_LEVEL;
	} else {
		if (addr > span(level))
			return NULL;
		slot = &m->root;
		while (level > NEAR_LEVEL && is_node(*slot))
			slot = &to_node(*slot)->slots[slot_index(addr, --level)];
		*near = (struct moca_addrnear){
			.map = m, .addr = addr,
			.slot = level == NEAR_LEVEL ? slot : NULL,
		};
	}
	while (level && is_node(*slot))
		slot = &to_node(*slot)->slots[slot_index(addr, --level)];
	return slot;
}

uint32_t moca_addrmap_pieces_at(uint64_t slot, uint64_t addr)
{
	const struct pieces *p;
	unsigned offset = addr & (PAGE_SIZE - 1);
	size_t i;

	if (!is_pieces(slot))
		return 0;
	p = to_pieces(slot);
	i = piece_at(p, offset);
	return i < p->count && p->p[i].first <= offset ? p->p[i].id : 0;
}

/* The first piece below a slot, as moca_addrmap_next. */
static int next(uint64_t slot, unsigned level, uint64_t base, uint64_t from,
		uint64_t last, struct piece *out, uint64_t *begin,
		uint64_t *end)
{
	uint64_t child = level ? span(level - 1) : 0, at;
	const struct pieces *p;
	const struct node *n;
	size_t i;

	if (is_id(slot)) {
		*begin = base;
		*end = base + span(level);
		out->id = (uint32_t)(slot >> 1);
		return 1;
	}
	if (is_pieces(slot)) {
		p = to_pieces(slot);
		i = from > base ? piece_at(p, (unsigned)(from - base)) : 0;
		if (i == p->count || base + p->p[i].first > last)
			return 0;
		*begin = base + p->p[i].first;
		*end = base + p->p[i].last;
		out->id = p->p[i].id;
		return 1;
	}
	if (!slot)
		return 0;
	n = to_node(slot);
	for (i = from > base ? slot_index(from, level - 1) : 0; i < SLOTS;
	     i++) {
		at = base + i * (child + 1);
		/* The top level reaches beyond the address space: no wrap. */
		if ((i && at <= base) || at > last)
			return 0;
		if (n->slots[i] && next(n->slots[i], level - 1, at, from, last,
					out, begin, end))
			return 1;
	}
	return 0;
}

int moca_addrmap_next(const struct moca_addrmap *m, uint64_t from,
		      uint64_t last, uint64_t *begin, uint64_t *end,
		      uint32_t *id)
{
	struct piece p;

	if (from > span(m->height) ||
	    !next(m->root, m->height, 0, from, last, &p, begin, end))
		return 0;
	*id = p.id;
	return 1;
}
