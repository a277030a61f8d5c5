// SPDX-License-Identifier: GPL-2.0-or-later
/* The pages of all rows: the walk numbers them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "analysis/profile/passes.h"
#include "lib/base/table.h"

#define MEMORY ((size_t)400 << 20)
#define TABLE 12	/* what the walk's table takes of a page, while it grows */

/* places.c has a bit beside an index. */
_Static_assert(MEMORY / sizeof(struct page_id) < 1u << 31, "many pages");

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

static size_t entry_size(unsigned lanes, int history)
{
	size_t size = sizeof(struct page) + 2 * lanes;

	if (history)
		size = page_history_at(lanes) + sizeof(struct page_history);
	return (size + 7) & ~(size_t)7;
}

size_t pages_limit(unsigned lanes, int history)
{
	return MEMORY / (entry_size(lanes, history) + sizeof(struct page_id) +
			 TABLE);
}

int pages_init(struct pages *p, unsigned lanes, int history)
{
	p->entry = entry_size(lanes, history);
	p->limit = pages_limit(lanes, history);
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
	free(p->parked);
	memset(p, 0, sizeof(*p));
}

uint32_t *pages_index(const struct pages *p, size_t *mask)
{
	size_t size = 16;

	while (size < 2 * p->count)
		size *= 2;
	*mask = size - 1;
	return moca_table_memory(size, sizeof(uint32_t));
}

struct page *pages_at(const struct pages *p, size_t i)
{
	return (struct page *)(void *)(p->entries + i * p->entry);
}

struct page *pages_get(struct pages *p, const struct moca_observed *x)
{
	struct page *e;

	if (x->page >= p->limit - p->parked_count)
		return NULL;
	e = pages_at(p, x->page);
	if (e->flags & PAGE_PRESENT)
		return e;
	p->ids[x->page] = (struct page_id){ .number = x->addr >> PAGE_SHIFT,
					    .era = x->era & MOCA_ERAS,
					    .space = x->space, .key = x->key };
	if (p->count <= x->page)
		p->count = (size_t)x->page + 1;
	return e;
}

static uint64_t hash_parked(const struct parked *x)
{
	return moca_mix((uint64_t)x->page << 8 | x->lane);
}

static int same_parked(const struct parked *a, const struct parked *b)
{
	return a->page == b->page && a->lane == b->lane;
}

static int used_parked(const struct parked *x)
{
	return x->page != 0;
}

MOCA_TABLE(parked, struct parked, hash_parked, same_parked, used_parked);

/*
 * Where the histories of a page that the lane began are parked; NULL: they are not,
 * or there is no room.
 */
static struct page *parked_page(struct pages *p, size_t page, unsigned lane,
				int park)
{
	struct parked key = { .page = (uint32_t)page + 1, .lane = lane }, *x;

	if (parked_fit(&p->parked, &p->parked_cap, p->parked_count))
		return NULL;
	x = parked_at(p->parked, p->parked_cap, &key);
	if (!x->page) {
		if (!park || p->count + p->parked_count >= p->limit)
			return NULL;
		*x = key;
		x->at = p->limit - 1 - p->parked_count++;
		p->ids[x->at] = p->ids[page];
	}
	return pages_at(p, x->at);
}

int pages_begin(struct pages *p, struct page *page,
		const struct moca_observed *x, unsigned lane)
{
	size_t at = (size_t)((char *)page - p->entries) / p->entry;
	int is_placed = p->ids[at].era != (x->era & MOCA_ERAS);
	struct page *from, *to;

	page->users = 0;
	page->last_lane = (uint8_t)lane;
	page->flags |= PAGE_BEGAN;
	p->ids[at].era = x->era & MOCA_ERAS;
	if (page->first_lane == lane)
		return is_placed;
	to = parked_page(p, at, page->first_lane, 1);
	if (!to)
		return -ENOMEM;
	memcpy(to, page, p->entry);
	from = parked_page(p, at, lane, 0);
	if (from) {
		memcpy(page, from, p->entry);
		memset(from, 0, p->entry);
	} else {
		memset(page, 0, p->entry);
	}
	/* What is of the place: its node, and when it was used last. */
	page->flags |= to->flags & PAGE_OUTSIDE;
	page->home = to->home;
	page->last_interval = to->last_interval;
	page->last_window = to->last_window;
	page->last_lane = (uint8_t)lane;
	page->users = 0;
	page->flags |= PAGE_BEGAN;
	return is_placed;
}
