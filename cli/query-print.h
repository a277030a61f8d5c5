/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of a statement, on stdout. */
#ifndef MOCA_CLI_QUERY_PRINT_H
#define MOCA_CLI_QUERY_PRINT_H

#include <sqlite3.h>

enum query_format { QUERY_TABLE, QUERY_CSV, QUERY_JSON };

/*
 * Run s to its end. Memory does not grow with the rows: columns of a table are
 * as wide as the first thousand rows need. SQLITE_DONE, or its error.
 */
int query_print(sqlite3_stmt *s, enum query_format format);

#endif
