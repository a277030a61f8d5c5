// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages by where they are, as `moca info` counts them: of a memory, or of a process,
 * whatever programs it was in turn. Several rows may have one, as small objects share
 * one.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/profile/passes.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"

#define DATA (1u << 31)	/* beside an index + 1: a row of it is data */

int places_note(struct places *p, const struct moca_observed *x)
{
	if (x->space & MOCA_SPACE_SHARED)
		return 0;
	if (moca_vec_fit_zeroed(p->pid_of_space, p->space_count,
				(size_t)x->space + 1))
		return -ENOMEM;
	if (x->task < p->task_count)
		p->pid_of_space[x->space] = p->pids[x->task];
	return 0;
}

static uint32_t owner_of(const struct places *p, const struct page_id *id)
{
	return id->space < p->space_count ? p->pid_of_space[id->space] : id->space;
}

static size_t hash(const struct places *p, const struct page_id *id)
{
	return moca_mix(id->number ^ (uint64_t)owner_of(p, id) << 40);
}

/* The entry of the place where that page is; 0: no page was there. */
static uint32_t *find(uint32_t *table, size_t mask, const struct gather *g,
		      const struct page_id *id)
{
	uint32_t owner = owner_of(&g->places, id);
	size_t at = hash(&g->places, id) & mask;
	const struct page_id *other;

	for (; table[at]; at = (at + 1) & mask) {
		other = &g->pages.ids[(table[at] & ~DATA) - 1];
		if (other->number == id->number &&
		    owner_of(&g->places, other) == owner)
			break;
	}
	return &table[at];
}

int places_count(const struct gather *g)
{
	const struct pages *pages = &g->pages;
	const struct moca_object *o;
	uint64_t all = 0, data = 0;
	uint32_t *table, *x;
	size_t mask, i;

	table = pages_index(pages, &mask);
	if (!table)
		return -ENOMEM;
	for (i = 0; i < pages->count; i++) {
		if (i + PAGES_AHEAD < pages->count)
			__builtin_prefetch(&table[hash(&g->places,
				&pages->ids[i + PAGES_AHEAD]) & mask], 1);
		if (!(pages_at(pages, i)->flags & PAGE_PRESENT))
			continue;
		x = find(table, mask, g, &pages->ids[i]);
		if (!*x) {
			*x = (uint32_t)i + 1;
			all++;
		}
		o = moca_objects_row_of(g->p->objects, pages->ids[i].key);
		if (!(*x & DATA) && moca_profile_is_data(o)) {
			*x |= DATA;
			data++;
		}
	}
	g->p->data_pages += data;
	g->p->other_pages += all - data;
	free(table);
	return 0;
}
