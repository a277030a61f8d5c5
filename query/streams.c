// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts of exact mode and changes of tasks and mappings, as they are walked. */
#include <errno.h>

#include "analysis/trace.h"
#include "query/table.h"

static int open_walk(struct query_cursor *c)
{
	return moca_cursor_open(&c->walk, c->q->t, &c->scan.range);
}

static int next_count(struct query_cursor *c)
{
	int ret;

	c->at += c->row > 0;
	while (!c->counts || c->at >= c->counts->count) {
		ret = moca_cursor_counts(c->walk, &c->counts);
		if (ret <= 0)
			return ret;
		c->at = 0;
	}
	return 1;
}

enum {
	C_TASK, C_PID, C_TID, C_THREAD, C_ADDR, C_GRANULARITY, C_SLICE,
	C_BEGIN, C_END, C_LOADS, C_STORES, C_FIRST_NS, C_FIRST_TYPE,
};

static void count_column(struct query_cursor *c, int i, sqlite3_context *out)
{
	const struct moca_counts *s = c->counts;
	const struct moca_count *r = &s->rows[c->at];

	switch (i) {
	case C_TASK:
		query_u64(out, s->task);
		break;
	case C_PID:
	case C_TID:
	case C_THREAD:
		query_task_part(c->q, out, s->task, i - C_PID);
		break;
	case C_ADDR:
		query_u64(out, r->addr);
		break;
	case C_GRANULARITY:
		query_u64(out, s->granularity);
		break;
	case C_SLICE:
		query_u64(out, s->slice);
		break;
	case C_BEGIN:
	case C_END:
		query_time(c->q, out, i == C_BEGIN ? s->begin_ns : s->end_ns);
		break;
	case C_LOADS:
	case C_STORES:
		query_u64(out, i == C_LOADS ? r->loads : r->stores);
		break;
	case C_FIRST_NS:
		query_time(c->q, out, r->first_ns);
		break;
	default:
		query_text(out, !r->first_ns ? NULL :
				r->first_store ? "store" : "load");
	}
}

/* A slice that a time meets comes whole: no condition on times narrows it. */
const struct query_table query_counts = {
	.name = "counts",
	.columns = "task INTEGER, pid INTEGER, tid INTEGER, thread TEXT, "
		   "addr INTEGER, granularity INTEGER, slice INTEGER, "
		   "begin_ns INTEGER, end_ns INTEGER, loads INTEGER, "
		   "stores INTEGER, first_ns INTEGER, first_type TEXT",
	.time = QUERY_NO_COLUMN, .addr = QUERY_NO_COLUMN, .task = C_TASK,
	.open = open_walk, .next = next_count, .column = count_column,
};

static int next_change(struct query_cursor *c)
{
	return moca_cursor_change(c->walk, &c->change, &c->task);
}

enum {
	X_TIME, X_TASK, X_PID, X_TID, X_THREAD, X_TYPE, X_ADDR, X_LEN, X_OFFSET,
	X_PROT, X_FLAGS, X_STATUS, X_NAME,
};

static void change_column(struct query_cursor *c, int i, sqlite3_context *out)
{
	const struct moca_change *x = c->change;

	if (query_moment(c->q, out, i, x->time_ns, c->task))
		return;
	switch (i) {
	case X_TYPE:
		query_lasting(out, trace_change_name(x->type));
		break;
	case X_ADDR:
	case X_LEN:
	case X_OFFSET:
		query_u64(out, i == X_ADDR ? x->addr :
			       i == X_LEN ? x->len : x->offset);
		break;
	case X_PROT:
	case X_FLAGS:
		query_u64(out, i == X_PROT ? x->prot : x->flags);
		break;
	case X_STATUS:
		if (x->type == MOCA_CHANGE_TASK_END)
			sqlite3_result_int(out, x->status);
		else
			sqlite3_result_null(out);
		break;
	default:
		query_text(out, x->name);
	}
}

/* A condition on addr is about where a mapping begins: it narrows nothing. */
const struct query_table query_changes = {
	.name = "changes",
	.columns = QUERY_MOMENT ", type TEXT, addr INTEGER, len INTEGER, "
		   "offset INTEGER, prot INTEGER, flags INTEGER, "
		   "status INTEGER, name TEXT",
	.time = X_TIME, .addr = QUERY_NO_COLUMN, .task = X_TASK,
	.open = open_walk, .next = next_change, .column = change_column,
};
