// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of any table by SQLite; accesses and counts are walked without it. */
#include "query/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/table.h"
#include "query/walk.h"

/* A table as SQLite gives it. */
struct selected {
	struct rows rows;	/* first */
	struct query *q;
	sqlite3_stmt *s;
	struct rows_text *text;	/* of each column */
};

static void close_selected(struct selected *x)
{
	sqlite3_finalize(x->s);
	free((void *)x->rows.columns);
	free((char *)x->rows.name);
	free(x->rows.cells);
	free(x->text);
	free(x);
}

static void fill(struct selected *x, int i)
{
	struct rows_cell *c = &x->rows.cells[i];
	const char *s;

	switch (sqlite3_column_type(x->s, i)) {
	case SQLITE_NULL:
		c->type = ROWS_NULL;
		break;
	case SQLITE_INTEGER:
		c->type = ROWS_INTEGER;
		c->integer = sqlite3_column_int64(x->s, i);
		break;
	case SQLITE_FLOAT:
		c->type = ROWS_REAL;
		c->real = sqlite3_column_double(x->s, i);
		break;
	default:
		s = (const char *)sqlite3_column_text(x->s, i);
		c->type = s ? ROWS_TEXT : ROWS_NULL;
		x->text[i] = (struct rows_text){
			.s = s, .len = (uint32_t)sqlite3_column_bytes(x->s, i),
		};
		c->text = &x->text[i];
	}
}

static int next_selected(struct rows *r)
{
	struct selected *x = (struct selected *)r;
	int ret = sqlite3_step(x->s);

	if (ret == SQLITE_ROW) {
		for (int i = 0; i < (int)r->count; i++)
			fill(x, i);
		return 1;
	}
	if (ret == SQLITE_DONE)
		return 0;
	if (query_failure(x->q))
		return query_failure(x->q);
	return ret == SQLITE_NOMEM ? -ENOMEM : -EIO;
}

static enum rows_type type_of(const char *declared)
{
	/* Of our views what has no type is a sum or a count. */
	if (!declared || !sqlite3_stricmp(declared, "INTEGER"))
		return ROWS_INTEGER;
	return sqlite3_stricmp(declared, "REAL") ? ROWS_TEXT : ROWS_REAL;
}

static int is_address(const char *name)
{
	static const char *const names[] = { "addr", "page", "ip", "phys" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], name))
			return 1;
	return 0;
}

/* Of what programs emit it is the field's type that says so. */
static int is_unsigned(const struct query *q, const char *table, size_t column,
		       const char *name)
{
	for (size_t i = 0; i < q->event_count; i++) {
		const struct moca_event_type *e = q->events[i].event;
		const struct moca_field *f;

		if (sqlite3_stricmp(q->events[i].name, table))
			continue;
		if (column < QUERY_MOMENT_COLUMNS ||
		    column - QUERY_MOMENT_COLUMNS >= e->field_count)
			return 0;
		f = &e->fields[column - QUERY_MOMENT_COLUMNS];
		return f->size == 8 && (f->kind == MOCA_FIELD_UNSIGNED ||
					f->kind == MOCA_FIELD_HEX);
	}
	return is_address(name);
}

static int prepare(struct query *q, const char *sql, sqlite3_stmt **s)
{
	int err = sql ? sqlite3_prepare_v2(q->db, sql, -1, s, NULL) :
			SQLITE_NOMEM;

	return !err ? 0 : err == SQLITE_NOMEM ? -ENOMEM : -ENOENT;
}

static int has_column(sqlite3_stmt *s, const char *name)
{
	for (int i = 0; i < sqlite3_column_count(s); i++)
		if (!sqlite3_stricmp(sqlite3_column_name(s, i), name))
			return 1;
	return 0;
}

/* Addresses of programs are below 2^63; SQL's integers have a sign. */
static sqlite3_int64 as_integer(uint64_t addr)
{
	return addr > INT64_MAX ? INT64_MAX : (sqlite3_int64)addr;
}

/* The conditions of f that the columns of s can meet. */
static void add_conditions(sqlite3_str *sql, sqlite3_stmt *s,
			   const struct query *q, const struct query_filter *f)
{
	const struct moca_query *r = &f->range;
	const char *word = " WHERE";

	if (has_column(s, "time_ns") && r->begin_ns) {
		sqlite3_str_appendf(sql, "%s time_ns >= %lld", word,
				    (sqlite3_int64)(r->begin_ns - q->origin));
		word = " AND";
	}
	if (has_column(s, "time_ns") && r->end_ns) {
		sqlite3_str_appendf(sql, "%s time_ns < %lld", word,
				    (sqlite3_int64)(r->end_ns - q->origin));
		word = " AND";
	}
	if (has_column(s, "task") && r->one_task) {
		sqlite3_str_appendf(sql, "%s task = %u", word, r->task);
		word = " AND";
	}
	if (has_column(s, "addr") && (r->addr_begin || r->addr_end)) {
		sqlite3_str_appendf(sql, "%s addr >= %lld", word,
				    as_integer(r->addr_begin));
		word = " AND";
		if (r->addr_end)
			sqlite3_str_appendf(sql, " AND addr < %lld",
					    as_integer(r->addr_end));
	}
	if (has_column(s, "object") && f->object)
		sqlite3_str_appendf(sql, "%s object GLOB %Q", word, f->object);
}

static int select_rows(struct selected *x, const char *table,
		       const struct query_filter *f)
{
	sqlite3_str *sql = sqlite3_str_new(x->q->db);
	struct rows_column *columns;
	sqlite3_stmt *any;
	char *text;
	int err, n;

	sqlite3_str_appendf(sql, "SELECT * FROM \"%w\"", table);
	err = prepare(x->q, sqlite3_str_value(sql), &any);
	if (!err) {
		add_conditions(sql, any, x->q, f);
		sqlite3_finalize(any);
	}
	text = sqlite3_str_finish(sql);
	if (!err)
		err = prepare(x->q, text, &x->s);
	sqlite3_free(text);
	if (err)
		return err;
	n = sqlite3_column_count(x->s);
	columns = calloc((size_t)n + 1, sizeof(*columns));
	x->rows.columns = columns;
	x->rows.cells = calloc((size_t)n + 1, sizeof(*x->rows.cells));
	x->text = calloc((size_t)n + 1, sizeof(*x->text));
	if (!columns || !x->rows.cells || !x->text)
		return -ENOMEM;
	x->rows.count = (size_t)n;
	for (int i = 0; i < n; i++) {
		const char *name = sqlite3_column_name(x->s, i);

		columns[i] = (struct rows_column){
			name, type_of(sqlite3_column_decltype(x->s, i)),
			is_unsigned(x->q, table, (size_t)i, name),
		};
	}
	return 0;
}

int query_rows_open(struct rows **out, struct query *q, const char *table,
		    const struct query_filter *f)
{
	struct selected *x;
	int err;

	if (!strcmp(table, "accesses") || !strcmp(table, "counts"))
		return query_walk_open(out, q, table, f);
	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->q = q;
	x->rows.next = next_selected;
	x->rows.changed = UINT64_MAX;
	x->rows.name = strdup(table);
	err = x->rows.name ? select_rows(x, table, f) : -ENOMEM;
	if (err)
		close_selected(x);
	else
		*out = &x->rows;
	return err;
}

void query_rows_close(struct rows *r)
{
	if (r && r->next == next_selected)
		close_selected((struct selected *)r);
	else if (r)
		query_walk_close(r);
}
