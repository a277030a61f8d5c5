// SPDX-License-Identifier: GPL-2.0-or-later
/* What is computed of a trace: its data structures, findings, and checks. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/advice.h"
#include "analysis/objects/objects.h"
#include "query/table.h"
#include "report/objects.h"

int query_need_objects(struct query *q)
{
	const struct moca_objects_options opt = {
		.size = sizeof(opt), .instances = 1,
	};

	return q->objects ? 0 : moca_objects_compute(&q->objects, q->t, &opt);
}

static int load_objects(struct query *q, size_t *count)
{
	int err = query_need_objects(q);

	if (!err)
		moca_objects_rows(q->objects, count);
	return err;
}

enum {
	O_ID, O_OBJECT, O_KIND, O_SITE, O_PROGRAM, O_MODULE, O_SHARING,
	O_SHARING_PROCESSES, O_BEGIN, O_END, O_FIRST_NS, O_FIRST_TASK, O_SUMS,
};

static void object_column(struct query_cursor *c, int i, sqlite3_context *out)
{
	size_t n;
	const struct moca_object *o = moca_objects_rows(c->q->objects, &n) +
				      c->row;
	/* By the order of the columns, from O_SUMS on. */
	const uint64_t sums[] = {
		o->addr, o->instances, o->size, o->bytes, o->pages,
		o->pages_shared, o->accesses, o->reads, o->writes, o->threads,
		o->processes, o->loads, o->stores, o->node_unknown,
	};

	switch (i) {
	case O_ID:
		query_u64(out, o->id);
		break;
	case O_OBJECT:
	case O_SITE:
	case O_PROGRAM:
		query_text(out, i == O_OBJECT ? o->name :
				i == O_SITE ? o->site : o->program);
		break;
	case O_KIND:
		query_text(out, objects_kind(o->kind));
		break;
	case O_MODULE:
		query_text(out, o->module);
		break;
	case O_SHARING:
	case O_SHARING_PROCESSES:
		query_text(out, moca_sharing_name(i == O_SHARING ?
						  o->sharing :
						  o->sharing_processes));
		break;
	case O_BEGIN:
	case O_END:
	case O_FIRST_NS:
		query_time(c->q, out, i == O_BEGIN ? o->begin_ns :
				      i == O_END ? o->end_ns : o->first_ns);
		break;
	case O_FIRST_TASK:
		if (o->first_task == MOCA_NO_TASK)
			sqlite3_result_null(out);
		else
			query_u64(out, o->first_task);
		break;
	default:
		query_u64(out, sums[i - O_SUMS]);
	}
}

const struct query_table query_objects = {
	.name = "objects",
	.columns = "object_id INTEGER, object TEXT, kind TEXT, site TEXT, "
		   "program TEXT, module TEXT, sharing TEXT, "
		   "sharing_processes TEXT, begin_ns INTEGER, end_ns INTEGER, "
		   "first_ns INTEGER, first_task INTEGER, addr INTEGER, "
		   "instances INTEGER, size INTEGER, bytes INTEGER, "
		   "pages INTEGER, pages_shared INTEGER, accesses INTEGER, "
		   "reads INTEGER, writes INTEGER, threads INTEGER, "
		   "processes INTEGER, loads INTEGER, stores INTEGER, "
		   "node_unknown INTEGER",
	.time = QUERY_NO_COLUMN, .addr = QUERY_NO_COLUMN,
	.task = QUERY_NO_COLUMN,
	.load = load_objects, .column = object_column,
};

static int load_object_nodes(struct query *q, size_t *count)
{
	int err = load_objects(q, count);

	*count *= MOCA_OBJECT_NODES;
	return err;
}

/* A row for each node, also those without accesses: nothing is kept for it. */
static void object_nodes_column(struct query_cursor *c, int i,
				sqlite3_context *out)
{
	size_t n, node = (size_t)c->row % MOCA_OBJECT_NODES;
	const struct moca_object *o = moca_objects_rows(c->q->objects, &n) +
				      c->row / MOCA_OBJECT_NODES;

	if (i == 1)
		query_text(out, o->name);
	else
		query_u64(out, i == 0 ? o->id : i == 2 ? node : o->nodes[node]);
}

const struct query_table query_object_nodes = {
	.name = "all_object_nodes",
	.columns = "object_id INTEGER, object TEXT, node INTEGER, "
		   "accesses INTEGER",
	.time = QUERY_NO_COLUMN, .addr = QUERY_NO_COLUMN,
	.task = QUERY_NO_COLUMN,
	.load = load_object_nodes, .column = object_nodes_column,
};

static int load_instances(struct query *q, size_t *count)
{
	int err = query_need_objects(q);

	if (!err)
		moca_objects_instances(q->objects, count);
	return err;
}

enum { I_ID, I_OBJECT, I_PID, I_ADDR, I_SIZE, I_BEGIN, I_END, I_SUMS };

static void instance_column(struct query_cursor *c, int i, sqlite3_context *out)
{
	size_t n, rows;
	const struct moca_instance *x =
		moca_objects_instances(c->q->objects, &n) + c->row;
	const struct moca_object *o = moca_objects_rows(c->q->objects, &rows);

	switch (i) {
	case I_ID:
		query_u64(out, x->object);
		break;
	case I_OBJECT:
		query_text(out, x->object < rows ? o[x->object].name : NULL);
		break;
	case I_PID:
		query_u64(out, x->pid);
		break;
	case I_ADDR:
	case I_SIZE:
		query_u64(out, i == I_ADDR ? x->addr : x->size);
		break;
	case I_BEGIN:
	case I_END:
		query_time(c->q, out, i == I_BEGIN ? x->begin_ns : x->end_ns);
		break;
	default:
		query_u64(out, (const uint64_t[]){ x->accesses, x->reads,
						   x->writes }[i - I_SUMS]);
	}
}

const struct query_table query_instances = {
	.name = "instances",
	.columns = "object_id INTEGER, object TEXT, pid INTEGER, addr INTEGER, "
		   "size INTEGER, begin_ns INTEGER, end_ns INTEGER, "
		   "accesses INTEGER, reads INTEGER, writes INTEGER",
	.time = QUERY_NO_COLUMN, .addr = QUERY_NO_COLUMN,
	.task = QUERY_NO_COLUMN,
	.load = load_instances, .column = instance_column,
};

static int need_advice(struct query *q)
{
	int err = q->profile ? 0 :
			       moca_profile_compute(&q->profile, q->t, NULL);

	if (err || q->advice)
		return err;
	return moca_advice_compute(&q->advice, q->t, q->profile);
}

static int load_findings(struct query *q, size_t *count)
{
	int err = need_advice(q);

	*count = err ? 0 : q->advice->count;
	return err;
}

enum {
	F_RANK, F_FINDING, F_CONFIDENCE, F_OBJECT, F_SITE, F_GAIN, F_SECONDS,
	F_TITLE, F_CAUSE, F_FIX, F_EVIDENCE, F_TRY, F_FUNCTION, F_FILE, F_LINE,
};

static void lines(sqlite3_context *out, char *const *lines_)
{
	sqlite3_str *s = sqlite3_str_new(NULL);

	for (int i = 0; i < MOCA_FINDING_LINES && lines_[i]; i++)
		sqlite3_str_appendf(s, "%s%s", i ? "\n" : "", lines_[i]);
	if (sqlite3_str_length(s))
		sqlite3_result_text(out, sqlite3_str_value(s), -1,
				    SQLITE_TRANSIENT);
	sqlite3_free(sqlite3_str_finish(s));
}

static void finding_column(struct query_cursor *c, int i, sqlite3_context *out)
{
	const struct moca_finding *f = &c->q->advice->findings[c->row];
	const struct moca_object *o = f->object ? f->object->object : NULL;

	switch (i) {
	case F_RANK:
		query_u64(out, (uint64_t)c->row + 1);
		break;
	case F_FINDING:
		query_text(out, moca_finding_id(f->kind));
		break;
	case F_CONFIDENCE:
		query_text(out, moca_confidence_name(f->confidence));
		break;
	case F_OBJECT:
	case F_SITE:
		query_text(out, !o ? NULL : i == F_OBJECT ? o->name : o->site);
		break;
	case F_GAIN:
	case F_SECONDS:
		query_real(out, i == F_GAIN ? f->gain : f->seconds);
		break;
	case F_TITLE:
	case F_CAUSE:
	case F_FIX:
		query_text(out, i == F_TITLE ? f->title :
				i == F_CAUSE ? f->cause : f->fix);
		break;
	case F_EVIDENCE:
	case F_TRY:
		lines(out, i == F_EVIDENCE ? f->evidence : f->try_);
		break;
	case F_LINE:
		if (f->line)
			query_u64(out, f->line);
		else
			sqlite3_result_null(out);
		break;
	default:
		query_text(out, i == F_FUNCTION ? f->function : f->file);
	}
}

const struct query_table query_findings = {
	.name = "findings",
	.columns = "rank INTEGER, finding TEXT, confidence TEXT, object TEXT, "
		   "site TEXT, gain REAL, seconds REAL, title TEXT, cause TEXT, "
		   "fix TEXT, evidence TEXT, try TEXT, function TEXT, "
		   "file TEXT, line INTEGER",
	.time = QUERY_NO_COLUMN, .addr = QUERY_NO_COLUMN,
	.task = QUERY_NO_COLUMN,
	.load = load_findings, .column = finding_column,
};

static int load_checks(struct query *q, size_t *count)
{
	int err = need_advice(q);

	*count = err ? 0 : q->advice->check_count;
	return err;
}

static void check_column(struct query_cursor *c, int i, sqlite3_context *out)
{
	const struct moca_check *x = &c->q->advice->checks[c->row];

	switch (i) {
	case 0:
		query_text(out, moca_finding_id(x->kind));
		break;
	case 1:
	case 2:
		query_u64(out, i == 1 ? x->looked : (uint64_t)x->found);
		break;
	case 3:
		query_real(out, x->near);
		break;
	case 4:
		query_text(out, x->object ? x->object->object->name : NULL);
		break;
	default:
		query_text(out, x->missed);
	}
}

const struct query_table query_checks = {
	.name = "checks",
	.columns = "finding TEXT, looked INTEGER, found INTEGER, near REAL, "
		   "object TEXT, missed TEXT",
	.time = QUERY_NO_COLUMN, .addr = QUERY_NO_COLUMN,
	.task = QUERY_NO_COLUMN,
	.load = load_checks, .column = check_column,
};
