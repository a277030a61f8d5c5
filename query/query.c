// SPDX-License-Identifier: GPL-2.0-or-later
/* The database: its tables and views, and what statements may do. */
#include "query/query.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/advice.h"
#include "analysis/objects/objects.h"
#include "analysis/trace.h"
#include "query/alike.h"
#include "query/table.h"

/* Sorting and grouping take so much, and go on in temporary files. */
#define CACHE_PRAGMA "PRAGMA cache_size = -65536"

static const struct query_table *const tables[] = {
	&query_accesses, &query_counts, &query_tasks, &query_mappings,
	&query_objects, &query_object_nodes, &query_instances, &query_changes,
	&query_events, &query_findings, &query_heat, &query_checks, &query_certificate,
	&query_metadata, &query_stacks,
};

#define TABLES (sizeof(tables) / sizeof(*tables))

/* Views: if_event is the table of events without which there is none. */
static const struct view {
	const char *name, *if_event, *select;
} views[] = {
	{ "object_nodes", NULL,
	  "SELECT * FROM all_object_nodes WHERE accesses > 0" },
	{ "pages", NULL,
	  "SELECT pid, page, object, count(*) AS records, "
	  "sum(weight) AS accesses, "
	  "coalesce(sum(weight) FILTER (WHERE type IN ('read', 'exec')), 0) AS reads, "
	  "coalesce(sum(weight) FILTER (WHERE type = 'write'), 0) AS writes, "
	  "count(DISTINCT task) AS tasks, min(time_ns) AS first_ns, "
	  "max(time_ns) AS last_ns FROM accesses GROUP BY pid, page, object" },
	{ "allocations", "moca_alloc_alloc",
	  "SELECT time_ns, task, pid, tid, thread, addr, size, stack, kind "
	  "FROM moca_alloc_alloc" },
	{ "frees", "moca_alloc_free",
	  "SELECT time_ns, task, pid, tid, thread, addr, kind "
	  "FROM moca_alloc_free" },
	{ "rates", "moca_rate_sample", "SELECT * FROM moca_rate_sample" },
};

#define VIEWS (sizeof(views) / sizeof(*views))

const char *query_events_of(const char *view)
{
	for (size_t i = 0; i < VIEWS; i++)
		if (!sqlite3_stricmp(view, views[i].name))
			return views[i].if_event;
	return NULL;
}

void query_text(sqlite3_context *out, const char *s)
{
	if (s)
		sqlite3_result_text(out, s, -1, SQLITE_TRANSIENT);
	else
		sqlite3_result_null(out);
}

void query_lasting(sqlite3_context *out, const char *s)
{
	if (s)
		sqlite3_result_text(out, s, -1, SQLITE_STATIC);
	else
		sqlite3_result_null(out);
}

void query_u64(sqlite3_context *out, uint64_t x)
{
	sqlite3_result_int64(out, (sqlite3_int64)x);
}

void query_time(const struct query *q, sqlite3_context *out, uint64_t ns)
{
	if (ns)
		query_u64(out, ns - q->origin);
	else
		sqlite3_result_null(out);
}

void query_real(sqlite3_context *out, double x)
{
	if (isnan(x))
		sqlite3_result_null(out);
	else
		sqlite3_result_double(out, x);
}

void query_task_part(const struct query *q, sqlite3_context *out, uint32_t task,
		     int part)
{
	size_t i = trace_task_index(q->t, task);
	const struct moca_task *t;

	if (i == SIZE_MAX) {
		sqlite3_result_null(out);
		return;
	}
	t = moca_trace_task(q->t, i);
	if (part == 2)
		query_lasting(out, t->name);
	else
		query_u64(out, part ? t->tid : t->pid);
}

int query_moment(const struct query *q, sqlite3_context *out, int i,
		 uint64_t time_ns, uint32_t task)
{
	if (i == 0)
		query_time(q, out, time_ns);
	else if (i == 1)
		query_u64(out, task);
	else if (i < 5)
		query_task_part(q, out, task, i - 2);
	return i < 5;
}

/* hexadecimal(x): "0x7f..."; of NULL, NULL. */
static void hexadecimal(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	char buf[32];

	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	snprintf(buf, sizeof(buf), "0x%" PRIx64,
		 (uint64_t)sqlite3_value_int64(argv[0]));
	sqlite3_result_text(out, buf, -1, SQLITE_TRANSIENT);
}

/* Nothing but reading what is here. */
static int authorize(void *arg, int action, const char *a, const char *b,
		     const char *c, const char *d)
{
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return b && !sqlite3_stricmp(b, "load_extension") ?
			       SQLITE_DENY : SQLITE_OK;
	}
	return SQLITE_DENY;
}

static int has_table(const struct query *q, const char *name)
{
	for (size_t i = 0; i < q->event_count; i++)
		if (!sqlite3_stricmp(q->events[i].name, name))
			return 1;
	return 0;
}

static int is_ours(const char *name)
{
	for (size_t i = 0; i < TABLES; i++)
		if (!sqlite3_stricmp(tables[i]->name, name))
			return 1;
	for (size_t i = 0; i < VIEWS; i++)
		if (!sqlite3_stricmp(views[i].name, name))
			return 1;
	return 0;
}

static int is_view(const struct query *q, const struct view *v)
{
	return !v->if_event || has_table(q, v->if_event);
}

static int add_views(struct query *q)
{
	for (size_t i = 0; i < VIEWS; i++) {
		char *sql;
		int err;

		if (!is_view(q, &views[i]))
			continue;
		sql = sqlite3_mprintf("CREATE VIEW %s AS %s", views[i].name,
				      views[i].select);
		err = sql ? sqlite3_exec(q->db, sql, NULL, NULL, NULL) :
			    SQLITE_NOMEM;
		sqlite3_free(sql);
		/* A program's own events may have such a name and other fields. */
		if (err == SQLITE_NOMEM)
			return -ENOMEM;
	}
	return 0;
}

static int add_events(struct query *q)
{
	size_t n;
	const struct moca_event_type *const *types =
		moca_trace_event_types(q->t, &n);
	int err = 0;

	q->events = calloc(n + 1, sizeof(*q->events));
	if (!q->events)
		return -ENOMEM;
	for (size_t i = 0; i < n && !err; i++) {
		struct query_table *t = &q->events[q->event_count];

		err = query_event_table(t, types[i]);
		if (err)
			break;
		/* The first of one name has it; all are in the table events. */
		if (is_ours(t->name) || has_table(q, t->name)) {
			query_event_table_free(t);
			continue;
		}
		q->event_count++;
		err = query_add(q, t);
		/* SQLite takes so many columns, and no more. */
		if (err == -EBADMSG) {
			query_event_table_free(&q->events[--q->event_count]);
			err = 0;
		}
	}
	return err;
}

static int build(struct query *q)
{
	int err = 0;

	if (sqlite3_open_v2(":memory:", &q->db, SQLITE_OPEN_READWRITE |
			    SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY, NULL) ||
	    sqlite3_exec(q->db, CACHE_PRAGMA, NULL, NULL, NULL) ||
	    sqlite3_create_function_v2(q->db, "hexadecimal", 1, SQLITE_UTF8 |
				       SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
				       NULL, hexadecimal, NULL, NULL, NULL))
		return -ENOMEM;
	for (size_t i = 0; i < TABLES && !err; i++)
		err = query_add(q, tables[i]);
	if (!err)
		err = add_events(q);
	if (!err)
		err = add_views(q);
	sqlite3_set_authorizer(q->db, authorize, NULL);
	return err;
}

int query_open(struct query **out, struct moca_trace *t)
{
	struct query *q = calloc(1, sizeof(*q));
	int err;

	if (!q)
		return -ENOMEM;
	q->t = t;
	q->origin = trace_origin(t);
	err = build(q);
	if (err)
		query_close(q);
	else
		*out = q;
	return err;
}

void query_close(struct query *q)
{
	if (!q)
		return;
	sqlite3_close(q->db);
	for (size_t i = 0; i < q->event_count; i++)
		query_event_table_free(&q->events[i]);
	free(q->events);
	query_keys_put(q->keys);
	moca_advice_free(q->advice);
	query_stacks_free(q->stacks);
	moca_profile_free(q->profile);
	moca_objects_free(q->objects);
	free(q);
}

int query_prepare(struct query *q, const char *sql, sqlite3_stmt **out,
		  const char **rest)
{
	char *other = query_alike(sql);
	int err = other ? sqlite3_prepare_v2(q->db, other, -1, out, NULL) : 1;

	free(other);
	/* Errors are told in the words of the user. */
	if (err)
		return sqlite3_prepare_v2(q->db, sql, -1, out, rest);
	*rest = sql + strlen(sql);
	return 0;
}

sqlite3 *query_database(struct query *q)
{
	return q->db;
}

int query_failure(const struct query *q)
{
	return q->failure;
}

/* Of a table or view, by its name. */
struct declared {
	const char *name;
	const struct query_table *table;
	const struct view *view;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct declared *)a)->name,
		      ((const struct declared *)b)->name);
}

static int tell(const struct declared *d,
		int (*fn)(void *arg, const char *name, const char *sql),
		void *arg)
{
	char *sql = d->table ?
		sqlite3_mprintf("TABLE %s(%s)", d->name, d->table->columns) :
		sqlite3_mprintf("VIEW %s AS %s", d->name, d->view->select);
	int ret = sql ? fn(arg, d->name, sql) : -ENOMEM;

	sqlite3_free(sql);
	return ret;
}

int query_schema(struct query *q,
		 int (*fn)(void *arg, const char *name, const char *sql),
		 void *arg)
{
	struct declared *all = calloc(TABLES + VIEWS + q->event_count,
				      sizeof(*all));
	size_t n = 0;
	int ret = 0;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < TABLES; i++)
		all[n++] = (struct declared){ tables[i]->name, tables[i], NULL };
	for (size_t i = 0; i < q->event_count; i++)
		all[n++] = (struct declared){ q->events[i].name, &q->events[i],
					      NULL };
	for (size_t i = 0; i < VIEWS; i++)
		if (is_view(q, &views[i]))
			all[n++] = (struct declared){ views[i].name, NULL,
						      &views[i] };
	qsort(all, n, sizeof(*all), by_name);
	for (size_t i = 0; i < n && !ret; i++)
		ret = tell(&all[i], fn, arg);
	free(all);
	return ret;
}
