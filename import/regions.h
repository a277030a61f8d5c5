/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a source tells no mappings: runs of touched blocks of 2 MiB stand for them, so
 * that what analyses find has a place.
 */
#ifndef MOCA_IMPORT_REGIONS_H
#define MOCA_IMPORT_REGIONS_H

#include "import/trace.h"

struct regions {
	uint64_t *blocks;	/* numbers; sorted up to `sorted` */
	size_t count, room, sorted;
};

/* Something at addr was touched. 0; -E2BIG: too many places; -ENOMEM. */
int regions_add(struct regions *r, uint64_t addr);
/* Their mappings, of the process of a task at that time. 0 or -errno. */
int regions_tell(struct regions *r, struct import_trace *x, uint32_t task,
		 uint64_t time_ns);
void regions_free(struct regions *r);

#endif
