/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What may stand at the end of a statement, for shells that complete it. */
#ifndef MOCA_CLI_QUERY_COMPLETE_H
#define MOCA_CLI_QUERY_COMPLETE_H

#include "query/query.h"

/*
 * Print text with its last word completed, a line for each way, in order: a table or view
 * where the statement asks for one (behind FROM, JOIN), else a column of the tables that it
 * names, or of all if it names none; of ".sch", what begins so. Nothing inside a string.
 * 0, -ENOMEM, or -errno of the reader.
 */
int query_complete(struct query *q, const char *text);

#endif
