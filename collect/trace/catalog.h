/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kinds of events that a trace knows, and their ids: the same facility,
 * name and fields have the same id in all programs and for ever.
 *
 * One thread adds; others may ask for `end` at any time, and look at entries
 * below an end they have seen.
 */
#ifndef MOCA_TRACE_CATALOG_H
#define MOCA_TRACE_CATALOG_H

#include <stdint.h>

#include "lib/ring/layout.h"

struct tracer_type {
	const char *facility;
	const char *name;
	const char *fields;
	uint32_t hash;
};

struct tracer_catalog {
	struct tracer_type *types;	/* MOCA_REC_LAST + 1, by id */
	uint16_t *table;		/* open hash table of ids, 0 = free */
	uint32_t end;			/* ids are below; atomic */
};

int tracer_catalog_init(struct tracer_catalog *c);
void tracer_catalog_free(struct tracer_catalog *c);

/* The id, or 0 when it is not known. */
uint32_t tracer_catalog_find(const struct tracer_catalog *c,
			     const char *facility, const char *name,
			     const char *fields);
/* The next id that would be given; 0: there are no more. */
uint32_t tracer_catalog_next(const struct tracer_catalog *c);
/* Give it. 0 or -ENOMEM. */
int tracer_catalog_add(struct tracer_catalog *c, const char *facility,
		       const char *name, const char *fields);

static inline uint32_t tracer_catalog_end(const struct tracer_catalog *c)
{
	/* Pairs with the release in tracer_catalog_add. */
	return __atomic_load_n(&c->end, __ATOMIC_ACQUIRE);
}

#endif
