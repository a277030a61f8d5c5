// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first count of a task in a granule has the time of the first touch, and no
 * later one has: in exact mode. Since a task may run another program, an exec
 * begins anew.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/check/rules.h"
#include "lib/base/table.h"

/* Granules of one task that are looked at: from there on, half of them. */
#define GRANULES_MAX (1u << 22)

struct granule {
	uint64_t key;		/* number of the granule + 1; 0 = none */
};

static uint64_t granule_hash(const struct granule *g)
{
	return moca_mix(g->key);
}

static int granule_same(const struct granule *a, const struct granule *b)
{
	return a->key == b->key;
}

static int granule_used(const struct granule *g)
{
	return g->key != 0;
}

MOCA_TABLE(granule, struct granule, granule_hash, granule_same, granule_used);

struct granules {
	struct granule *entries;
	size_t cap, count;
	uint32_t task;
	uint64_t exec_ns;	/* when the program began that is counted */
	uint64_t mask;		/* of hashes: those with none of these bits
				   are looked at */
};

static void begin_program(struct granules *g, uint32_t task, uint64_t exec_ns)
{
	if (g->entries)
		memset(g->entries, 0, g->cap * sizeof(*g->entries));
	g->count = 0;
	g->mask = 0;
	g->task = task;
	g->exec_ns = exec_ns;
}

/* Look at half as many, and forget the others. 0 or -ENOMEM. */
static int halve(struct granules *g)
{
	struct granule *old = g->entries;
	size_t i, cap = g->cap;

	g->entries = moca_table_memory(cap, sizeof(*old));
	if (!g->entries) {
		g->entries = old;
		return -ENOMEM;
	}
	g->mask = g->mask << 1 | 1ull << 40;
	g->count = 0;
	for (i = 0; i < cap; i++) {
		if (!old[i].key || granule_hash(&old[i]) & g->mask)
			continue;
		*granule_at(g->entries, cap, &old[i]) = old[i];
		g->count++;
	}
	free(old);
	return 0;
}

static int add_row(struct meaning *m, struct granules *g,
		   const struct moca_counts *c, size_t i)
{
	const struct moca_count *row = &c->rows[i];
	struct granule key = { row->addr / c->granularity + 1 }, *e;
	int known, err;
	char file[64];

	if (granule_hash(&key) & g->mask)
		return 0;
	err = granule_fit(&g->entries, &g->cap, g->count);
	if (err)
		return err;
	e = granule_at(g->entries, g->cap, &key);
	known = e->key != 0;
	if (known == !row->first_ns) {
		if (!known) {
			*e = key;
			g->count++;
		}
		return g->count < GRANULES_MAX ? 0 : halve(g);
	}
	meaning_file(c->task, file, sizeof(file));
	if (known) {
		/* Or an exec in between was lost. */
		meaning_wrong(m, RULE_FIRST_TOUCH, "%s, counts %" PRIu64 ", row %zu: granule %#" PRIx64 " has a first touch, and was touched before",
			      file, c->number, i, row->addr);
		return 0;
	}
	meaning_wrong_anyway(m, RULE_FIRST_TOUCH, "%s, counts %" PRIu64 ", row %zu: granule %#" PRIx64 " has no first touch, and was not touched before",
			     file, c->number, i, row->addr);
	*e = key;
	g->count++;
	return 0;
}

int first_touch_counts(struct meaning *m, const struct moca_counts *c,
		       const struct moca_task *task)
{
	uint64_t exec_ns = mapping_last_exec(m, task->pid, c->begin_ns);
	size_t i;
	int err = 0;

	if (!m->granules) {
		m->granules = calloc(1, sizeof(*m->granules));
		if (!m->granules)
			return -ENOMEM;
		m->granules->task = MOCA_NO_TASK;
	}
	if (m->granules->task != c->task || m->granules->exec_ns != exec_ns)
		begin_program(m->granules, c->task, exec_ns);
	for (i = 0; i < c->count && !err; i++)
		err = add_row(m, m->granules, c, i);
	return err;
}

void first_touch_free(struct meaning *m)
{
	if (!m->granules)
		return;
	free(m->granules->entries);
	free(m->granules);
}
