/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TABARNAC's file of pages: reads and writes of each page by each thread, and who
 * touched it first. doc/formats/tabarnac.md has its columns.
 */
#ifndef MOCA_EXPORT_TABARNAC_H
#define MOCA_EXPORT_TABARNAC_H

#include "export/out.h"
#include "export/pick.h"

#define TABARNAC_PAGE_SHIFT 12	/* its scripts know no other */

struct tabarnac {
	size_t threads;
	struct tabarnac_use *uses;	/* of a page by a thread */
	size_t cap, count;
	uint64_t pages;			/* written */
	int read_failed;
};

/*
 * Find who used what of the range, of accesses what pick leaves (NULL: all). 0 or
 * -errno; free it in any case.
 */
int tabarnac_begin(struct tabarnac *x, struct moca_trace *t,
		   const struct moca_query *range,
		   const struct export_pick *pick);
void tabarnac_free(struct tabarnac *x);
/* Write the file. 0 or -errno. */
int tabarnac_pages(struct tabarnac *x, struct out *o);

#endif
