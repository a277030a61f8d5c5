/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One column of a row group: its values, and how they become pages. */
#ifndef MOCA_EXPORT_PARQUET_COLUMN_H
#define MOCA_EXPORT_PARQUET_COLUMN_H

#include <zstd.h>

#include "export/out.h"
#include "export/thrift.h"
#include "lib/base/table.h"
#include "lib/text/rows.h"

/* Of enums in the definition of the format. */
enum { PARQUET_INT64 = 2, PARQUET_DOUBLE = 5, PARQUET_BYTE_ARRAY = 6 };

struct parquet_text {
	size_t at;		/* in `texts`, behind its length */
	uint32_t len;
};

struct parquet_column {
	const char *name;
	enum rows_type type;
	int is_unsigned;
	size_t rows, count;	/* count: of rows that are not NULL */
	uint64_t *values;	/* of numbers: PARQUET_ROWS */
	uint32_t *numbers;	/* of texts: in the dictionary */
	uint32_t *levels;	/* 0: NULL, 1; from the first NULL on */
	/* The dictionary of the row group. */
	struct moca_buf texts;	/* as its page is */
	struct parquet_text *known;
	size_t known_count, known_room;
	struct moca_index index;
	uint32_t *by_id;	/* of a rows_text: its number + 1 */
	size_t id_count, id_room;
	uint32_t last_id, last_number;	/* 0: none */
};

/* What packs pages; of all columns. */
struct parquet_packer {
	ZSTD_CCtx *zstd;
	struct moca_buf plain, packed;
	struct thrift head;
};

/* 0, -ENOMEM, or -EDOM: the cell is not of the column's type. */
int parquet_column_add(struct parquet_column *c, const struct rows_cell *cell);

/* The same: most cells are numbers, or the text before once more, or NULL again. */
static inline int parquet_column_put(struct parquet_column *c,
				     const struct rows_cell *cell)
{
	if (cell->type == ROWS_INTEGER && c->type == ROWS_INTEGER &&
	    c->values) {
		c->values[c->count++] = (uint64_t)cell->integer;
	} else if (cell->type == ROWS_TEXT && c->last_id &&
		   cell->text->id == c->last_id) {
		c->numbers[c->count++] = c->last_number;
	} else if (cell->type != ROWS_NULL || !c->levels) {
		return parquet_column_add(c, cell);
	}
	if (c->levels)
		c->levels[c->rows] = cell->type != ROWS_NULL;
	c->rows++;
	return 0;
}
/*
 * Write the pages at o->written, and the column's ColumnChunk to t; add to what all of the row
 * group takes. The column is empty then. 0 or -ENOMEM.
 */
int parquet_column_write(struct parquet_column *c, struct parquet_packer *p,
			 struct out *o, struct thrift *t, uint64_t *plain,
			 uint64_t *packed);
void parquet_column_free(struct parquet_column *c);

#endif
