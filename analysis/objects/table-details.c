// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is counted of wanted rows alone: their instances, the instructions that
 * touched them (touches) and the parts of an object by page (ranges).
 */
#include "analysis/objects/table.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/symbols/jit.h"

#define PAGE_SHIFT 12

static uint64_t hash_touch(const struct moca_touch *x)
{
	return moca_mix(moca_mix(x->ip) ^ ((uint64_t)x->row << 32 | x->task) ^
			(uint64_t)x->space << 20 ^ (uint64_t)x->jit << 44);
}

static int same_touch(const struct moca_touch *a, const struct moca_touch *b)
{
	return a->ip == b->ip && a->row == b->row && a->task == b->task &&
	       a->space == b->space && a->jit == b->jit;
}

static int used_touch(const struct moca_touch *x)
{
	return x->row != 0;
}

MOCA_TABLE(touches, struct moca_touch, hash_touch, same_touch, used_touch);

static int count_touch(struct moca_table *t, const struct moca_hit *h,
		       uint32_t row)
{
	struct moca_touch key = { .ip = h->a->ip, .row = row + 1,
				  .task = h->task, .space = h->space };
	struct moca_touch *x;
	int is_new = 0;

	if (t->jits)
		key.jit = jit_find(t->jits, t->pids[h->task], h->a->ip,
				   h->a->time_ns);
	if (touches_fit(&t->touches, &t->touch_cap, t->touch_count))
		return -ENOMEM;
	x = touches_at(t->touches, t->touch_cap, &key);
	if (!x->row) {
		*x = key;
		t->touch_count++;
		t->new_touch = x;
		is_new = 1;
	}
	moca_weigh(h, &x->accesses, &x->reads, &x->writes);
	return is_new;
}

static uint64_t hash_range(const struct moca_range *r)
{
	return moca_mix(moca_mix(r->begin ^ (uint64_t)r->object << 40) ^
			r->end);
}

static int same_range(const struct moca_range *a, const struct moca_range *b)
{
	return a->object == b->object && a->begin == b->begin &&
	       a->end == b->end;
}

static int used_range(const struct moca_range *r)
{
	return r->object != 0;
}

MOCA_TABLE(ranges, struct moca_range, hash_range, same_range, used_range);

/* The part of the object that is in the access' page. */
static int count_range(struct moca_table *t, const struct moca_hit *h,
		       uint32_t row)
{
	const struct moca_instance *i = &t->inst[h->id];
	uint64_t page = h->at >> PAGE_SHIFT << PAGE_SHIFT;
	struct moca_range key = { .object = row + 1 }, *r;

	/* Objects told in bulk have no place of their own. */
	if (!i->size)
		return 0;
	key.begin = page > i->addr ? page - i->addr : 0;
	key.end = page + (1u << PAGE_SHIFT) - i->addr;
	if (key.end > i->size)
		key.end = i->size;
	if (key.begin >= key.end)
		return 0;
	if (ranges_fit(&t->ranges, &t->range_cap, t->range_count))
		return -ENOMEM;
	r = ranges_at(t->ranges, t->range_cap, &key);
	if (!r->object) {
		*r = key;
		t->range_count++;
	}
	moca_weigh(h, &r->accesses, &r->reads, &r->writes);
	return 0;
}

int moca_table_count_details(struct moca_table *t, const struct moca_hit *h,
			     uint32_t row)
{
	struct moca_instance *i = &t->inst[h->id];

	if (t->opt->instances)
		moca_weigh(h, &i->accesses, &i->reads, &i->writes);
	if (t->opt->ranges && count_range(t, h, row))
		return -ENOMEM;
	return t->opt->touchers ? count_touch(t, h, row) : 0;
}

static int compare_touches(const void *a, const void *b)
{
	const struct moca_touch *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->module != y->module)
		return (uintptr_t)x->module < (uintptr_t)y->module ? -1 : 1;
	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return x->jit < y->jit ? -1 : x->jit > y->jit;
}

void moca_table_finish_details(struct moca_table *t)
{
	size_t i, n = 0;

	for (i = 0; i < t->range_cap; i++) {
		if (!t->ranges[i].object)
			continue;
		t->ranges[n] = t->ranges[i];
		t->ranges[n].object =
			moca_table_target(t, t->ranges[n].object - 1);
		n++;
	}
	t->range_count = n;
	for (i = n = 0; i < t->touch_cap; i++) {
		if (!t->touches[i].row)
			continue;
		t->touches[n] = t->touches[i];
		t->touches[n].row =
			moca_table_target(t, t->touches[n].row - 1) + 1;
		n++;
	}
	t->touch_count = n;
	if (n)
		qsort(t->touches, n, sizeof(*t->touches), compare_touches);
}
