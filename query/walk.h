/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two large tables, accesses and counts, as rows without SQLite. */
#ifndef MOCA_QUERY_WALK_H
#define MOCA_QUERY_WALK_H

#include "query/export.h"

/* As query_rows_open() and query_rows_close(). */
int query_walk_open(struct rows **out, struct query *q, const char *table,
		    const struct query_filter *f);
void query_walk_close(struct rows *r);

#endif
