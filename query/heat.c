// SPDX-License-Identifier: GPL-2.0-or-later
/* Pages that were touched between two looks at accessed bits: a row for each. */
#include "analysis/heat.h"
#include "analysis/trace.h"
#include "query/table.h"

enum { TIME, SINCE, PID, PROCESS, ADDR, WRITTEN };

static int open_walk(struct query_cursor *c)
{
	const struct moca_query range = {
		.size = sizeof(range), .begin_ns = c->scan.range.begin_ns,
		.end_ns = c->scan.range.end_ns,
	};

	return moca_cursor_open(&c->walk, c->q->t, &range);
}

/* What makes no sense `moca check` tells of. */
static int next_run(struct query_cursor *c, struct moca_heat_run *r)
{
	int ret;

	do
		ret = moca_cursor_event(c->walk, &c->event, &c->task);
	while (ret > 0 && moca_heat_run(r, c->event) <= 0);
	return ret;
}

static int next_page(struct query_cursor *c)
{
	struct moca_heat_run r;
	int ret = 1;

	c->at += c->row > 0;
	if (!c->event)
		ret = next_run(c, &r);
	else
		moca_heat_run(&r, c->event);
	for (; ret > 0; c->at = 0, ret = next_run(c, &r))
		for (; c->at < r.pages; c->at++)
			if (moca_heat_touched(&r, c->at))
				return 1;
	return ret;
}

static void column(struct query_cursor *c, int i, sqlite3_context *out)
{
	struct moca_heat_run r;

	moca_heat_run(&r, c->event);
	switch (i) {
	case TIME:
		query_time(c->q, out, r.time_ns);
		break;
	case SINCE:
		query_time(c->q, out, r.since_ns);
		break;
	case PID:
		query_u64(out, r.pid);
		break;
	case PROCESS:
		query_text(out, trace_process_name(c->q->t, r.pid));
		break;
	case ADDR:
		query_u64(out, r.addr + c->at * 4096);
		break;
	case WRITTEN:
		query_u64(out, (uint64_t)moca_heat_written(&r, c->at));
		break;
	}
}

const struct query_table query_heat = {
	.name = "heat",
	.columns = "time_ns INTEGER, since_ns INTEGER, pid INTEGER, "
		   "process TEXT, addr INTEGER, written INTEGER",
	.time = TIME, .addr = QUERY_NO_COLUMN, .task = QUERY_NO_COLUMN,
	.open = open_walk, .next = next_page, .column = column,
};
