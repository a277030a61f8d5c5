// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/sampled.h"

#include <stdlib.h>

/* Elsewhere a page is copied recorded and not: nothing is saved. */
static int on_memfd(struct mm *mm, uint64_t addr)
{
	const struct region *r;
	int ret;

	pthread_mutex_lock(&mm->lock);
	r = moca_regions_find(&mm->regions, addr);
	ret = r && r->kind == REGION_MEMFD;
	pthread_mutex_unlock(&mm->lock);
	return ret;
}

struct page_record sampled_see(struct sampled_task *t, uint64_t addr, int write,
			       enum page_fault *f)
{
	struct page_record r = { .weight = 1, .ours = 1, .told = 1 };
	struct mm *mm = t->mm;

	*f = PAGE_TOUCHED;
	if (mm && !mm->pages)
		mm->pages = pageset_new();
	if (!mm || !mm->pages)
		return r;
	*f = pageset_fault(mm->pages, addr);
	r = pageset_record(mm->pages, addr, *f, (uint32_t)t->tid, write);
	if (*f == PAGE_UNSHARED && !on_memfd(mm, addr))
		*f = PAGE_AGAIN;
	return r;
}

static int by_time(const void *a, const void *b)
{
	const struct moca_access *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Records come ring by ring: a task that moved between CPUs is out of order. */
static void sort_records(struct sampled_task *t)
{
	for (size_t i = 1; i < t->count; i++)
		if (t->recs[i].time_ns < t->recs[i - 1].time_ns) {
			qsort(t->recs, t->count, sizeof(*t->recs), by_time);
			return;
		}
}

void sampled_sort(struct sampled_task *t, uint64_t begin_ns)
{
	sort_records(t);
	for (size_t i = 0; i < t->count && t->recs[i].time_ns < begin_ns; i++)
		/* Stamped just before the cut, committed just behind it. */
		t->recs[i].time_ns = begin_ns;
}
