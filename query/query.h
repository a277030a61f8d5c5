/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `moca query`: a trace as tables of SQLite, which reads them as the trace is
 * walked. doc/man/moca-query.1 lists the tables.
 */
#ifndef MOCA_QUERY_QUERY_H
#define MOCA_QUERY_QUERY_H

#include <moca/reader.h>

struct query;
struct sqlite3;

/*
 * Make the tables of t, which must outlive *out, in a database of memory. From
 * then on the database runs SELECT alone: what writes, attaches files or
 * changes settings is refused. 0, -ENOMEM, or -errno of the reader.
 */
int query_open(struct query **out, struct moca_trace *t);
void query_close(struct query *q);

struct sqlite3_stmt;
/*
 * As sqlite3_prepare_v2(), of one statement: *rest is what is behind it. Statements
 * that count accesses by group are run without a row for each.
 */
int query_prepare(struct query *q, const char *sql, struct sqlite3_stmt **out,
		  const char **rest);

/* The database; it belongs to q. */
struct sqlite3 *query_database(struct query *q);

/*
 * Why the trace could not be read while a statement ran: -errno; 0: it could, or
 * what failed is the statement.
 */
int query_failure(const struct query *q);

/*
 * The table of events that a view of that name is of; a trace without such events has
 * neither. NULL: no view needs them.
 */
const char *query_events_of(const char *view);

/*
 * Its tables and views, by name: for each the statement that declares it, as a
 * user may read it. What fn returns other than 0 ends the walk. 0, that, or
 * -errno.
 */
int query_schema(struct query *q,
		 int (*fn)(void *arg, const char *name, const char *sql),
		 void *arg);

#endif
