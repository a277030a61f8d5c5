/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accesses by what many of them have in common, in the order that is asked for. */
#ifndef MOCA_QUERY_GROUPS_H
#define MOCA_QUERY_GROUPS_H

#include "query/table.h"

/* An order: one character for each column. */
#define GROUPS_COLUMN 'A'
#define GROUPS_ORDER_MAX 4

/*
 * Whether a statement can be served: order, of GROUPS_ORDER_MAX + 1 characters, is
 * then what query_groups_open() takes. What is walked in its order anyway is served
 * where a row may stand for many.
 */
int query_groups_plan(const struct query *q, const struct query_table *t,
		      const sqlite3_index_info *x, char *order);
/* Before the first row. 0 or -errno. */
int query_groups_open(struct query_cursor *c, const char *order);
/* 1, at the end 0, or -errno. c->chunk and c->object are the row. */
int query_groups_next(struct query_cursor *c);
/* Where SQLite has sorted the rows: 1, and the column is told. */
int query_groups_column(struct query_cursor *c, int column,
			sqlite3_context *out);
void query_groups_close(struct query_cursor *c);

#endif
