// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables as SQLite's virtual tables. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "query/groups.h"
#include "query/table.h"

/* What xBestIndex found, a letter each, in the order of xFilter's values. */
enum narrow {
	TIME_FROM = 'a', TIME_AFTER, TIME_UNTIL, TIME_BEFORE, TIME_IS,
	ADDR_FROM, ADDR_AFTER, ADDR_UNTIL, ADDR_BEFORE, ADDR_IS,
	TASK_IS,
	/* The last ones. */
	NAME_IS, NAME_GLOB, NAME_LIKE,
};

#define NARROW_MAX 16
#define IN_ORDER '*'	/* in place of all of these, before an order of groups.c */
/* What a walk is guessed to give. */
#define ROWS_WALKED 1e7
#define ROWS_LOADED 1e3
/*
 * Of the cost of a whole walk, the least that conditions leave, and what each
 * does: more than half. For A OR B SQLite would make two walks if these were
 * cheaper than one, and know the rows that both give by their numbers, which are
 * of one walk only.
 */
#define COST_LEAST 0.6
#define COST_EACH 0.9
/* A walk that names the data structures finds them first. */
#define COST_OBJECTS 4

struct vtab {
	sqlite3_vtab base;
	struct query *q;
	const struct query_table *table;
};

struct plug {
	struct query *q;
	const struct query_table *table;
};

static int fail(struct query *q, sqlite3_vtab *v, int err)
{
	q->failure = err;
	sqlite3_free(v->zErrMsg);
	v->zErrMsg = sqlite3_mprintf("cannot read the trace: %s",
				     strerror(-err));
	return err == -ENOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
		   sqlite3_vtab **out, char **error)
{
	struct plug *p = aux;
	const char *hidden = p->table->hidden;
	char *sql = sqlite3_mprintf("CREATE TABLE x(%s%s%s%s)", p->table->columns,
				    hidden ? ", " : "", hidden ? hidden : "",
				    hidden ? " INTEGER HIDDEN" : "");
	struct vtab *v;
	int err;

	if (!sql)
		return SQLITE_NOMEM;
	err = sqlite3_declare_vtab(db, sql);
	sqlite3_free(sql);
	if (err)
		return err;
	v = sqlite3_malloc(sizeof(*v));
	if (!v)
		return SQLITE_NOMEM;
	*v = (struct vtab){ .q = p->q, .table = p->table };
	/* A read of a trace does nothing that a view could be misused for. */
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	*out = &v->base;
	return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *v)
{
	sqlite3_free(v);
	return SQLITE_OK;
}

/* The letter of a condition, or 0. */
static int narrow(const struct query_table *t, int column, int op)
{
	int first;

	if (column == t->task)
		return op == SQLITE_INDEX_CONSTRAINT_EQ ? TASK_IS : 0;
	if (column == t->time)
		first = TIME_FROM;
	else if (column == t->addr)
		first = ADDR_FROM;
	else
		return 0;
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_GE:
		return first;
	case SQLITE_INDEX_CONSTRAINT_GT:
		return first + 1;
	case SQLITE_INDEX_CONSTRAINT_LE:
		return first + 2;
	case SQLITE_INDEX_CONSTRAINT_LT:
		return first + 3;
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return first + 4;
	}
	return 0;
}

/* The letter of a condition on the name of an object, or 0. */
static int narrow_name(sqlite3_index_info *x, int i)
{
	switch (x->aConstraint[i].op) {
	case SQLITE_INDEX_CONSTRAINT_GLOB:
		return NAME_GLOB;
	case SQLITE_INDEX_CONSTRAINT_LIKE:
		return NAME_LIKE;
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return strcmp(sqlite3_vtab_collation(x, i), "BINARY") ? 0 :
									NAME_IS;
	}
	return 0;
}

/* Walks are by task, and within a task by time: for GROUP BY task as well. */
static int is_walked_so(const struct query_table *t,
			const sqlite3_index_info *x)
{
	if (t->load || t->task == QUERY_NO_COLUMN || x->nOrderBy < 1 ||
	    x->nOrderBy > 2 || x->aOrderBy[0].desc ||
	    x->aOrderBy[0].iColumn != t->task)
		return 0;
	return x->nOrderBy == 1 ||
	       (t->time != QUERY_NO_COLUMN && !x->aOrderBy[1].desc &&
		x->aOrderBy[1].iColumn == t->time);
}

/* Conditions that narrow a walk go to plan; names: those on names of objects. */
static void find_conditions(const struct query_table *t, sqlite3_index_info *x,
			    int names, char plan[NARROW_MAX + 1])
{
	size_t n = strlen(plan), most = names ? n + QUERY_NAMES_MAX : NARROW_MAX;

	for (int i = 0; i < x->nConstraint && n < most && n < NARROW_MAX; i++) {
		int column = x->aConstraint[i].iColumn, c = 0;

		if (!x->aConstraint[i].usable || column < 0)
			continue;
		if (!names)
			c = narrow(t, column, x->aConstraint[i].op);
		else if (t->object && column == t->object)
			c = narrow_name(x, i);
		if (!c)
			continue;
		plan[n++] = (char)c;
		plan[n] = '\0';
		x->aConstraintUsage[i].argvIndex = (int)n;
	}
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *x)
{
	const struct vtab *v = (const struct vtab *)base;
	double rows = v->table->load ? ROWS_LOADED : ROWS_WALKED, cost = 1;
	char plan[NARROW_MAX + 1] = "", order[GROUPS_ORDER_MAX + 1];

	find_conditions(v->table, x, 0, plan);
	x->orderByConsumed = is_walked_so(v->table, x);
	if (!*plan && query_groups_plan(v->q, v->table, x, order)) {
		x->orderByConsumed = 1;
		x->idxStr = sqlite3_mprintf("%c%s", IN_ORDER, order);
	} else {
		find_conditions(v->table, x, 1, plan);
		x->idxStr = sqlite3_mprintf("%s", plan);
	}
	x->needToFreeIdxStr = 1;
	/* Columns that are asked for, for xFilter. */
	x->idxNum = (int)(x->colUsed & 0x7fffffff) |
		    (x->colUsed >> 31 ? 1 << 30 : 0);
	for (const char *c = plan; *c; c++)
		cost *= COST_EACH;
	if (cost < COST_LEAST)
		cost = COST_LEAST;
	x->estimatedRows = (sqlite3_int64)(rows * cost);
	x->estimatedCost = rows * cost *
			   (x->colUsed & v->table->dear ? COST_OBJECTS : 1);
	return x->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	const struct vtab *v = (const struct vtab *)base;
	struct query_cursor *c = sqlite3_malloc(sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	*c = (struct query_cursor){ .q = v->q, .table = v->table };
	*out = &c->base;
	return SQLITE_OK;
}

static void end_walk(struct query_cursor *c)
{
	moca_cursor_close(c->walk);
	c->walk = NULL;
	free(c->view);
	c->view = NULL;
	free(c->wanted);
	c->wanted = NULL;
	query_keys_put(c->keys);
	c->keys = NULL;
	query_groups_close(c);
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct query_cursor *c = (struct query_cursor *)base;

	end_walk(c);
	sqlite3_free(c);
	return SQLITE_OK;
}

static void raise(uint64_t *at, uint64_t x)
{
	if (x > *at)
		*at = x;
}

/* Exclusive ends: 0 is no limit. */
static void lower(uint64_t *at, uint64_t x)
{
	if (!*at || x < *at)
		*at = x;
}

/* x + 1 of what may be the largest. */
static uint64_t behind(uint64_t x)
{
	return x == UINT64_MAX ? x : x + 1;
}

/*
 * A time of the trace, of one that counts from its origin. *before: it is before
 * all that a trace can hold.
 */
static uint64_t absolute(const struct query *q, sqlite3_int64 ns, int *before)
{
	*before = ns < 0 && (uint64_t)-(ns + 1) >= q->origin;
	return *before ? 0 : q->origin + (uint64_t)ns;
}

/* Whether any row can be in it. */
static int apply_time(struct query_cursor *c, int what, sqlite3_int64 value)
{
	struct moca_query *r = &c->scan.range;
	int before;
	uint64_t t = absolute(c->q, value, &before);

	switch (what) {
	case TIME_FROM:
	case TIME_AFTER:
		raise(&r->begin_ns, t);
		return 1;
	case TIME_IS:
		raise(&r->begin_ns, t);
		/* fall through */
	default:
		if (before)
			return 0;
		lower(&r->end_ns, behind(t));
		return 1;
	}
}

/*
 * Addresses above 2^63 are below 0 in SQL, so that an upper bound alone does not
 * narrow anything.
 */
static void apply_addr(struct query_cursor *c, int what, sqlite3_int64 value,
		       uint64_t *until)
{
	struct moca_query *r = &c->scan.range;

	if (value < 0)
		return;
	if (what == ADDR_FROM || what == ADDR_AFTER || what == ADDR_IS)
		raise(&r->addr_begin, (uint64_t)value);
	if (what == ADDR_IS || what == ADDR_UNTIL || what == ADDR_BEFORE)
		lower(until, behind((uint64_t)value));
}

static void apply_name(struct query_cursor *c, int what, sqlite3_value *value)
{
	static const int how[] = { SQLITE_INDEX_CONSTRAINT_EQ,
				   SQLITE_INDEX_CONSTRAINT_GLOB,
				   SQLITE_INDEX_CONSTRAINT_LIKE };
	const char *s = sqlite3_value_type(value) == SQLITE_TEXT ?
				(const char *)sqlite3_value_text(value) : NULL;

	if (s)
		c->scan.names[c->scan.name_count++] =
			(struct query_name){ how[what - NAME_IS], s };
}

/* Narrow the scan; whether any row can be in it. */
static int apply(struct query_cursor *c, const char *plan, int argc,
		 sqlite3_value **argv)
{
	struct moca_query *r = &c->scan.range;
	uint64_t until = 0;

	for (int i = 0; i < argc; i++) {
		sqlite3_int64 value;

		if (plan[i] >= NAME_IS) {
			apply_name(c, plan[i], argv[i]);
			continue;
		}
		/* Of anything else SQLite knows what it means. */
		if (sqlite3_value_type(argv[i]) != SQLITE_INTEGER)
			continue;
		value = sqlite3_value_int64(argv[i]);
		if (plan[i] == TASK_IS) {
			if (value < 0 || value > UINT32_MAX ||
			    (r->one_task && r->task != (uint32_t)value))
				return 0;
			r->one_task = 1;
			r->task = (uint32_t)value;
		} else if (plan[i] >= ADDR_FROM) {
			apply_addr(c, plan[i], value, &until);
		} else if (!apply_time(c, plan[i], value)) {
			return 0;
		}
	}
	/* From 0 on: those below 0 are left out by another condition alone. */
	if (until && r->addr_begin)
		r->addr_end = until;
	if (r->end_ns && r->begin_ns >= r->end_ns)
		return 0;
	return !r->addr_end || r->addr_begin < r->addr_end;
}

static int step(struct query_cursor *c)
{
	int ret;

	if (c->table->load) {
		c->ended = (size_t)c->row >= c->count;
		return SQLITE_OK;
	}
	ret = c->groups ? query_groups_next(c) : c->table->next(c);
	c->ended = ret <= 0;
	return ret < 0 ? fail(c->q, c->base.pVtab, ret) : SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int columns, const char *plan,
		  int argc, sqlite3_value **argv)
{
	struct query_cursor *c = (struct query_cursor *)base;
	int ret;

	end_walk(c);
	c->scan = (struct query_scan){
		.range.size = sizeof(struct moca_query),
		.columns = (uint64_t)(unsigned int)columns,
	};
	c->row = 0;
	c->at = c->taken = 0;
	c->chunk = NULL;
	c->counts = NULL;
	c->event = NULL;
	c->alike = 0;
	if (*plan == IN_ORDER) {
		c->ended = 0;
		ret = query_groups_open(c, plan + 1);
		return ret ? fail(c->q, base->pVtab, ret) : step(c);
	}
	c->ended = !apply(c, plan, argc, argv);
	if (c->ended)
		return SQLITE_OK;
	ret = c->table->load ? c->table->load(c->q, &c->count) :
			       c->table->open(c);
	return ret ? fail(c->q, base->pVtab, ret) : step(c);
}

static int next(sqlite3_vtab_cursor *base)
{
	struct query_cursor *c = (struct query_cursor *)base;

	c->row++;
	return step(c);
}

static int eof(sqlite3_vtab_cursor *base)
{
	return ((struct query_cursor *)base)->ended;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *out, int i)
{
	struct query_cursor *c = (struct query_cursor *)base;

	if (!c->groups || !query_groups_column(c, i, out))
		c->table->column(c, i, out);
	return SQLITE_OK;
}

/* Rows that were grouped have lost their numbers, which no plan can see coming. */
static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	if (((struct query_cursor *)base)->groups) {
		sqlite3_free(base->pVtab->zErrMsg);
		base->pVtab->zErrMsg = sqlite3_mprintf(
			"rows that are grouped or ordered by columns have no rowid: write GROUP BY +COLUMN or ORDER BY +COLUMN");
		return SQLITE_ERROR;
	}
	*out = ((struct query_cursor *)base)->row;
	return SQLITE_OK;
}

/* Without xCreate: such tables are there by their name alone. */
static const sqlite3_module module = {
	.iVersion = 1,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = eof,
	.xColumn = column,
	.xRowid = rowid,
};

int query_add(struct query *q, const struct query_table *t)
{
	struct plug *p = malloc(sizeof(*p));
	sqlite3_stmt *s = NULL;
	char *sql;
	int err;

	if (!p)
		return -ENOMEM;
	*p = (struct plug){ q, t };
	/* free() is called in any case. */
	if (sqlite3_create_module_v2(q->db, t->name, &module, p, free))
		return -ENOMEM;
	/* Declared now: later statements may not declare anything. */
	sql = sqlite3_mprintf("SELECT 1 FROM \"%w\"", t->name);
	err = sql ? sqlite3_prepare_v2(q->db, sql, -1, &s, NULL) : SQLITE_NOMEM;
	sqlite3_finalize(s);
	sqlite3_free(sql);
	/* Its name is free again. */
	if (err)
		sqlite3_create_module_v2(q->db, t->name, NULL, NULL, NULL);
	return !err ? 0 : err == SQLITE_NOMEM ? -ENOMEM : -EBADMSG;
}
