// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions of call stacks, each a row; and how much was done below each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/callers.h"
#include "analysis/flame.h"
#include "lib/base/vec.h"
#include "query/table.h"

enum { PID, STACK, DEPTH, FUNCTION, FILE_NAME, LINE, INLINED, COMPLETE,
       ACCESSES, READS, WRITES, TOUCHES, RECORDS };

struct row {
	const struct moca_flame_stack *stack;
	struct moca_caller caller;
	int depth;
	int complete;
};

struct query_stacks {
	struct moca_flame flame;
	struct moca_callers *callers;
	struct row *rows;
	size_t count, room;
};

void query_stacks_free(struct query_stacks *s)
{
	if (!s)
		return;
	moca_flame_free(&s->flame);
	moca_callers_close(s->callers);
	free(s->rows);
	free(s);
}

static int add_rows(struct query_stacks *s, const struct moca_flame_stack *of)
{
	const struct moca_caller *c;
	int cut, n = moca_callers_stack(s->callers, of->pid, of->time_ns,
					of->number, &c, &cut);

	if (n < 0 || moca_vec_fit(s->rows, s->room, s->count + (size_t)n))
		return -ENOMEM;
	for (int i = 0; i < n; i++)
		s->rows[s->count++] = (struct row){ of, c[i], i, !cut };
	return 0;
}

static int load(struct query *q, size_t *count)
{
	struct query_stacks *s = q->stacks;
	int err = 0;

	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return -ENOMEM;
		err = moca_flame_build(&s->flame, q->t, NULL);
		if (!err)
			err = moca_callers_open(&s->callers, q->t, NULL);
		for (size_t i = 0; i < s->flame.count && !err; i++)
			err = add_rows(s, &s->flame.stacks[i]);
		if (err) {
			query_stacks_free(s);
			return err;
		}
		q->stacks = s;
	}
	*count = s->count;
	return 0;
}

static void column(struct query_cursor *c, int i, sqlite3_context *out)
{
	const struct row *r = &c->q->stacks->rows[c->row];
	const uint64_t *counts = r->stack->counts;
	/* By the order of the columns, from ACCESSES on. */
	const uint64_t sums[] = {
		counts[MOCA_FLAME_ACCESSES], counts[MOCA_FLAME_READS],
		counts[MOCA_FLAME_WRITES], counts[MOCA_FLAME_TOUCHES],
		counts[MOCA_FLAME_FAULTS],
	};

	switch (i) {
	case PID:
	case STACK:
		query_u64(out, i == PID ? r->stack->pid : r->stack->number);
		break;
	case DEPTH:
	case INLINED:
	case COMPLETE:
		sqlite3_result_int(out, i == DEPTH ? r->depth : i == INLINED ?
				   r->caller.inlined : r->complete);
		break;
	case FUNCTION:
	case FILE_NAME:
		query_text(out, i == FUNCTION ? r->caller.name : r->caller.file);
		break;
	case LINE:
		if (r->caller.line)
			query_u64(out, r->caller.line);
		else
			sqlite3_result_null(out);
		break;
	default:
		query_u64(out, sums[i - ACCESSES]);
	}
}

const struct query_table query_stacks = {
	.name = "stacks",
	.columns = "pid INTEGER, stack INTEGER, depth INTEGER, function TEXT, "
		   "file TEXT, line INTEGER, inlined INTEGER, "
		   "complete INTEGER, accesses INTEGER, reads INTEGER, "
		   "writes INTEGER, first_touches INTEGER, records INTEGER",
	.time = QUERY_NO_COLUMN, .addr = QUERY_NO_COLUMN,
	.task = QUERY_NO_COLUMN,
	.load = load, .column = column,
};
