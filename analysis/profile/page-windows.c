// SPDX-License-Identifier: GPL-2.0-or-later
/* In which window each page of a row was used last: 16 bytes for a page. */
#include "analysis/profile/passes.h"

#include "lib/base/table.h"

static uint64_t hash_entry(const struct page_window *e)
{
	return moca_mix(e->page ^ (uint64_t)e->key << 40 ^
			(uint64_t)e->space << 52 ^ e->space >> 12);
}

static int same_entry(const struct page_window *a, const struct page_window *b)
{
	return a->page == b->page && a->key == b->key && a->space == b->space;
}

static int used_entry(const struct page_window *e)
{
	return e->key != 0;
}

MOCA_TABLE(entries, struct page_window, hash_entry, same_entry, used_entry);

static struct page_window entry_of(const struct moca_observed *x)
{
	return (struct page_window){ .page = x->addr >> PAGE_SHIFT,
				     .space = x->space, .key = x->key + 1 };
}

uint64_t page_windows_prefetch(const struct page_windows *p,
			       const struct moca_observed *x)
{
	const struct page_window e = entry_of(x);
	uint64_t hash = hash_entry(&e);

	if (p->cap)
		__builtin_prefetch(&p->entries[hash & (p->cap - 1)], 1);
	return hash;
}

int page_windows_use(struct page_windows *p, const struct moca_observed *x,
		     uint64_t hash, unsigned window)
{
	struct page_window key = entry_of(x), *e;
	int is_new;

	if (entries_fit(&p->entries, &p->cap, p->count))
		return -ENOMEM;
	e = entries_find(p->entries, p->cap, hash, &key);
	if (!e->key) {
		*e = key;
		e->window = p->count >= p->limit ? PAGE_WINDOW_NONE :
						   window + 1;
		p->count++;
		return e->window == PAGE_WINDOW_NONE ? PAGE_LEFT_OUT : 1;
	}
	if (e->window == PAGE_WINDOW_NONE)
		return PAGE_LEFT_OUT;
	is_new = e->window != window + 1;
	e->window = window + 1;
	return is_new;
}
