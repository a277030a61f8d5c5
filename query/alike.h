/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statements that count accesses by what these have in common, without a row for each. */
#ifndef MOCA_QUERY_ALIKE_H
#define MOCA_QUERY_ALIKE_H

/*
 * The same statement with sums over QUERY_ALIKE in place of count() and sum(), to be
 * given to free(); or NULL: it is none of these, or there is no memory. Both have the
 * same rows and names of columns.
 */
char *query_alike(const char *sql);

/* The hidden column of accesses: how many accesses a row stands for. */
#define QUERY_ALIKE "_alike"

#endif
