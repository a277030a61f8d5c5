// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Accesses for statements that group or sort by what many of them have in common,
 * and ask for nothing else: task, type, object. Those that are alike in all columns
 * that are asked for are counted in one walk, and given one after the other, or as
 * one row if their number is asked for (alike.c), in the order that is asked for:
 * SQLite sorts nothing. Kinds of rows are bounded; where
 * there are more, SQLite sorts the rows themselves, in temporary files.
 */
#include "query/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/objects/objects.h"
#include "analysis/trace.h"
#include "lib/base/table.h"
#include "lib/format/trace.h"
#include "query/accesses.h"
#include "report/objects.h"

#define KINDS_MAX 1000000u	/* 32 bytes each, in a table twice as large */

/* Rows that are alike; what is not asked for is 0. */
struct kind {
	uint64_t who;		/* key of the row, or NO_KEY; task's index */
	uint64_t how;		/* mode, type, weight, node, CPU */
	uint64_t first;		/* so many kinds came before it */
	uint64_t count;		/* 0: empty */
};
#define NO_KEY UINT32_MAX
/* Where they are in these. */
enum { KEY_SHIFT = 32 };
enum { NODE_SHIFT = 16, WEIGHT_SHIFT = 32, TYPE_SHIFT = 48, MODE_SHIFT = 56 };

static uint32_t key_of(const struct kind *k)
{
	return (uint32_t)(k->who >> KEY_SHIFT);
}

static uint16_t cpu_of(const struct kind *k)
{
	return (uint16_t)k->how;
}

static int16_t node_of(const struct kind *k)
{
	return (int16_t)(k->how >> NODE_SHIFT);
}

static uint16_t weight_of(const struct kind *k)
{
	return (uint16_t)(k->how >> WEIGHT_SHIFT);
}

static uint8_t type_of(const struct kind *k)
{
	return (uint8_t)(k->how >> TYPE_SHIFT);
}

static uint8_t mode_of(const struct kind *k)
{
	return (uint8_t)(k->how >> MODE_SHIFT);
}

struct query_groups {
	struct query *q;
	uint64_t columns;
	uint64_t who, how;	/* the bits of kinds that are asked for */
	struct kind *kinds;	/* a hash while they are counted, then by order */
	size_t cap, count;
	struct moca_objects *objects;	/* or NULL */
	int error;		/* -E2BIG: there are too many */
	const char *order;	/* while they are sorted */
	sqlite3_stmt *sorted;	/* in place of kinds; or NULL */
	/* The row at hand. */
	size_t at;		/* of kinds */
	uint64_t left;		/* rows like it */
	struct moca_access access;
	struct moca_chunk chunk;	/* of that access alone */
};

static uint64_t hash_kind(const struct kind *k)
{
	return moca_mix(k->who ^ k->how * 0x9e3779b97f4a7c15ull);
}

static int same_kind(const struct kind *a, const struct kind *b)
{
	return a->who == b->who && a->how == b->how;
}

static int used_kind(const struct kind *k)
{
	return k->count != 0;
}

MOCA_TABLE(kinds, struct kind, hash_kind, same_kind, used_kind);

static int wants(const struct query_groups *g, uint64_t columns)
{
	return (g->columns & columns) != 0;
}

static void choose_bits(struct query_groups *g)
{
	static const struct {
		uint64_t columns, how;
	} bits[] = {
		{ 1u << ACCESS_CPU, UINT16_MAX },
		{ 1u << ACCESS_NODE, (uint64_t)UINT16_MAX << NODE_SHIFT },
		{ 1u << ACCESS_WEIGHT, (uint64_t)UINT16_MAX << WEIGHT_SHIFT },
		{ 1u << ACCESS_TYPE, (uint64_t)UINT8_MAX << TYPE_SHIFT },
		{ 1u << ACCESS_MODE, (uint64_t)UINT8_MAX << MODE_SHIFT },
	};

	g->who = (uint64_t)UINT32_MAX << KEY_SHIFT;
	if (wants(g, ACCESS_TASKS))
		g->who |= UINT32_MAX;
	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++)
		if (wants(g, bits[i].columns))
			g->how |= bits[i].how;
}

static void add(struct query_groups *g, size_t task, uint32_t key,
		const struct moca_access *a)
{
	struct kind k = { .count = 0 }, *at;

	if (g->error)
		return;
	k.who = ((uint64_t)key << KEY_SHIFT | (uint32_t)task) & g->who;
	k.how = ((uint64_t)a->mode << MODE_SHIFT |
		 (uint64_t)a->type << TYPE_SHIFT |
		 (uint64_t)a->weight << WEIGHT_SHIFT |
		 (uint64_t)(uint16_t)a->node << NODE_SHIFT | a->cpu) & g->how;
	if (!g->cap) {
		g->error = kinds_fit(&g->kinds, &g->cap, g->count);
		if (g->error)
			return;
	}
	at = kinds_at(g->kinds, g->cap, &k);
	if (at->count) {
		at->count++;
		return;
	}
	if (g->count == KINDS_MAX) {
		g->error = -E2BIG;
		return;
	}
	g->error = kinds_fit(&g->kinds, &g->cap, g->count);
	if (g->error)
		return;
	at = kinds_at(g->kinds, g->cap, &k);
	*at = k;
	at->first = g->count++;
	at->count = 1;
}

static void add_settled(void *arg, const struct moca_settled *x)
{
	add(arg, x->task_index, x->key, x->access);
}

/* Without objects: as they stand in the trace. */
static int walk_plain(struct query_groups *g)
{
	const struct moca_chunk *c;
	struct moca_ahead *ahead = moca_ahead_new();
	struct moca_cursor *cursor = NULL;
	int ret = ahead ? moca_cursor_open(&cursor, g->q->t, NULL) : -ENOMEM;

	if (cursor)
		moca_cursor_ahead(cursor, ahead);
	while (cursor && !g->error && (ret = moca_cursor_chunk(cursor, &c)) > 0) {
		size_t task = trace_task_index(g->q->t, c->task);

		for (size_t i = 0; i < c->count; i++)
			add(g, task, NO_KEY, &c->accesses[i]);
	}
	moca_cursor_close(cursor);
	moca_ahead_free(ahead);
	return ret < 0 ? ret : g->error;
}

static int walk_objects(struct query_groups *g)
{
	const struct moca_objects_options opt = {
		.size = sizeof(opt), .keys_only = 1,
		.settled = add_settled, .settled_arg = g,
	};
	int err = moca_objects_compute(&g->objects, g->q->t, &opt);

	return err ? err : g->error;
}

/* --- their order -------------------------------------------------------- */

static const struct moca_task *task_of(const struct query_groups *g,
				       const struct kind *k)
{
	return moca_trace_task(g->q->t, (uint32_t)k->who);
}

static const struct moca_object *object_of(const struct query_groups *g,
					   const struct kind *k)
{
	return key_of(k) == NO_KEY ? NULL :
		       moca_objects_row_of(g->objects, key_of(k));
}

static const char *text_of(const struct query_groups *g, const struct kind *k,
			   int column)
{
	const struct moca_object *o = object_of(g, k);

	switch (column) {
	case ACCESS_THREAD:
		return task_of(g, k)->name;
	case ACCESS_TYPE:
		return access_type_name(type_of(k));
	case ACCESS_MODE:
		return access_mode_name(mode_of(k));
	}
	return !o ? NULL : column == ACCESS_OBJECT ? o->name :
	       column == ACCESS_SITE ? o->site : objects_kind(o->kind);
}

static int64_t number_of(const struct query_groups *g, const struct kind *k,
			 int column)
{
	switch (column) {
	case ACCESS_TASK:
		return task_of(g, k)->id;
	case ACCESS_PID:
		return task_of(g, k)->pid;
	case ACCESS_TID:
		return task_of(g, k)->tid;
	case ACCESS_CPU:
		return cpu_of(k);
	case ACCESS_WEIGHT:
		return weight_of(k);
	}
	/* NULL comes first. */
	return node_of(k) < 0 ? -1 : node_of(k);
}

/* As SQLite compares: NULL, then numbers, or bytes of texts. */
static int compare_column(const struct query_groups *g, const struct kind *a,
			  const struct kind *b, int column)
{
	if (ACCESS_TEXTS >> column & 1) {
		const char *x = text_of(g, a, column);
		const char *y = text_of(g, b, column);

		return !x || !y ? (x != NULL) - (y != NULL) : strcmp(x, y);
	} else {
		int64_t x = number_of(g, a, column);
		int64_t y = number_of(g, b, column);

		return x < y ? -1 : x > y;
	}
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct kind *x = a, *y = b;
	const struct query_groups *g = arg;

	for (const char *c = g->order; *c; c++) {
		int by = compare_column(g, x, y, *c - GROUPS_COLUMN);

		if (by)
			return by;
	}
	return x->first < y->first ? -1 : x->first > y->first;
}

static void sort(struct query_groups *g, const char *order)
{
	size_t n = 0;

	for (size_t i = 0; i < g->cap; i++)
		if (g->kinds[i].count)
			g->kinds[n++] = g->kinds[i];
	g->order = order;
	if (n)
		qsort_r(g->kinds, n, sizeof(*g->kinds), compare, g);
	g->order = NULL;
}

/* --- a scan ------------------------------------------------------------- */

int query_groups_plan(const struct query *q, const struct query_table *t,
		      const sqlite3_index_info *x, char *order)
{
	int n = 0;

	if (q->groups_off || !t->grouped || !x->colUsed ||
	    x->colUsed & ~t->grouped || x->nOrderBy < 1 ||
	    x->nOrderBy > GROUPS_ORDER_MAX)
		return 0;
	if (x->orderByConsumed && !(x->colUsed >> ACCESS_ALIKE & 1))
		return 0;
	for (; n < x->nOrderBy; n++) {
		if (x->aOrderBy[n].desc || x->aOrderBy[n].iColumn < 0)
			return 0;
		order[n] = (char)(GROUPS_COLUMN + x->aOrderBy[n].iColumn);
	}
	order[n] = '\0';
	return 1;
}

void query_groups_close(struct query_cursor *c)
{
	struct query_groups *g = c->groups;

	c->groups = NULL;
	c->object = NULL;
	if (!g)
		return;
	sqlite3_finalize(g->sorted);
	free(g->kinds);
	moca_objects_free(g->objects);
	free(g);
}

/* Too many kinds: SQLite sorts the rows. Columns have the places of ours. */
static int open_sorted(struct query_groups *g, const char *order)
{
	static const char *const names[ACCESS_COLUMNS] = {
		[ACCESS_TASK] = "task", [ACCESS_PID] = "pid",
		[ACCESS_TID] = "tid", [ACCESS_THREAD] = "thread",
		[ACCESS_CPU] = "cpu", [ACCESS_NODE] = "node",
		[ACCESS_TYPE] = "type", [ACCESS_MODE] = "mode",
		[ACCESS_WEIGHT] = "weight", [ACCESS_OBJECT] = "object",
		[ACCESS_KIND] = "kind", [ACCESS_SITE] = "site",
		[ACCESS_ALIKE] = "1",
	};
	struct query *q = g->q;
	sqlite3_str *sql = sqlite3_str_new(q->db);
	char *text;
	int err;

	for (int i = 0; i < ACCESS_COLUMNS; i++)
		sqlite3_str_appendf(sql, "%s %s", i ? "," : "SELECT",
				    wants(g, 1u << i) ? names[i] : "NULL");
	sqlite3_str_appendall(sql, " FROM accesses");
	for (const char *at = order; *at; at++)
		sqlite3_str_appendf(sql, "%s %s", at == order ? " ORDER BY" : ",",
				    names[*at - GROUPS_COLUMN]);
	text = sqlite3_str_finish(sql);
	q->groups_off = 1;
	err = text ? sqlite3_prepare_v2(q->db, text, -1, &g->sorted, NULL) :
		     SQLITE_NOMEM;
	q->groups_off = 0;
	sqlite3_free(text);
	return !err ? 0 : err == SQLITE_NOMEM ? -ENOMEM : -EIO;
}

int query_groups_open(struct query_cursor *c, const char *order)
{
	struct query_groups *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	c->groups = g;
	g->q = c->q;
	g->columns = c->scan.columns;
	choose_bits(g);
	err = wants(g, ACCESS_OBJECTS) ? walk_objects(g) : walk_plain(g);
	if (err == -E2BIG) {
		free(g->kinds);
		g->kinds = NULL;
		g->cap = g->count = 0;
		moca_objects_free(g->objects);
		g->objects = NULL;
		return open_sorted(g, order);
	}
	if (!err)
		sort(g, order);
	return err;
}

static int next_sorted(struct query_groups *g)
{
	int ret = sqlite3_step(g->sorted);

	if (ret == SQLITE_ROW || ret == SQLITE_DONE)
		return ret == SQLITE_ROW;
	if (query_failure(g->q))
		return query_failure(g->q);
	return ret == SQLITE_NOMEM ? -ENOMEM : -EIO;
}

int query_groups_next(struct query_cursor *c)
{
	struct query_groups *g = c->groups;
	const struct kind *k;

	if (g->sorted)
		return next_sorted(g);
	if (g->left) {
		g->left--;
		return 1;
	}
	if (g->at == g->count)
		return 0;
	k = &g->kinds[g->at++];
	if (wants(g, 1u << ACCESS_ALIKE))
		c->alike = k->count;
	else
		g->left = k->count - 1;
	g->access = (struct moca_access){
		.cpu = cpu_of(k), .node = node_of(k), .type = type_of(k),
		.mode = mode_of(k), .weight = weight_of(k),
	};
	g->chunk = (struct moca_chunk){ .count = 1, .accesses = &g->access };
	c->chunk = &g->chunk;
	c->at = 0;
	c->task = task_of(g, k)->id;
	c->object = object_of(g, k);
	return 1;
}

int query_groups_column(struct query_cursor *c, int column,
			sqlite3_context *out)
{
	if (!c->groups->sorted)
		return 0;
	sqlite3_result_value(out, sqlite3_column_value(c->groups->sorted,
						       column));
	return 1;
}
