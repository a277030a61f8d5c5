// SPDX-License-Identifier: GPL-2.0-or-later
/* In which window each page of a row was used last: 16 bytes for a page. */
#include "analysis/profile/passes.h"

#include <string.h>
#include <sys/mman.h>

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

#define STEP (((size_t)2 << 20) / sizeof(struct page_window))

/*
 * Into a table twice as large, which is not zeroed, step by step: of the old one what
 * has been read is given back, since both at a time are what takes most memory. An
 * entry is at most as far from its begin as it was, so that its place is zeroed.
 */
static void spread(struct page_window *to, struct page_window *from, size_t was)
{
	size_t begin = 0, done, i;

	while (used_entry(&from[begin]))
		begin++;
	for (done = 0; done < was; done += STEP) {
		memset(to + done, 0, STEP * sizeof(*to));
		memset(to + was + done, 0, STEP * sizeof(*to));
		for (i = done; i < done + STEP; i++)
			if (i > begin && used_entry(&from[i]))
				*entries_at(to, 2 * was, &from[i]) = from[i];
		if (done > begin)
			madvise(from + done, STEP * sizeof(*from),
				MADV_DONTNEED);
	}
	/* The end of a run that goes on from the last place to the first. */
	for (i = 0; i < begin; i++)
		*entries_at(to, 2 * was, &from[i]) = from[i];
}

/* Room for one more. */
static int make_room(struct page_windows *p)
{
	struct page_window *more;

	if (p->cap < STEP || 10 * p->count < 7 * p->cap)
		return entries_fit(&p->entries, &p->cap, p->count);
	more = moca_huge_alloc(2 * p->cap, sizeof(*more));
	if (!more)
		return -ENOMEM;
	spread(more, p->entries, p->cap);
	free(p->entries);
	p->entries = more;
	p->cap *= 2;
	return 0;
}

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

	if (make_room(p))
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
