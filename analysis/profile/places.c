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

struct place {
	uint64_t number;
	uint32_t owner;
	uint8_t used, data;
};

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

static struct place *find(struct place *table, size_t mask,
			  const struct places *p, const struct page_id *id)
{
	uint32_t owner = id->space < p->space_count ?
				 p->pid_of_space[id->space] : id->space;
	size_t at = moca_mix(id->number ^ (uint64_t)owner << 40) & mask;

	while (table[at].used &&
	       (table[at].number != id->number || table[at].owner != owner))
		at = (at + 1) & mask;
	table[at].number = id->number;
	table[at].owner = owner;
	return &table[at];
}

int places_count(const struct gather *g)
{
	const struct pages *pages = &g->pages;
	const struct moca_object *o;
	size_t size = 16, i;
	struct place *table, *x;

	while (size < 2 * pages->count)
		size *= 2;
	table = calloc(size, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (i = 0; i < pages->count; i++) {
		if (!(pages_at(pages, i)->flags & PAGE_PRESENT))
			continue;
		o = moca_objects_row_of(g->p->objects, pages->ids[i].key);
		x = find(table, size - 1, &g->places, &pages->ids[i]);
		x->used = 1;
		x->data |= moca_profile_is_data(o) != 0;
	}
	for (i = 0; i < size; i++) {
		g->p->data_pages += table[i].data;
		g->p->other_pages += table[i].used && !table[i].data;
	}
	free(table);
	return 0;
}
