// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/mapping.h"

#include <errno.h>
#include <stdlib.h>

static int compare_points(const void *a, const void *b)
{
	const struct moca_map_point *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* The last point at or before (pid, addr), or SIZE_MAX. */
static size_t find_point(const struct moca_map_index *x, uint32_t pid,
			 uint64_t addr)
{
	struct moca_map_point key = { .addr = addr, .pid = pid };
	size_t lo = 0, hi = x->point_count, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (compare_points(&x->points[mid], &key) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 1;
}

static int build_points(struct moca_map_index *x,
			const struct moca_mapping *maps, size_t count)
{
	struct moca_map_point *p;
	size_t i, n = 0;

	p = malloc((2 * count + 1) * sizeof(*p));
	if (!p)
		return -ENOMEM;
	x->points = p;
	for (i = 0; i < count; i++) {
		p[2 * i].pid = p[2 * i + 1].pid = maps[i].pid;
		p[2 * i].addr = maps[i].addr;
		p[2 * i + 1].addr = maps[i].addr + maps[i].len;
	}
	qsort(p, 2 * count, sizeof(*p), compare_points);
	for (i = 0; i < 2 * count; i++)
		if (!n || compare_points(&p[n - 1], &p[i]))
			p[n++] = p[i];
	x->point_count = n;
	return 0;
}

/*
 * Count (members NULL) or enter the mapping at the nodes that cover it. The
 * leaves are nodes point_count and up, the parent of i is i / 2.
 */
static void enter(const struct moca_map_index *x, size_t *at,
		  uint32_t *members, const struct moca_mapping *map,
		  uint32_t number)
{
	size_t l = find_point(x, map->pid, map->addr) + x->point_count;
	size_t r = find_point(x, map->pid, map->addr + map->len) +
		   x->point_count;

	for (; l < r; l /= 2, r /= 2) {
		if (l & 1) {
			if (members)
				members[at[l]] = number;
			at[l++]++;
		}
		if (r & 1) {
			r--;
			if (members)
				members[at[r]] = number;
			at[r]++;
		}
	}
}

int moca_map_index_build(struct moca_map_index *x,
			 const struct moca_mapping *maps, size_t count)
{
	size_t i, nodes, sum = 0, c, *at;

	*x = (struct moca_map_index){ 0 };
	if (build_points(x, maps, count))
		return -ENOMEM;
	nodes = 2 * x->point_count;
	x->first = calloc(nodes + 1, sizeof(*x->first));
	at = calloc(nodes + 1, sizeof(*at));
	if (!x->first || !at)
		goto err_free;
	for (i = 0; i < count; i++)
		enter(x, at, NULL, &maps[i], (uint32_t)i);
	for (i = 0; i < nodes; i++) {
		c = at[i];
		x->first[i] = at[i] = sum;
		sum += c;
	}
	x->first[nodes] = sum;
	x->members = malloc((sum + 1) * sizeof(*x->members));
	if (!x->members)
		goto err_free;
	for (i = 0; i < count; i++)
		enter(x, at, x->members, &maps[i], (uint32_t)i);
	free(at);
	return 0;
err_free:
	free(at);
	moca_map_index_free(x);
	return -ENOMEM;
}

void moca_map_index_free(struct moca_map_index *x)
{
	free(x->points);
	free(x->first);
	free(x->members);
	*x = (struct moca_map_index){ 0 };
}

size_t moca_map_index_find(const struct moca_map_index *x,
			   const struct moca_mapping *maps, uint32_t pid,
			   uint64_t addr, uint64_t time_ns)
{
	size_t node = find_point(x, pid, addr), lo, hi, mid;
	const struct moca_mapping *m;

	if (node == SIZE_MAX || x->points[node].pid != pid)
		return SIZE_MAX;
	for (node += x->point_count; node; node /= 2) {
		lo = x->first[node];
		hi = x->first[node + 1];
		while (lo < hi) {
			mid = lo + (hi - lo) / 2;
			if (maps[x->members[mid]].begin_ns <= time_ns)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (lo == x->first[node])
			continue;
		m = &maps[x->members[lo - 1]];
		if (!m->end_ns || time_ns < m->end_ns)
			return x->members[lo - 1];
	}
	return SIZE_MAX;
}
