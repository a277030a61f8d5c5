/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a table is made of. One struct query_table each; module.c shows them to
 * SQLite.
 */
#ifndef MOCA_QUERY_TABLE_H
#define MOCA_QUERY_TABLE_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include <moca/reader.h>

#include "query/query.h"

struct moca_advice;
struct moca_object;
struct moca_objects;
struct moca_profile;
struct query_groups;
struct query_keys;
struct query_keys_view;
struct query_stacks;

/* A condition on the name of an object: SQLITE_INDEX_CONSTRAINT_EQ, _GLOB or _LIKE. */
struct query_name {
	int how;
	const char *s;		/* as long as the scan is opened */
};
#define QUERY_NAMES_MAX 4u

/* Which rows a scan needs to give. SQLite looks at all conditions itself. */
struct query_scan {
	struct moca_query range;	/* times as in the trace */
	uint64_t columns;	/* that are asked for; the last bit: and all
				   behind */
	struct query_name names[QUERY_NAMES_MAX];
	size_t name_count;
};

struct query_cursor {
	sqlite3_vtab_cursor base;
	struct query *q;
	const struct query_table *table;
	struct query_scan scan;
	int ended;
	sqlite3_int64 row;	/* from 0 */
	size_t count;		/* of a table that is loaded */
	/* Of one that is walked: */
	struct moca_cursor *walk;
	uint32_t task;
	size_t at;		/* in the chunk */
	const struct moca_chunk *chunk;
	const struct moca_counts *counts;
	const struct moca_change *change;
	const struct moca_event *event;
	struct query_keys *keys;
	struct query_keys_view *view;
	uint8_t *wanted;	/* 1: rows of the object are given, by its id;
				   NULL: those of all are */
	size_t task_index;	/* of task */
	size_t taken;		/* of the task's keys, before the chunk */
	/* Of one that is given by groups.c: */
	struct query_groups *groups;
	const struct moca_object *object;	/* of the row */
	uint64_t alike;		/* so many accesses are the row; 0: one */
};

#define QUERY_NO_COLUMN (-1)

struct query_table {
	const char *name;
	const char *columns;	/* "time_ns INTEGER, ..." */
	const char *hidden;	/* the name of one more, of integers; or NULL */
	/* Columns whose conditions narrow a walk; QUERY_NO_COLUMN: none. */
	int time, addr, task;
	int object;		/* likewise; 0: none */
	uint64_t dear;	/* columns that need the data structures: bits */
	uint64_t grouped;	/* of which groups.c can give rows in order */
	/* A table that is loaded at once: the number of rows. 0 or -errno. */
	int (*load)(struct query *q, size_t *count);
	/* One that is walked. open: 0 or -errno; next: 1, at the end 0, -errno */
	int (*open)(struct query_cursor *c);
	int (*next)(struct query_cursor *c);
	void (*column)(struct query_cursor *c, int column,
		       sqlite3_context *out);
	const struct moca_event_type *event;	/* it has events of this alone */
};

struct query {
	struct moca_trace *t;
	uint64_t origin;
	sqlite3 *db;
	int failure;
	/* Computed when a table needs it first. */
	struct moca_objects *objects;
	struct moca_profile *profile;
	struct moca_advice *advice;
	struct query_stacks *stacks;
	struct query_keys *keys;	/* of the last scan that asked for any */
	int groups_off;		/* for the statement that is prepared now */
	struct query_table *events;	/* one for each type of events */
	size_t event_count;
};

/* module.c: make t a table of the database. 0, -ENOMEM, or -EBADMSG: its
 * columns are none that SQLite takes. */
int query_add(struct query *q, const struct query_table *t);

/* The tables. */
extern const struct query_table query_accesses, query_counts, query_changes,
	query_events, query_tasks, query_mappings, query_metadata,
	query_certificate, query_objects, query_object_nodes, query_instances,
	query_findings, query_checks, query_stacks, query_heat;
/* What its rows are of: stacks.c. */
void query_stacks_free(struct query_stacks *s);
/* One of events of one type: t->event. columns is made by events.c; free() it. */
int query_event_table(struct query_table *t, const struct moca_event_type *type);
void query_event_table_free(struct query_table *t);

/*
 * keys.c: what accesses went to, of a window: of its times and task alone. Where
 * another window was asked for before, *window becomes the whole trace: one
 * replay serves all. 0 or -errno.
 */
int query_keys_of(struct query *q, struct moca_query *window,
		  struct query_keys **out);
void query_keys_put(struct query_keys *k);
#define QUERY_NO_ID UINT32_MAX
#define QUERY_KEYS_BLOCK 4096u	/* accesses */
/* What looks keys up, one after the other; free() it before k is put. */
struct query_keys_view {
	struct query_keys *of;
	size_t task, block;	/* that ids are of */
	uint32_t ids[QUERY_KEYS_BLOCK];
};
/* NULL: no memory. */
struct query_keys_view *query_keys_view_new(struct query_keys *k);
/* The ids of a block of accesses of a task, by its index. */
void query_keys_load(struct query_keys_view *v, size_t task, size_t block);
/* Of the n-th access of a task, by its index, the object's id; or QUERY_NO_ID. */
static inline uint32_t query_keys_id(struct query_keys_view *v, size_t task,
				     size_t n)
{
	if (task != v->task || n / QUERY_KEYS_BLOCK != v->block)
		query_keys_load(v, task, n / QUERY_KEYS_BLOCK);
	return v->ids[n % QUERY_KEYS_BLOCK];
}
/* The same as the object; NULL: not known. */
const struct moca_object *query_keys_object(struct query_keys_view *v,
					    size_t task, size_t n);
const struct moca_objects *query_keys_objects(const struct query_keys *k);
int query_need_objects(struct query *q);

/* Values. What is NULL in C is NULL in SQL. */
void query_text(sqlite3_context *out, const char *s);
/* The same of one that lives as long as the trace. */
void query_lasting(sqlite3_context *out, const char *s);
void query_u64(sqlite3_context *out, uint64_t x);
/* A time of the trace: ns since the recording began; 0: NULL. */
void query_time(const struct query *q, sqlite3_context *out, uint64_t ns);
void query_real(sqlite3_context *out, double x);	/* NAN: NULL */
/*
 * The columns that accesses, changes and events begin with: time_ns, task, pid,
 * tid, thread. 1: i is one of them.
 */
#define QUERY_MOMENT "time_ns INTEGER, task INTEGER, pid INTEGER, tid INTEGER, " \
		     "thread TEXT"
#define QUERY_MOMENT_COLUMNS 5u
int query_moment(const struct query *q, sqlite3_context *out, int i,
		 uint64_t time_ns, uint32_t task);
/* The task's pid, tid and name; column: 0, 1, 2. */
void query_task_part(const struct query *q, sqlite3_context *out,
		     uint32_t task, int part);

#endif
