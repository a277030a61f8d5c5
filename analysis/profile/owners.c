// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory that had another owner before: freed, and given out again while its
 * pages stay where they are. The first owner decided their node.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/profile/passes.h"

#define NONE UINT32_MAX

static uint64_t hash(const struct page_id *id)
{
	uint64_t x = id->number * 0x9e3779b97f4a7c15u + id->space;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	return x ^ x >> 31;
}

/*
 * The first row's page at that place, or NONE: pages are numbered by their first
 * access. Enters i if there is none, or if the kernel got the memory back since.
 */
static uint32_t first_at(const struct pages *p, uint32_t *table, size_t mask,
			 uint32_t i)
{
	const struct page_id *id = &p->ids[i], *other;
	size_t at = hash(id) & mask;
	uint32_t first;

	for (; table[at]; at = (at + 1) & mask) {
		other = &p->ids[table[at] - 1];
		if (other->number == id->number && other->space == id->space)
			break;
	}
	first = table[at] ? table[at] - 1 : NONE;
	if (first == NONE || p->ids[first].era != id->era)
		table[at] = i + 1;
	return first;
}

static void vote(struct moca_profile_object *o, uint32_t from)
{
	if (!o->inherited_votes)
		o->inherited_from = from;
	if (o->inherited_from == from)
		o->inherited_votes++;
	else
		o->inherited_votes--;
}

static void inherit(const struct moca_profile *p,
		    struct moca_profile_object *o, const struct page *page,
		    const struct page *first, uint32_t from)
{
	uint64_t on[MOCA_TOPOLOGY_NODES] = { 0 }, sum = 0, best = 0;
	uint8_t home = p->topology.what_if ? first->home : page->home;
	unsigned lane, node;

	for (lane = 0; lane < p->lanes; lane++) {
		on[moca_profile_node(p, lane)] += page->use[lane];
		sum += page->use[lane];
	}
	if (!sum || home >= p->topology.nodes)
		return;
	for (node = 0; node < p->topology.nodes; node++)
		if (on[node] > best)
			best = on[node];
	o->inherited_pages++;
	o->inherited_accesses += page->accesses;
	o->inherited_remote += page->accesses * (sum - on[home]) / sum;
	o->inherited_best += page->accesses * (sum - best) / sum;
	vote(o, from);
}

static int on_heap(const struct moca_object *o)
{
	return o->kind == MOCA_OBJECT_HEAP;
}

int owners_find(struct gather *g)
{
	struct moca_profile *p = g->p;
	const struct pages *pages = &g->pages;
	const struct moca_object *mine, *theirs;
	size_t mask;
	uint32_t *table = pages_index(pages, &mask), i, k;

	if (!table)
		return -ENOMEM;
	for (i = 0; i < pages->count; i++) {
		const struct page *page = pages_at(pages, i);

		if (i + PAGES_AHEAD < pages->count)
			__builtin_prefetch(&table[hash(&pages->ids[i + PAGES_AHEAD]) &
						  mask], 1);
		if (!(page->flags & PAGE_PRESENT))
			continue;
		k = first_at(pages, table, mask, i);
		p->distinct += k == NONE;
		if (k == NONE || pages->ids[k].era != pages->ids[i].era)
			continue;
		if (page->flags & PAGE_UNWATCHED)
			continue;
		/* What lies in one page at one time has no earlier owner. */
		if (pages_at(pages, k)->last_interval > page->first_interval)
			continue;
		mine = moca_objects_row_of(p->objects, pages->ids[i].key);
		theirs = moca_objects_row_of(p->objects, pages->ids[k].key);
		if (mine != theirs && on_heap(mine) && on_heap(theirs))
			inherit(p, &p->rows[mine->id], page,
				pages_at(pages, k), theirs->id);
	}
	free(table);
	return 0;
}
