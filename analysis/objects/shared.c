// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory that several mappings are of: where a page of it is counted, and which
 * object it is. A private mapping of a file shows the file's pages until its
 * process writes one: from then on it has a copy, and so have its children.
 */
#include "analysis/objects/replay.h"

#include <errno.h>
#include <stdlib.h>

#define PAGE 4096ull

int moca_objects_shared_init(struct moca_objects *o)
{
	int err = moca_identities_build(&o->identities, o->trace);

	if (err)
		return err;
	o->totals.no_identities = !o->identities.known;
	o->shared = calloc(o->identities.count + 1, sizeof(*o->shared));
	return o->shared ? 0 : -ENOMEM;
}

void moca_objects_shared_free(struct moca_objects *o)
{
	moca_identities_free(&o->identities);
	free(o->shared);
	o->shared = NULL;
}

void moca_map_identify(const struct moca_objects *o, struct map *m,
		       const struct moca_change *e)
{
	if (e->flags & MOCA_MAP_MOCA)
		return;
	m->of = moca_identities_find(&o->identities, e->memory, e->dev, e->ino,
				     e->name);
	if (m->of)
		m->delta = o->identities.of[m->of].base + e->offset - e->addr;
}

void moca_space_mapped(struct replay_space *s, const struct map *m)
{
	moca_space_unmapped(s, m->addr, m->last);
	s->shares |= m->of && m->flags & MOCA_MAP_SHARED;
}

void moca_space_unmapped(struct replay_space *s, uint64_t first, uint64_t last)
{
	s->near_first = 1;
	s->near_last = 0;
	if (s->copies.root)
		moca_addrmap_set(&s->copies, first, last, 0);
}

/* The mapping at addr, as most accesses are near the one before; or NULL. */
static const struct map *map_near(const struct moca_objects *o, struct replay_space *s,
				  uint64_t addr)
{
	uint64_t begin, end;
	uint32_t id;

	if (addr >= s->near_first && addr <= s->near_last)
		return &o->maps[s->near_map];
	if (!moca_addrmap_next(&s->maps, addr, addr, &begin, &end, &id))
		return NULL;
	s->near_first = begin;
	s->near_last = end;
	s->near_map = id;
	return &o->maps[id];
}

int moca_space_locate(struct moca_objects *o, struct replay_space *s,
		      struct moca_hit *h)
{
	const struct map *m = map_near(o, s, h->a->addr);
	uint64_t page = h->a->addr & ~(PAGE - 1);
	int err;

	if (!m || !m->of)
		return 0;
	if (!(m->flags & MOCA_MAP_SHARED)) {
		if (s->copies.root && moca_addrmap_find(&s->copies, page))
			return 0;
		if (h->a->type == MOCA_ACCESS_WRITE) {
			err = moca_addrmap_set(&s->copies, page,
					       page | (PAGE - 1), 1);
			return err == -ENOMEM ? err : 0;
		}
	}
	h->where = MOCA_SPACE_SHARED | m->of;
	h->at = h->a->addr + m->delta;
	return 0;
}

int moca_space_is_shared(uint32_t space)
{
	return (space & MOCA_SPACE_SHARED) != 0;
}

const struct moca_memory_of *moca_space_memory(const struct moca_objects *o,
					       const struct map *m,
					       struct shared **out)
{
	if (!m || !m->of || !(m->flags & MOCA_MAP_SHARED))
		return NULL;
	*out = &o->shared[m->of];
	return &o->identities.of[m->of];
}

uint32_t moca_space_number(const struct map *m)
{
	return MOCA_SPACE_SHARED | m->of;
}

void moca_space_use(struct moca_objects *o, const struct replay_space *s,
		    struct shared *x, const char *program)
{
	if (!x->pid) {
		x->pid = s->pid;
		x->program = program;
	}
	x->processes |= x->pid != s->pid;
	if (x->inst && x->program != program && *x->program)
		o->table.rows[o->table.inst_key[x->inst].row].programs = 1;
}
