/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any table as a file of Apache Parquet; doc/formats/parquet.md. */
#ifndef MOCA_EXPORT_PARQUET_H
#define MOCA_EXPORT_PARQUET_H

#include "export/out.h"
#include "lib/text/rows.h"

/*
 * Write all rows; *count is how many. Memory is that of PARQUET_ROWS rows, or of
 * fewer with long texts. 0; -errno of the rows, -EDOM where a cell is not of its column's type; or of o: then
 * o->error is set.
 */
int parquet_write(struct out *o, struct rows *r, uint64_t *count);

#define PARQUET_ROWS 131072u	/* of a row group, at most */

#endif
