// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/region.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"

void moca_regions_free(struct region_map *m)
{
	free(m->items);
	memset(m, 0, sizeof(*m));
}

size_t moca_regions_after(const struct region_map *m, uint64_t addr)
{
	size_t lo = 0, hi = m->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->items[mid].end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

const struct region *moca_regions_find(const struct region_map *m,
				       uint64_t addr)
{
	size_t i = moca_regions_after(m, addr);

	return i < m->count && m->items[i].start <= addr ? &m->items[i] : NULL;
}

/* Entries that there is room for before they are needed. */
#define AHEAD 32

int moca_regions_reserve(struct region_map *m)
{
	return moca_vec_fit(m->items, m->room, m->count + AHEAD);
}

static int reserve(struct region_map *m, size_t more)
{
	if (m->room < m->count + AHEAD)
		moca_regions_reserve(m);
	return m->room < m->count + more ? -ENOMEM : 0;
}

static int on_memfd(const struct region *r)
{
	return r->kind == REGION_MEMFD || r->kind == REGION_FROZEN;
}

/* The part of r that begins at addr. */
static struct region tail_of(const struct region *r, uint64_t addr)
{
	struct region t = *r;

	if (on_memfd(&t))
		t.off += addr - t.start;
	t.start = addr;
	return t;
}

/* Make addr a boundary between regions. */
static int split(struct region_map *m, uint64_t addr)
{
	size_t i = moca_regions_after(m, addr);
	int ret;

	if (i == m->count || m->items[i].start >= addr)
		return 0;
	ret = reserve(m, 1);
	if (ret)
		return ret;
	memmove(&m->items[i + 1], &m->items[i],
		(m->count - i) * sizeof(*m->items));
	m->count++;
	m->items[i].end = addr;
	m->items[i + 1] = tail_of(&m->items[i + 1], addr);
	return 0;
}

int moca_regions_remove(struct region_map *m, uint64_t start, uint64_t end)
{
	size_t i, j;
	int ret;

	if (start >= end)
		return 0;
	ret = split(m, start);
	if (!ret)
		ret = split(m, end);
	if (ret)
		return ret;
	i = moca_regions_after(m, start);
	for (j = i; j < m->count && m->items[j].start < end; j++)
		;
	memmove(&m->items[i], &m->items[j],
		(m->count - j) * sizeof(*m->items));
	m->count -= j - i;
	return 0;
}

static int joins(const struct region *a, const struct region *b)
{
	if (a->end != b->start || a->kind != b->kind ||
	    a->flags != b->flags || a->base != b->base)
		return 0;
	return !on_memfd(a) || a->off + (a->end - a->start) == b->off;
}

/* Join region i with the one before it where they continue each other. */
static void join(struct region_map *m, size_t i)
{
	if (!i || i >= m->count || !joins(&m->items[i - 1], &m->items[i]))
		return;
	m->items[i - 1].end = m->items[i].end;
	memmove(&m->items[i], &m->items[i + 1],
		(m->count - i - 1) * sizeof(*m->items));
	m->count--;
}

int moca_regions_add(struct region_map *m, const struct region *r)
{
	size_t i;
	int ret;

	if (r->start >= r->end)
		return 0;
	ret = reserve(m, 3);
	if (!ret)
		ret = moca_regions_remove(m, r->start, r->end);
	if (ret)
		return ret;
	i = moca_regions_after(m, r->start);
	memmove(&m->items[i + 1], &m->items[i],
		(m->count - i) * sizeof(*m->items));
	m->items[i] = *r;
	m->count++;
	join(m, i + 1);
	join(m, i);
	return 0;
}

int moca_regions_flag(struct region_map *m, uint64_t start, uint64_t end,
		      uint32_t set, uint32_t clear)
{
	size_t i;
	int ret;

	ret = split(m, start);
	if (!ret)
		ret = split(m, end);
	if (ret)
		return ret;
	for (i = moca_regions_after(m, start);
	     i < m->count && m->items[i].start < end; i++)
		if (on_memfd(&m->items[i]))
			m->items[i].flags = (m->items[i].flags | set) & ~clear;
	return 0;
}

int moca_regions_next(const struct region_map *m, uint64_t *pos, uint64_t end,
		      struct region *out)
{
	size_t i = moca_regions_after(m, *pos);

	if (*pos >= end || i == m->count || m->items[i].start >= end)
		return 0;
	*out = m->items[i];
	if (out->start < *pos)
		*out = tail_of(out, *pos);
	if (out->end > end)
		out->end = end;
	*pos = out->end;
	return 1;
}

int moca_regions_uses(const struct region_map *m, uint64_t off, uint64_t len)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct region *r = &m->items[i];

		if (r->kind == REGION_MEMFD && r->off < off + len &&
		    off < r->off + (r->end - r->start))
			return 1;
	}
	return 0;
}
