// SPDX-License-Identifier: GPL-2.0-or-later
/* The pages of all rows: the walk numbers them. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "analysis/profile/passes.h"

#define MEMORY ((size_t)400 << 20)
#define TABLE 12	/* what the walk's table takes of a page, while it grows */

/* All there may ever be; what is not used takes no memory. */
static void *reserve(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* They are used at random, and TLB misses are dear. */
	madvise(p, size, MADV_HUGEPAGE);
	return p;
}

int pages_init(struct pages *p, unsigned lanes)
{
	p->entry = (sizeof(struct page) + 2 * lanes + 7) & ~(size_t)7;
	p->limit = MEMORY / (p->entry + sizeof(*p->ids) + TABLE);
	p->entries = reserve(p->limit * p->entry);
	p->ids = reserve(p->limit * sizeof(*p->ids));
	return p->entries && p->ids ? 0 : -ENOMEM;
}

void pages_free(struct pages *p)
{
	if (p->entries)
		munmap(p->entries, p->limit * p->entry);
	if (p->ids)
		munmap(p->ids, p->limit * sizeof(*p->ids));
	memset(p, 0, sizeof(*p));
}

struct page *pages_at(const struct pages *p, size_t i)
{
	return (struct page *)(void *)(p->entries + i * p->entry);
}

struct page *pages_get(struct pages *p, const struct moca_observed *x)
{
	struct page *e;

	if (x->page >= p->limit)
		return NULL;
	e = pages_at(p, x->page);
	if (e->accesses)
		return e;
	p->ids[x->page] = (struct page_id){ .number = x->addr >> PAGE_SHIFT,
					    .space = x->space, .key = x->key };
	if (p->count <= x->page)
		p->count = (size_t)x->page + 1;
	return e;
}
