// SPDX-License-Identifier: GPL-2.0-or-later
/* The accesses of a trace, as they are walked. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/objects/objects.h"
#include "analysis/trace.h"
#include "query/accesses.h"
#include "query/alike.h"
#include "report/objects.h"

static int meets(const struct query_name *n, const char *name)
{
	switch (n->how) {
	case SQLITE_INDEX_CONSTRAINT_GLOB:
		return !sqlite3_strglob(n->s, name);
	case SQLITE_INDEX_CONSTRAINT_LIKE:
		return !sqlite3_strlike(n->s, name, 0);
	}
	return !strcmp(n->s, name);
}

/* The objects whose names meet all conditions. 0 or -ENOMEM. */
static int choose_objects(struct query_cursor *c)
{
	const struct moca_object *o;
	size_t n;

	if (!c->scan.name_count)
		return 0;
	o = moca_objects_rows(query_keys_objects(c->keys), &n);
	c->wanted = malloc(n + 1);
	if (!c->wanted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		c->wanted[i] = 1;
		for (size_t j = 0; j < c->scan.name_count; j++)
			c->wanted[i] &= meets(&c->scan.names[j], o[i].name);
	}
	return 0;
}

static int open_walk(struct query_cursor *c)
{
	struct moca_query range = c->scan.range;

	if (c->scan.columns & ACCESS_OBJECTS) {
		/* Keys are told of all accesses of the window. */
		struct moca_query window = range;
		int err;

		window.addr_begin = window.addr_end = 0;
		err = query_keys_of(c->q, &window, &c->keys);
		if (err)
			return err;
		c->view = query_keys_view_new(c->keys);
		err = c->view ? choose_objects(c) : -ENOMEM;
		if (err)
			return err;
		range = window;
	}
	c->task = MOCA_NO_TASK;
	return moca_cursor_open(&c->walk, c->q->t, &range);
}

/* Is the row one that may meet the conditions? */
static int is_in(const struct query_cursor *c)
{
	const struct moca_query *r = &c->scan.range;
	uint64_t addr = c->chunk->accesses[c->at].addr;
	uint32_t id;

	if (addr < r->addr_begin || (r->addr_end && addr >= r->addr_end))
		return 0;
	if (!c->wanted)
		return 1;
	id = query_keys_id(c->view, c->task_index, c->taken + c->at);
	return id != QUERY_NO_ID && c->wanted[id];
}

static int next_access(struct query_cursor *c)
{
	int ret;

	/* Of the last row. */
	c->at += c->row > 0;
	for (;; c->at = 0) {
		size_t count = c->chunk ? c->chunk->count : 0;

		for (; c->at < count; c->at++)
			if (is_in(c))
				return 1;
		c->taken += count;
		ret = moca_cursor_chunk(c->walk, &c->chunk);
		if (ret <= 0)
			return ret;
		if (c->chunk->task != c->task) {
			c->task = c->chunk->task;
			c->task_index = trace_task_index(c->q->t, c->task);
			c->taken = 0;
		}
	}
}

const char *access_type_name(unsigned type)
{
	static const char *const names[] = { "unknown", "read", "write", "exec" };

	return type < sizeof(names) / sizeof(*names) ? names[type] : names[0];
}

const char *access_mode_name(unsigned mode)
{
	return mode ? "kernel" : "user";
}

static void object_column(struct query_cursor *c, int column,
			  sqlite3_context *out)
{
	const struct moca_object *o = c->object;

	if (c->view)
		o = query_keys_object(c->view, c->task_index, c->taken + c->at);

	if (!o)
		sqlite3_result_null(out);
	else if (column == ACCESS_KIND)
		query_lasting(out, objects_kind(o->kind));
	else
		query_text(out, column == ACCESS_OBJECT ? o->name : o->site);
}

static void column(struct query_cursor *c, int i, sqlite3_context *out)
{
	const struct moca_access *a = &c->chunk->accesses[c->at];

	if (query_moment(c->q, out, i, a->time_ns, c->task))
		return;
	switch (i) {
	case ACCESS_CPU:
		query_u64(out, a->cpu);
		break;
	case ACCESS_NODE:
		if (a->node < 0)
			sqlite3_result_null(out);
		else
			query_u64(out, (uint64_t)a->node);
		break;
	case ACCESS_TYPE:
		query_lasting(out, access_type_name(a->type));
		break;
	case ACCESS_MODE:
		query_lasting(out, access_mode_name(a->mode));
		break;
	case ACCESS_ADDR:
		query_u64(out, a->addr);
		break;
	case ACCESS_PAGE:
		query_u64(out, a->addr & ~((1ull << trace_page_shift(c->q->t)) - 1));
		break;
	case ACCESS_IP:
	case ACCESS_PHYS:
		if (i == ACCESS_IP ? a->ip : a->phys)
			query_u64(out, i == ACCESS_IP ? a->ip : a->phys);
		else
			sqlite3_result_null(out);
		break;
	case ACCESS_INTERVAL:
		query_u64(out, c->chunk->interval);
		break;
	case ACCESS_WEIGHT:
		query_u64(out, a->weight);
		break;
	case ACCESS_STACK:
		if (a->stack)
			query_u64(out, a->stack);
		else
			sqlite3_result_null(out);
		break;
	case ACCESS_ALIKE:
		query_u64(out, c->alike ? c->alike : 1);
		break;
	default:
		object_column(c, i, out);
	}
}

const struct query_table query_accesses = {
	.name = "accesses",
	.columns = QUERY_MOMENT ", cpu INTEGER, node INTEGER, type TEXT, "
		   "mode TEXT, addr INTEGER, page INTEGER, ip INTEGER, "
		   "phys INTEGER, interval INTEGER, weight INTEGER, stack INTEGER, "
		   "object TEXT, kind TEXT, site TEXT",
	.hidden = QUERY_ALIKE,
	.time = ACCESS_TIME, .addr = ACCESS_ADDR, .task = ACCESS_TASK,
	.object = ACCESS_OBJECT,
	.dear = ACCESS_OBJECTS, .grouped = ACCESS_GROUPED,
	.open = open_walk, .next = next_access, .column = column,
};
