// SPDX-License-Identifier: GPL-2.0-or-later
/* What a cursor gives, in cells: a cell that does not change is set once. */
#include "query/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/objects/objects.h"
#include "analysis/trace.h"
#include "lib/format/trace.h"
#include "query/table.h"
#include "report/objects.h"

enum {
	A_TIME, A_TASK, A_PID, A_TID, A_THREAD, A_CPU, A_NODE, A_TYPE, A_MODE,
	A_ADDR, A_PAGE, A_IP, A_PHYS, A_INTERVAL, A_WEIGHT, A_STACK, A_OBJECT,
	A_KIND, A_SITE, A_COLUMNS
};

#define NUMBER(name) { name, ROWS_INTEGER, 0 }
#define ADDRESS(name) { name, ROWS_INTEGER, 1 }
#define TEXT(name) { name, ROWS_TEXT, 0 }

/* As query_accesses and query_counts have them. */
static const struct rows_column access_columns[] = {
	NUMBER("time_ns"), NUMBER("task"), NUMBER("pid"), NUMBER("tid"),
	TEXT("thread"), NUMBER("cpu"), NUMBER("node"), TEXT("type"),
	TEXT("mode"), ADDRESS("addr"), ADDRESS("page"), ADDRESS("ip"),
	ADDRESS("phys"), NUMBER("interval"), NUMBER("weight"), NUMBER("stack"),
	TEXT("object"), TEXT("kind"), TEXT("site"),
};

enum {
	C_TASK, C_PID, C_TID, C_THREAD, C_ADDR, C_GRANULARITY, C_SLICE,
	C_BEGIN, C_END, C_LOADS, C_STORES, C_FIRST_NS, C_FIRST_TYPE, C_COLUMNS
};

static const struct rows_column count_columns[] = {
	NUMBER("task"), NUMBER("pid"), NUMBER("tid"), TEXT("thread"),
	ADDRESS("addr"), NUMBER("granularity"), NUMBER("slice"),
	NUMBER("begin_ns"), NUMBER("end_ns"), NUMBER("loads"),
	NUMBER("stores"), NUMBER("first_ns"), TEXT("first_type"),
};

/* Texts that all rows share; their ids come first. */
static const struct rows_text types[] = {
	{ "unknown", 7, 1 }, { "read", 4, 2 }, { "write", 5, 3 },
	{ "exec", 4, 4 },
}, modes[] = { { "user", 4, 5 }, { "kernel", 6, 6 } },
  firsts[] = { { "load", 4, 7 }, { "store", 5, 8 } };

#define FIRST_ID 16
#define KINDS (MOCA_OBJECT_MOCA + 1)

/* Texts of an object. */
struct labels {
	struct rows_text name, site;
	const struct rows_text *kind;
	uint8_t wanted;
};

struct walk {
	struct rows rows;	/* first */
	struct query *q;
	struct query_filter filter;
	struct moca_ahead *ahead;	/* of cursor */
	struct moca_cursor *cursor;
	const struct moca_chunk *chunk;
	const struct moca_counts *counts;
	size_t at;		/* in it, the next one */
	uint32_t task;
	size_t task_index;
	size_t taken;		/* of the task's keys, before the chunk */
	uint64_t page_mask;
	struct moca_access last;	/* whose place the cells have */
	struct rows_text *threads;	/* by index of the task */
	struct query_keys *keys;	/* NULL: without objects */
	struct query_keys_view *view;
	struct labels *labels;	/* by id of the object */
	size_t label_count;
	struct rows_text kinds[KINDS];
	struct rows_cell cells[A_COLUMNS];
};

void query_walk_close(struct rows *r)
{
	struct walk *w = (struct walk *)r;

	moca_cursor_close(w->cursor);
	moca_ahead_free(w->ahead);
	free(w->view);
	query_keys_put(w->keys);
	free(w->threads);
	free(w->labels);
	free(w);
}

/* Without branches: of many columns it is by chance whether they change. */
static inline void set_cell(struct walk *w, int i, enum rows_type type,
			    int64_t value)
{
	struct rows_cell *c = &w->cells[i];

	w->rows.changed |= (uint64_t)((c->type != type) |
				      (c->integer != value)) << i;
	c->type = type;
	c->integer = value;
}

static void set(struct walk *w, int i, uint64_t value)
{
	set_cell(w, i, ROWS_INTEGER, (int64_t)value);
}

static void set_or_null(struct walk *w, int i, int known, uint64_t value)
{
	set_cell(w, i, known ? ROWS_INTEGER : ROWS_NULL,
		 known ? (int64_t)value : 0);
}

static void set_text(struct walk *w, int i, const struct rows_text *text)
{
	struct rows_cell *c = &w->cells[i];

	w->rows.changed |= (uint64_t)(c->type == ROWS_NULL ||
				      c->text != text) << i;
	c->type = text ? ROWS_TEXT : ROWS_NULL;
	c->text = text;
}

static uint64_t since(const struct walk *w, uint64_t ns)
{
	return ns - w->q->origin;
}

/* task, pid, tid and thread, from column `first` on. */
static void set_task(struct walk *w, int first, uint32_t task)
{
	const struct moca_task *t;

	w->task = task;
	w->task_index = trace_task_index(w->q->t, task);
	set(w, first, task);
	if (w->task_index == SIZE_MAX) {
		for (int i = 1; i < 4; i++)
			set_or_null(w, first + i, 0, 0);
		return;
	}
	t = moca_trace_task(w->q->t, w->task_index);
	set(w, first + 1, t->pid);
	set(w, first + 2, t->tid);
	set_text(w, first + 3, t->name ? &w->threads[w->task_index] : NULL);
}

/* 1: a chunk with accesses; 0, -errno. */
static int next_chunk(struct walk *w)
{
	int ret;

	do {
		w->taken += w->chunk ? w->chunk->count : 0;
		ret = moca_cursor_chunk(w->cursor, &w->chunk);
		if (ret <= 0) {
			w->chunk = NULL;
			return ret;
		}
		if (w->chunk->task != w->task) {
			w->taken = 0;
			set_task(w, A_TASK, w->chunk->task);
		}
	} while (!w->chunk->count);
	set(w, A_INTERVAL, w->chunk->interval);
	w->at = 0;
	return 1;
}

/* Whether the access is wanted. */
static int set_object(struct walk *w, size_t at)
{
	uint32_t id = query_keys_id(w->view, w->task_index, w->taken + at);
	const struct labels *l = id < w->label_count ? &w->labels[id] : NULL;

	if (!l) {
		set_text(w, A_OBJECT, NULL);
		set_text(w, A_KIND, NULL);
		set_text(w, A_SITE, NULL);
		return !w->filter.object;
	}
	if (!l->wanted)
		return 0;
	set_text(w, A_OBJECT, &l->name);
	set_text(w, A_KIND, l->kind);
	set_text(w, A_SITE, &l->site);
	return 1;
}

/* Keys may be of a larger window than was asked for, so all of it is looked at. */
static int is_in(const struct walk *w, const struct moca_access *a)
{
	const struct moca_query *r = &w->filter.range;

	return a->addr >= r->addr_begin &&
	       (!r->addr_end || a->addr < r->addr_end) &&
	       a->time_ns >= r->begin_ns &&
	       (!r->end_ns || a->time_ns < r->end_ns) &&
	       (!r->one_task || w->task == r->task);
}

/* Of accesses that follow each other this is mostly the same. */
static int same_place(const struct moca_access *a, const struct moca_access *b)
{
	return a->cpu == b->cpu && a->node == b->node && a->mode == b->mode &&
	       a->phys == b->phys && a->weight == b->weight &&
	       a->stack == b->stack;
}

static void set_place(struct walk *w, const struct moca_access *a)
{
	set(w, A_CPU, a->cpu);
	set_or_null(w, A_NODE, a->node >= 0, (uint64_t)a->node);
	set_text(w, A_MODE, &modes[a->mode != 0]);
	set_or_null(w, A_PHYS, a->phys != 0, a->phys);
	set(w, A_WEIGHT, a->weight);
	set_or_null(w, A_STACK, a->stack != 0, a->stack);
	w->last = *a;
}

static int next_access(struct rows *r)
{
	struct walk *w = (struct walk *)r;
	const struct moca_access *a;
	int ret;

	w->rows.changed = 0;
	for (;;) {
		if (!w->chunk || w->at == w->chunk->count) {
			ret = next_chunk(w);
			if (ret <= 0)
				return ret;
		}
		a = &w->chunk->accesses[w->at++];
		if (is_in(w, a) &&
		    (!w->keys || set_object(w, w->at - 1)))
			break;
	}
	set_or_null(w, A_TIME, a->time_ns != 0, since(w, a->time_ns));
	set_text(w, A_TYPE, &types[a->type < 4 ? a->type : 0]);
	/* It changes by chance: who writes rows goes the same way in each. */
	w->rows.changed |= 1u << A_TYPE;
	set(w, A_ADDR, a->addr);
	set(w, A_PAGE, a->addr & w->page_mask);
	set_or_null(w, A_IP, a->ip != 0, a->ip);
	if (!same_place(a, &w->last))
		set_place(w, a);
	return 1;
}

static int next_counts(struct walk *w)
{
	const struct moca_counts *s;
	int ret;

	do {
		ret = moca_cursor_counts(w->cursor, &w->counts);
		if (ret <= 0) {
			w->counts = NULL;
			return ret;
		}
	} while (!w->counts->count);
	s = w->counts;
	w->at = 0;
	if (s->task != w->task)
		set_task(w, C_TASK, s->task);
	set(w, C_GRANULARITY, s->granularity);
	set(w, C_SLICE, s->slice);
	set_or_null(w, C_BEGIN, s->begin_ns != 0, since(w, s->begin_ns));
	set_or_null(w, C_END, s->end_ns != 0, since(w, s->end_ns));
	return 1;
}

static int next_count(struct rows *r)
{
	struct walk *w = (struct walk *)r;
	const struct moca_count *c;
	int ret;

	w->rows.changed = 0;
	if (!w->counts || w->at == w->counts->count) {
		ret = next_counts(w);
		if (ret <= 0)
			return ret;
	}
	c = &w->counts->rows[w->at++];
	set(w, C_ADDR, c->addr);
	set(w, C_LOADS, c->loads);
	set(w, C_STORES, c->stores);
	set_or_null(w, C_FIRST_NS, c->first_ns != 0, since(w, c->first_ns));
	set_text(w, C_FIRST_TYPE,
		 c->first_ns ? &firsts[c->first_store != 0] : NULL);
	return 1;
}

static struct rows_text text(const char *s, uint32_t *id)
{
	return (struct rows_text){ s, (uint32_t)strlen(s), (*id)++ };
}

static int name_threads(struct walk *w, uint32_t *id)
{
	size_t n = moca_trace_task_count(w->q->t);

	w->threads = calloc(n + 1, sizeof(*w->threads));
	for (size_t i = 0; w->threads && i < n; i++) {
		const char *name = moca_trace_task(w->q->t, i)->name;

		w->threads[i] = text(name ? name : "", id);
	}
	return w->threads ? 0 : -ENOMEM;
}

/* Keys are told of all accesses of a window: addresses are looked at here. */
static int find_objects(struct walk *w, struct moca_query *range, uint32_t *id)
{
	const struct moca_object *o;
	size_t n;
	int err;

	range->addr_begin = range->addr_end = 0;
	err = query_keys_of(w->q, range, &w->keys);
	if (err)
		return err;
	o = moca_objects_rows(query_keys_objects(w->keys), &n);
	w->view = query_keys_view_new(w->keys);
	w->labels = calloc(n + 1, sizeof(*w->labels));
	if (!w->view || !w->labels)
		return -ENOMEM;
	w->label_count = n;
	for (size_t i = 0; i < n; i++)
		w->labels[i] = (struct labels){
			text(o[i].name, id), text(o[i].site, id),
			&w->kinds[o[i].kind],
			!w->filter.object ||
				!sqlite3_strglob(w->filter.object, o[i].name),
		};
	for (int i = 0; i < KINDS; i++)
		w->kinds[i] = text(objects_kind((enum moca_object_kind)i), id);
	return 0;
}

static int open_accesses(struct walk *w)
{
	struct moca_query range = w->filter.range;
	uint32_t id = FIRST_ID;
	int objects = !w->filter.no_objects, err = name_threads(w, &id);

	w->rows.next = next_access;
	w->rows.columns = access_columns;
	w->rows.count = objects ? A_COLUMNS : A_OBJECT;
	/* No access has it: the first one's place is set. */
	w->last.weight = UINT16_MAX;
	w->page_mask = ~((1ull << trace_page_shift(w->q->t)) - 1);
	if (!err && objects)
		err = find_objects(w, &range, &id);
	if (!err)
		err = moca_cursor_open(&w->cursor, w->q->t, &range);
	if (err)
		return err;
	w->ahead = moca_ahead_new();
	if (!w->ahead)
		return -ENOMEM;
	moca_cursor_ahead(w->cursor, w->ahead);
	return 0;
}

static int open_counts(struct walk *w)
{
	uint32_t id = FIRST_ID;
	int err = name_threads(w, &id);

	w->rows.next = next_count;
	w->rows.columns = count_columns;
	w->rows.count = C_COLUMNS;
	return err ? err : moca_cursor_open(&w->cursor, w->q->t,
					    &w->filter.range);
}

int query_walk_open(struct rows **out, struct query *q, const char *table,
		    const struct query_filter *f)
{
	struct walk *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->q = q;
	w->filter = *f;
	w->filter.range.size = sizeof(w->filter.range);
	w->task = MOCA_NO_TASK;
	w->rows.name = table;
	w->rows.cells = w->cells;
	err = !strcmp(table, "accesses") ? open_accesses(w) : open_counts(w);
	if (err)
		query_walk_close(&w->rows);
	else
		*out = &w->rows;
	return err;
}
