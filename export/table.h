/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any table as text: CSV of RFC 4180, or a JSON object a line. */
#ifndef MOCA_EXPORT_TABLE_H
#define MOCA_EXPORT_TABLE_H

#include "export/out.h"
#include "lib/text/rows.h"

/*
 * Write all rows; *count is how many. NULL is an empty field in CSV, null in JSON.
 * Texts of CSV are bytes as they are. 0; -errno of the rows, or of o: then o->error
 * is set.
 */
int table_csv(struct out *o, struct rows *r, uint64_t *count);
int table_json(struct out *o, struct rows *r, uint64_t *count);

#endif
