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
	size_t puts;		/* cells; all other rows repeat one */
	uint64_t *values;	/* of numbers: PARQUET_ROWS */
	uint32_t *numbers;	/* of texts: in the dictionary */
	void *memory;		/* that one of the two is in */
	size_t shift;		/* bytes before it: not as many as in other columns */
	uint32_t *levels;	/* 0: NULL, 1; from the first NULL on */
	/* The dictionary of the row group. */
	struct moca_buf texts;	/* as its page is */
	struct parquet_text *known;
	size_t known_count, known_room;
	struct moca_index index;
	uint32_t *by_id;	/* of a rows_text: its number + 1 */
	size_t id_count, id_room;
};

/* What packs pages; of all columns. */
struct parquet_packer {
	ZSTD_CCtx *zstd;
	struct moca_buf plain, packed;
	struct thrift head;
};

/* 0, -ENOMEM, or -EDOM: the cell is not of the column's type. */
int parquet_column_add(struct parquet_column *c, const struct rows_cell *cell);

/* The last cell once more, until there are so many rows. There is one, or rows is 0. */
void parquet_column_repeat(struct parquet_column *c, size_t rows);

/*
 * The cell of the row behind so many; cells between the column's last one and this are
 * as that was. Most cells are numbers, or texts that were there before.
 */
static inline int parquet_column_put(struct parquet_column *c, size_t rows,
				     const struct rows_cell *cell)
{
	if (c->rows != rows)
		parquet_column_repeat(c, rows);
	c->puts++;
	if (cell->type == ROWS_INTEGER && c->type == ROWS_INTEGER &&
	    c->values) {
		c->values[c->count++] = (uint64_t)cell->integer;
	} else if (cell->type == ROWS_TEXT && c->numbers &&
		   cell->text->id < c->id_count &&
		   c->by_id[cell->text->id]) {
		c->numbers[c->count++] = c->by_id[cell->text->id] - 1;
	} else {
		return parquet_column_add(c, cell);
	}
	if (c->levels)
		c->levels[c->rows] = 1;
	c->rows++;
	return 0;
}
/*
 * Write the pages of so many rows at o->written, and the column's ColumnChunk to t; add to what all of the row
 * group takes. The column is empty then. 0 or -ENOMEM.
 */
int parquet_column_write(struct parquet_column *c, size_t rows,
			 struct parquet_packer *p, struct out *o,
			 struct thrift *t, uint64_t *plain, uint64_t *packed);
void parquet_column_free(struct parquet_column *c);

#endif
