// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What programs emitted, libmoca-alloc's allocations and the sampler's rates
 * included: all of it in one table, and a table for each type of events.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text/json.h"
#include "query/table.h"

enum { TIME, TASK, PID, TID, THREAD, TYPE, FACILITY, LOST, FIELDS };
/* Behind QUERY_MOMENT, of the table of one type. */
#define FIRST_FIELD TYPE

static int open_walk(struct query_cursor *c)
{
	struct moca_query range = c->scan.range;

	/* What was lost ahead of a time is told by the events there. */
	if (!c->table->event && c->scan.columns & 1u << LOST)
		range.begin_ns = range.end_ns = 0;
	return moca_cursor_open(&c->walk, c->q->t, &range);
}

static int next_event(struct query_cursor *c)
{
	int ret;

	do
		ret = moca_cursor_event(c->walk, &c->event, &c->task);
	while (ret > 0 && c->table->event && c->event->type != c->table->event);
	return ret;
}

static const char *label(const struct moca_field *f, int64_t x)
{
	for (size_t i = 0; i < f->label_count; i++)
		if (f->labels[i].value == x)
			return f->labels[i].label;
	return NULL;
}

static void put_element(struct json *j, const char *key,
			const struct moca_value *v, size_t i)
{
	const char *name;

	switch (v->field->kind) {
	case MOCA_FIELD_SIGNED:
		json_int(j, key, (int64_t)moca_value_integer(v, i));
		break;
	case MOCA_FIELD_FLOAT:
		json_double(j, key, moca_value_float(v, i));
		break;
	case MOCA_FIELD_ENUM:
		name = label(v->field, (int64_t)moca_value_integer(v, i));
		if (name)
			json_string(j, key, name);
		else
			json_int(j, key, (int64_t)moca_value_integer(v, i));
		break;
	default:
		json_uint(j, key, moca_value_integer(v, i));
	}
}

static void put_value(struct json *j, const char *key,
		      const struct moca_value *v)
{
	if (v->field->kind == MOCA_FIELD_STRING) {
		json_string(j, key, (const char *)v->data);
		return;
	}
	if (v->field->shape == MOCA_FIELD_SCALAR) {
		put_element(j, key, v, 0);
		return;
	}
	json_open(j, key, '[');
	for (size_t i = 0; i < v->count; i++)
		put_element(j, NULL, v, i);
	json_close(j, ']');
}

/* On one line: outside of strings, which have no newline, lines are indented. */
static size_t flatten(char *text, size_t len)
{
	size_t n = 0, i = 0;

	while (i < len) {
		if (text[i] != '\n') {
			text[n++] = text[i++];
			continue;
		}
		for (i++; i < len && text[i] == ' '; i++)
			;
	}
	return n;
}

/* One value; or, without it, all fields of the event. */
static void as_json(sqlite3_context *out, const struct moca_event *e,
		    const struct moca_value *one)
{
	struct moca_value v;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	struct json j = { .f = f };

	if (!f) {
		sqlite3_result_error_nomem(out);
		return;
	}
	if (one) {
		put_value(&j, NULL, one);
	} else {
		json_open(&j, NULL, '{');
		for (size_t i = 0; i < e->type->field_count; i++)
			if (!moca_event_value(e, i, &v))
				put_value(&j, v.field->name, &v);
		json_close(&j, '}');
	}
	if (fclose(f))
		sqlite3_result_error_nomem(out);
	else
		sqlite3_result_text64(out, text, flatten(text, len),
				      SQLITE_TRANSIENT, SQLITE_UTF8);
	free(text);
}

static void field(struct query_cursor *c, size_t i, sqlite3_context *out)
{
	struct moca_value v;
	const char *name;

	if (moca_event_value(c->event, i, &v)) {
		sqlite3_result_null(out);
	} else if (v.field->kind == MOCA_FIELD_STRING) {
		query_text(out, (const char *)v.data);
	} else if (v.field->shape != MOCA_FIELD_SCALAR) {
		as_json(out, c->event, &v);
	} else if (v.field->kind == MOCA_FIELD_FLOAT) {
		query_real(out, moca_value_float(&v, 0));
	} else {
		name = v.field->kind != MOCA_FIELD_ENUM ? NULL :
			       label(v.field, (int64_t)moca_value_integer(&v, 0));
		if (name)
			query_text(out, name);
		else
			query_u64(out, moca_value_integer(&v, 0));
	}
}

static void column(struct query_cursor *c, int i, sqlite3_context *out)
{
	const struct moca_event *e = c->event;

	if (query_moment(c->q, out, i, e->time_ns, c->task))
		return;
	if (c->table->event) {
		field(c, (size_t)(i - FIRST_FIELD), out);
		return;
	}
	switch (i) {
	case FACILITY:
		query_text(out, e->type->facility);
		break;
	case TYPE:
		query_text(out, e->type->name);
		break;
	case LOST:
		query_u64(out, e->lost);
		break;
	default:
		as_json(out, e, NULL);
	}
}

const struct query_table query_events = {
	.name = "events",
	.columns = QUERY_MOMENT ", event TEXT, facility TEXT, lost INTEGER, "
			  "fields TEXT",
	.time = TIME, .addr = QUERY_NO_COLUMN, .task = TASK,
	.open = open_walk, .next = next_event, .column = column,
};

static const char *sql_type(const struct moca_field *f)
{
	if (f->kind == MOCA_FIELD_STRING || f->kind == MOCA_FIELD_ENUM ||
	    f->shape != MOCA_FIELD_SCALAR)
		return "TEXT";
	return f->kind == MOCA_FIELD_FLOAT ? "REAL" : "INTEGER";
}

static int is_common(const char *name)
{
	static const char *const names[] = {
		"time_ns", "task", "pid", "tid", "thread"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcasecmp(names[i], name))
			return 1;
	return 0;
}

/* A name that no column before it has: "x", "x_2", ...; NULL: no memory. */
static char *column_name(const struct moca_event_type *type, char *const *before,
			 size_t i)
{
	for (unsigned int n = 1;; n++) {
		char *name = n == 1 ?
			sqlite3_mprintf("%s", type->fields[i].name) :
			sqlite3_mprintf("%s_%u", type->fields[i].name, n);
		int taken = name && is_common(name);

		for (size_t k = 0; name && k < i && !taken; k++)
			taken = before[k] && !sqlite3_stricmp(before[k], name);
		if (!taken)
			return name;
		sqlite3_free(name);
	}
}

static char *columns_of(const struct moca_event_type *type)
{
	char **names = calloc(type->field_count + 1, sizeof(*names));
	sqlite3_str *s = sqlite3_str_new(NULL);

	sqlite3_str_appendall(s, QUERY_MOMENT);
	for (size_t i = 0; names && i < type->field_count; i++) {
		names[i] = column_name(type, names, i);
		sqlite3_str_appendf(s, ", \"%w\" %s", names[i] ? names[i] : "",
				    sql_type(&type->fields[i]));
	}
	for (size_t i = 0; names && i < type->field_count; i++)
		sqlite3_free(names[i]);
	free(names);
	return sqlite3_str_finish(s);
}

/* moca_alloc_free: what is no letter, digit or _ becomes _. */
static char *name_of(const struct moca_event_type *type)
{
	char *name = sqlite3_mprintf("%s_%s", type->facility, type->name);

	for (char *p = name; p && *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_')
			*p = '_';
	return name;
}

int query_event_table(struct query_table *t, const struct moca_event_type *type)
{
	*t = query_events;
	t->event = type;
	t->name = name_of(type);
	t->columns = columns_of(type);
	if (t->name && t->columns)
		return 0;
	query_event_table_free(t);
	return -ENOMEM;
}

void query_event_table_free(struct query_table *t)
{
	sqlite3_free((char *)t->name);
	sqlite3_free((char *)t->columns);
	*t = (struct query_table){ 0 };
}
