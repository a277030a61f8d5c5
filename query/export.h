/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables as exporters take them: whole, or what a filter leaves. */
#ifndef MOCA_QUERY_EXPORT_H
#define MOCA_QUERY_EXPORT_H

#include <moca/reader.h>

#include "lib/text/rows.h"
#include "query/query.h"

struct query_filter {
	/* Times as in the trace; all 0: everything. */
	struct moca_query range;
	const char *object;	/* a glob of names; NULL: all */
	int no_objects;		/* accesses without the columns of objects */
	int heap;		/* samples: of allocations, too */
	int by_code;		/* samples: an instruction is a stack where none is known */
};

/*
 * Rows of a table or view of q, which must outlive them. What a filter has and a
 * column has not narrows nothing: tasks have no address. Memory does not grow with
 * the rows, but for accesses with their objects: some 2 bytes each. 0; -ENOENT: no
 * such table; or -errno of the reader.
 */
int query_rows_open(struct rows **out, struct query *q, const char *table,
		    const struct query_filter *f);
void query_rows_close(struct rows *r);

#endif
