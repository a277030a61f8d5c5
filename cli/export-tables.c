// SPDX-License-Identifier: GPL-2.0-or-later
/* Formats that have the tables of `moca query`, a file each. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/export.h"
#include "export/parquet.h"
#include "export/table.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "lib/text/text.h"
#include "query/export.h"

static const struct table_format {
	const char *name, *suffix;
	int (*write)(struct out *o, struct rows *r, uint64_t *count);
} formats[] = {
	{ "csv", "csv", table_csv },
	{ "jsonl", "jsonl", table_json },
	{ "parquet", "parquet", parquet_write },
};

struct tables {
	struct export *x;
	const struct table_format *format;
	struct query *q;
	uint64_t rows, bytes, files;
	struct string_list names;	/* strdup() */
};

/* Of all that there is these are written if they are asked for alone. */
static int is_left_out(const char *name)
{
	return !strcmp(name, "pages") || !strcmp(name, "all_object_nodes");
}

static int add_name(struct tables *t, const char *name)
{
	struct string_list *l = &t->names;
	char *copy = strdup(name);

	if (!copy || moca_vec_fit(l->items, l->room, l->count + 1)) {
		free(copy);
		return -ENOMEM;
	}
	l->items[l->count++] = copy;
	return 0;
}

/* Tables have one name in any case of letters. */
static int has_name(const struct tables *t, const char *name)
{
	for (size_t i = 0; i < t->names.count; i++)
		if (!strcasecmp(t->names.items[i], name))
			return 1;
	return 0;
}

static int look(void *arg, const char *name, const char *sql)
{
	struct tables *t = arg;

	return is_left_out(name) ? 0 : add_name(t, name);
}

static int find_names(struct tables *t)
{
	const struct string_list *asked = &t->x->tables;
	int err = 0;

	if (!asked->count)
		return query_schema(t->q, look, t);
	for (size_t i = 0; i < asked->count && !err; i++)
		if (!has_name(t, asked->items[i]))
			err = add_name(t, asked->items[i]);
	return err;
}

static int open_file(struct tables *t, const char *table)
{
	char name[256];
	int n;

	if (t->x->fd >= 0)
		return t->x->fd;
	n = snprintf(name, sizeof(name), "%s.%s", table, t->format->suffix);
	/* Names of tables may be a program's: letters, digits and _. */
	return n >= (int)sizeof(name) || strchr(name, '/') ?
		       -ENAMETOOLONG : export_create(t->x, name);
}

static int write_table(struct tables *t, const char *table)
{
	const struct query_filter f = {
		.range = t->x->range, .object = t->x->object,
		.no_objects = t->x->no_objects,
	};
	uint64_t count = 0;
	struct rows *r;
	struct out o;
	int err, failed, fd;

	err = query_rows_open(&r, t->q, table, &f);
	if (err == -ENOENT) {
		moca_error("export: the trace '%s' has no table '%s' ('moca query %s .tables' lists them)",
			   t->x->trace, table, t->x->trace);
		t->x->refused = 1;
	}
	if (err) {
		t->x->read_failed = 1;
		return err;
	}
	fd = open_file(t, table);
	err = fd < 0 ? fd : out_open(&o, fd);
	if (!err) {
		err = t->format->write(&o, r, &count);
		t->x->read_failed = err && !o.error;
		failed = out_close(&o);
		err = err ? err : failed;
		t->bytes += o.written;
	}
	if (fd >= 0 && fd != t->x->fd && close(fd) && !err)
		err = -errno;
	query_rows_close(r);
	t->rows += count;
	t->files++;
	return err;
}

static void say(const struct tables *t)
{
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX];

	if (!t->x->quiet && t->x->fd < 0)
		moca_say("%s: %s row%s in %s file%s, %s", t->x->out,
			 text_count(a, t->rows), PLURAL(t->rows),
			 text_count(b, t->files), PLURAL(t->files),
			 text_size(c, t->bytes));
}

int export_tables(struct export *x)
{
	struct tables t = { .x = x, .format = formats };
	int err;

	while (strcmp(t.format->name, x->to))
		t.format++;
	err = query_open(&t.q, x->t);
	x->read_failed = err != 0;
	if (!err)
		err = find_names(&t);
	for (size_t i = 0; i < t.names.count; i++) {
		if (!err)
			err = write_table(&t, t.names.items[i]);
		free((char *)t.names.items[i]);
	}
	free(t.names.items);
	query_close(t.q);
	if (!err)
		say(&t);
	return err;
}
