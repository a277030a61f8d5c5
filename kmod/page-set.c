// SPDX-License-Identifier: GPL-2.0-only
#include "page-set.h"

#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

struct entry {
	u64 key;
	u64 pfn;
};

struct moca_page_set {
	struct entry *entries;
	unsigned int bits_max, bits;	/* of all; of those that are in use */
};

/* Addresses below 2^54, pids below 2^22: one number, never 0. */
static u64 key_of(u32 pid, u64 addr)
{
	return ((addr >> PAGE_SHIFT) & ((1ull << 42) - 1)) | (u64)pid << 42 |
	       (pid ? 0 : 1ull << 63);
}

static unsigned int bits_for(u64 most)
{
	return ilog2(roundup_pow_of_two(max(most, 1024ull) * 3 / 2));
}

u64 moca_page_set_bytes(u64 most)
{
	return sizeof(struct entry) << bits_for(most);
}

struct moca_page_set *moca_page_set_create(u64 most)
{
	struct moca_page_set *p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);

	if (!p)
		return NULL;
	p->bits_max = bits_for(most);
	p->entries = kvcalloc(1ull << p->bits_max, sizeof(*p->entries),
			      GFP_KERNEL_ACCOUNT);
	if (!p->entries) {
		kfree(p);
		return NULL;
	}
	return p;
}

void moca_page_set_destroy(struct moca_page_set *p)
{
	if (!p)
		return;
	kvfree(p->entries);
	kfree(p);
}

void moca_page_set_begin(struct moca_page_set *p, u64 n)
{
	p->bits = min_t(unsigned int, p->bits_max,
			ilog2(roundup_pow_of_two(max(n, 64ull) * 2)));
	memset(p->entries, 0, sizeof(*p->entries) << p->bits);
}

static struct entry *slot_of(struct moca_page_set *p, u64 key)
{
	u64 mask = (1ull << p->bits) - 1;
	u64 i = hash_64(key, p->bits);

	/* There is always an empty one: rings hold fewer records. */
	while (p->entries[i].key && p->entries[i].key != key)
		i = (i + 1) & mask;
	return &p->entries[i];
}

void moca_page_set_add(struct moca_page_set *p, u32 pid, u64 addr, u64 pfn)
{
	u64 key = key_of(pid, addr);
	struct entry *e = slot_of(p, key);

	e->key = key;
	if (pfn)
		e->pfn = pfn;
}

u64 *moca_page_set_find(struct moca_page_set *p, u32 pid, u64 addr)
{
	struct entry *e = slot_of(p, key_of(pid, addr));

	return e->key ? &e->pfn : NULL;
}
