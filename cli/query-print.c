// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/query-print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/utf8.h"
#include "lib/text/json.h"
#include "lib/text/text.h"

/* Rows that decide how wide columns are. */
#define ROWS_KEPT 1000

/* What could act on a terminal is \xHH there; elsewhere all is as it is. */
static void print_csv_bytes(const char *p, size_t len, int escaped)
{
	size_t i;

	for (i = 0; i < len && !strchr(",\"\r\n", p[i]); i++)
		;
	/* strchr() finds the NUL as well. */
	if (i == len) {
		if (escaped)
			text_name(stdout, p, 0);
		else
			fwrite(p, 1, len, stdout);
		return;
	}
	putchar('"');
	for (i = 0; i < len; i++) {
		if (p[i] == '"')
			putchar('"');
		if (escaped && ((unsigned char)p[i] < ' ' || p[i] == 0x7f))
			printf("\\x%02x", (unsigned char)p[i]);
		else
			putchar(p[i]);
	}
	putchar('"');
}

static int print_csv(sqlite3_stmt *s)
{
	int n = sqlite3_column_count(s), escaped = isatty(STDOUT_FILENO), ret;

	for (int i = 0; i < n; i++) {
		const char *name = sqlite3_column_name(s, i);

		if (i)
			putchar(',');
		print_csv_bytes(name, strlen(name), escaped);
	}
	putchar('\n');
	while ((ret = sqlite3_step(s)) == SQLITE_ROW) {
		for (int i = 0; i < n; i++) {
			const char *p = (const char *)sqlite3_column_text(s, i);

			if (i)
				putchar(',');
			if (p)
				print_csv_bytes(p, (size_t)sqlite3_column_bytes(s, i),
						escaped);
		}
		putchar('\n');
	}
	return ret;
}

/* Names of columns that are told apart: a, a_2. */
static char **names_of(sqlite3_stmt *s, int n)
{
	char **names = calloc((size_t)n + 1, sizeof(*names));

	for (int i = 0; names && i < n; i++) {
		const char *name = sqlite3_column_name(s, i);
		int same = 1;

		for (int k = 0; k < i; k++)
			same += !strcmp(sqlite3_column_name(s, k), name);
		names[i] = same > 1 ? sqlite3_mprintf("%s_%d", name, same) :
				      sqlite3_mprintf("%s", name);
	}
	return names;
}

static void json_value(struct json *j, const char *key, sqlite3_stmt *s, int i)
{
	switch (sqlite3_column_type(s, i)) {
	case SQLITE_NULL:
		json_null(j, key);
		break;
	case SQLITE_INTEGER:
		json_int(j, key, sqlite3_column_int64(s, i));
		break;
	case SQLITE_FLOAT:
		json_double(j, key, sqlite3_column_double(s, i));
		break;
	default:
		json_string(j, key, (const char *)sqlite3_column_text(s, i));
	}
}

static int print_json(sqlite3_stmt *s)
{
	struct json j = { .f = stdout };
	int n = sqlite3_column_count(s), ret;
	char **names = names_of(s, n);

	if (!names)
		return SQLITE_NOMEM;
	json_open(&j, NULL, '[');
	while ((ret = sqlite3_step(s)) == SQLITE_ROW) {
		json_open(&j, NULL, '{');
		for (int i = 0; i < n; i++)
			json_value(&j, names[i] ? names[i] : "", s, i);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	putchar('\n');
	for (int i = 0; i < n; i++)
		sqlite3_free(names[i]);
	free(names);
	return ret;
}

/* A table: rows are kept as text until the widths are known. */
struct rows {
	int columns;
	size_t count;
	char **cells;	/* [row * columns + column]; NULL is NULL */
	int *width;
	int *text;	/* the column has text: it begins at the left */
};

/* What is shown of a value, with what could act on the terminal as \xHH. */
static char *shown(const char *value)
{
	char *text = NULL;
	size_t len;
	FILE *f = value ? open_memstream(&text, &len) : NULL;

	if (!f)
		return NULL;
	text_name(f, value, 0);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

static int columns_of(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}

static void print_cell(const struct rows *r, const char *cell, int i)
{
	int fill = cell ? r->width[i] - columns_of(cell) : r->width[i];

	if (!r->text[i])
		printf("%*s", fill > 0 ? fill : 0, "");
	if (cell)
		fputs(cell, stdout);
	if (i + 1 == r->columns) {
		putchar('\n');
		return;
	}
	if (r->text[i])
		printf("%*s", fill > 0 ? fill : 0, "");
	fputs("  ", stdout);
}

static void print_heads(const struct rows *r, sqlite3_stmt *s)
{
	for (int i = 0; i < r->columns; i++) {
		char *name = shown(sqlite3_column_name(s, i));

		print_cell(r, name, i);
		free(name);
	}
	for (int i = 0; i < r->columns; i++) {
		for (int k = 0; k < r->width[i]; k++)
			putchar('-');
		fputs(i + 1 < r->columns ? "  " : "\n", stdout);
	}
}

static void widen(struct rows *r, const char *cell, int i)
{
	int n = cell ? columns_of(cell) : 0;

	if (n > r->width[i])
		r->width[i] = n;
}

static char *cell_of(struct rows *r, sqlite3_stmt *s, int i)
{
	int type = sqlite3_column_type(s, i);

	if (type == SQLITE_TEXT || type == SQLITE_BLOB)
		r->text[i] = 1;
	return shown((const char *)sqlite3_column_text(s, i));
}

static void print_kept(const struct rows *r, sqlite3_stmt *s)
{
	print_heads(r, s);
	for (size_t k = 0; k < r->count; k++)
		for (int i = 0; i < r->columns; i++)
			print_cell(r, r->cells[k * (size_t)r->columns + (size_t)i],
				   i);
}

static int keep_rows(struct rows *r, sqlite3_stmt *s)
{
	int ret = SQLITE_DONE;

	for (int i = 0; i < r->columns; i++)
		widen(r, sqlite3_column_name(s, i), i);
	while (r->count < ROWS_KEPT && (ret = sqlite3_step(s)) == SQLITE_ROW) {
		char **row = r->cells + r->count++ * (size_t)r->columns;

		for (int i = 0; i < r->columns; i++) {
			row[i] = cell_of(r, s, i);
			widen(r, row[i], i);
		}
	}
	return ret;
}

static int print_table(sqlite3_stmt *s)
{
	struct rows r = { .columns = sqlite3_column_count(s) };
	size_t cells = (size_t)r.columns * ROWS_KEPT;
	int ret = SQLITE_NOMEM;

	r.cells = calloc(cells + 1, sizeof(*r.cells));
	r.width = calloc((size_t)r.columns + 1, sizeof(*r.width));
	r.text = calloc((size_t)r.columns + 1, sizeof(*r.text));
	if (r.cells && r.width && r.text) {
		ret = keep_rows(&r, s);
		print_kept(&r, s);
		while (ret == SQLITE_ROW && (ret = sqlite3_step(s)) == SQLITE_ROW)
			for (int i = 0; i < r.columns; i++) {
				char *cell = cell_of(&r, s, i);

				print_cell(&r, cell, i);
				free(cell);
			}
	}
	for (size_t i = 0; r.cells && i < cells; i++)
		free(r.cells[i]);
	free(r.cells);
	free(r.width);
	free(r.text);
	return ret;
}

int query_print(sqlite3_stmt *s, enum query_format format)
{
	switch (format) {
	case QUERY_CSV:
		return print_csv(s);
	case QUERY_JSON:
		return print_json(s);
	default:
		return print_table(s);
	}
}
