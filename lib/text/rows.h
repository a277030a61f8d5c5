/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table as rows that come one after the other: query/ has them, export/ writes
 * them, and neither knows the other.
 */
#ifndef MOCA_TEXT_ROWS_H
#define MOCA_TEXT_ROWS_H

#include <stddef.h>
#include <stdint.h>

enum rows_type { ROWS_NULL, ROWS_INTEGER, ROWS_REAL, ROWS_TEXT };

/*
 * id: from 1, and as long as the rows are open it stands for this text; 0: the
 * text is of this row alone. Different ids may have equal texts.
 */
struct rows_text {
	const char *s;
	uint32_t len;
	uint32_t id;
};

/* Integers above INT64_MAX are below 0, as in SQL. */
struct rows_cell {
	enum rows_type type;
	union {
		int64_t integer;
		double real;
		const struct rows_text *text;
	};
};

struct rows_column {
	const char *name;
	enum rows_type type;	/* of most cells; never ROWS_NULL */
	int is_unsigned;	/* of integers: those below 0 are 2^63 or more */
};

struct rows {
	const char *name;	/* of the table */
	const struct rows_column *columns;
	size_t count;		/* of columns */
	/* The row at hand: who writes it does not change it. */
	struct rows_cell *cells;
	/*
	 * Bit i: cell i may differ from that of the row before; bit 63: all from
	 * 63 on may. Of the first row it says nothing.
	 */
	uint64_t changed;
	/* The next row: 1, at the end 0, or -errno. */
	int (*next)(struct rows *r);
};

#endif
