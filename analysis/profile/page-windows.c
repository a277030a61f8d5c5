// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In which windows each page of a row was used. Pages stand beside their neighbours, in
 * leaves of 2 MiB of memory, each with two rows; further rows of a page, and pages
 * that are alone in such a leaf, are in a hash. 16 bytes for a page of one or two rows.
 */
#include "analysis/profile/passes.h"

#include <stdlib.h>

#include "lib/base/table.h"
#include "lib/base/vec.h"

#define LEAF_BITS 9
#define LEAF_PAGES (1u << LEAF_BITS)
#define WAYS 2
#define SLAB_BITS 8		/* leaves: 2 MiB */
/* 64 MiB of leaves may be nearly empty; beyond, they have so many pages on average. */
#define LEAVES_FREE 8192u
#define LEAF_LEAST 32u
#define NO_LEAF UINT32_MAX
#define BACK 24u		/* bits of page_use.windows behind the last */

struct leaf {
	struct page_use uses[LEAF_PAGES][WAYS];
};

struct page_leaf {
	uint64_t number;
	uint32_t space;
	uint32_t leaf;		/* + 1, or NO_LEAF; 0: empty */
};

struct page_more {
	uint64_t page;
	uint32_t space;
	struct page_use use;
};

static uint64_t hash_leaf(const struct page_leaf *x)
{
	return moca_mix(x->number ^ (uint64_t)x->space << 45);
}

static int same_leaf(const struct page_leaf *a, const struct page_leaf *b)
{
	return a->number == b->number && a->space == b->space;
}

static int used_leaf(const struct page_leaf *x)
{
	return x->leaf != 0;
}

MOCA_TABLE(leaves, struct page_leaf, hash_leaf, same_leaf, used_leaf);

static uint64_t hash_more(const struct page_more *x)
{
	return moca_mix(x->page ^ (uint64_t)x->use.key << 40 ^
			(uint64_t)x->space << 52 ^ x->space >> 12);
}

static int same_more(const struct page_more *a, const struct page_more *b)
{
	return a->page == b->page && a->use.key == b->use.key &&
	       a->space == b->space;
}

static int used_more(const struct page_more *x)
{
	return x->use.key != 0;
}

MOCA_TABLE(mores, struct page_more, hash_more, same_more, used_more);

/*
 * Is it new in that window? Accesses may come late: 24 windows before the last one are
 * remembered, and in earlier ones it is taken for new.
 */
static int note(struct page_use *u, unsigned window)
{
	uint32_t now = window + 1, last = u->windows & 0xff, bit;
	uint32_t before = u->windows >> 8;

	if (now == last)
		return 0;
	if (now > last) {
		bit = last && now - last <= BACK ? 1u << (now - last - 1) : 0;
		before = bit ? before << (now - last) | bit : 0;
		u->windows = before << 8 | now;
		return 1;
	}
	if (last - now > BACK)
		return 1;
	bit = 1u << (last - now - 1);
	u->windows |= bit << 8;
	return !(before & bit);
}

/* A row of a page that has none of its own yet. As page_windows_use. */
static int add(struct page_windows *p, struct page_use *u, uint32_t key,
	       unsigned window)
{
	if (p->count >= p->limit)
		return PAGE_LEFT_OUT;
	p->count++;
	*u = (struct page_use){ .key = key, .windows = window + 1 };
	return 1;
}

static struct page_use *ways_in(const struct page_windows *p, uint32_t leaf,
				uint64_t page)
{
	struct leaf *l = p->slabs[(leaf - 1) >> SLAB_BITS];

	l += (leaf - 1) & ((1u << SLAB_BITS) - 1);
	return l->uses[page & (LEAF_PAGES - 1)];
}

/* The leaf of x, + 1; NO_LEAF; 0: not yet known. */
static uint32_t leaf_of(struct page_windows *p, const struct page_place *x)
{
	const struct page_leaf key = { .number = x->page >> LEAF_BITS,
				       .space = x->space };
	uint32_t leaf;

	if (p->near && p->near_number == key.number &&
	    p->near_space == key.space)
		return p->near;
	leaf = p->leaf_cap ? leaves_at(p->leaves, p->leaf_cap, &key)->leaf : 0;
	if (leaf) {
		p->near = leaf;
		p->near_number = key.number;
		p->near_space = key.space;
	}
	return leaf;
}

void page_windows_prefetch(struct page_windows *p, struct page_place *x)
{
	uint32_t leaf = leaf_of(p, x);

	x->ways = leaf && leaf != NO_LEAF ? ways_in(p, leaf, x->page) : NULL;
	if (x->ways)
		__builtin_prefetch(x->ways, 1);
}

/* Room for one more leaf. */
static int add_slab(struct page_windows *p)
{
	size_t n = p->leaf_count >> SLAB_BITS;

	if (p->leaf_count & ((1u << SLAB_BITS) - 1))
		return 0;
	if (moca_vec_fit(p->slabs, p->slab_cap, n + 1))
		return -ENOMEM;
	p->slabs[n] = moca_table_memory((size_t)1 << SLAB_BITS,
					sizeof(struct leaf));
	return p->slabs[n] ? 0 : -ENOMEM;
}

/* The first access to memory near x: shall it have a leaf? As leaf_of, or 0: no memory. */
static uint32_t make_leaf(struct page_windows *p, const struct page_place *x)
{
	struct page_leaf new = { .number = x->page >> LEAF_BITS,
				 .space = x->space, .leaf = NO_LEAF };

	if (p->leaf_count < LEAVES_FREE ||
	    (p->leaf_count < NO_LEAF - 1 &&
	     p->count / LEAF_LEAST >= p->leaf_count)) {
		if (add_slab(p))
			return 0;
		new.leaf = (uint32_t)++p->leaf_count;
	}
	if (leaves_fit(&p->leaves, &p->leaf_cap, p->leaf_entries))
		return 0;
	p->leaf_entries++;
	*leaves_at(p->leaves, p->leaf_cap, &new) = new;
	return new.leaf;
}

static int use_more(struct page_windows *p, const struct page_place *x,
		    unsigned window)
{
	struct page_more key = { .page = x->page, .space = x->space,
				 .use.key = x->key + 1 }, *m;
	int ret;

	if (mores_fit(&p->mores, &p->more_cap, p->more_count))
		return -ENOMEM;
	m = mores_at(p->mores, p->more_cap, &key);
	if (m->use.key)
		return note(&m->use, window);
	ret = add(p, &key.use, x->key + 1, window);
	if (ret == 1) {
		*m = key;
		p->more_count++;
	}
	return ret;
}

int page_windows_use(struct page_windows *p, struct page_place *x,
		     unsigned window)
{
	uint32_t key = x->key + 1, leaf;

	if (!x->ways) {
		leaf = leaf_of(p, x);
		if (!leaf)
			leaf = make_leaf(p, x);
		if (!leaf)
			return -ENOMEM;
		if (leaf != NO_LEAF)
			x->ways = ways_in(p, leaf, x->page);
	}
	for (unsigned i = 0; x->ways && i < WAYS; i++) {
		if (x->ways[i].key == key)
			return note(&x->ways[i], window);
		if (!x->ways[i].key)
			return add(p, &x->ways[i], key, window);
	}
	return use_more(p, x, window);
}

void page_windows_free(struct page_windows *p)
{
	size_t n = (p->leaf_count + (1u << SLAB_BITS) - 1) >> SLAB_BITS;

	for (size_t i = 0; i < n; i++)
		free(p->slabs[i]);
	free(p->slabs);
	free(p->leaves);
	free(p->mores);
}
