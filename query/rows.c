// SPDX-License-Identifier: GPL-2.0-or-later
/* What a trace has few of: tasks, mappings, metadata, its certificate. */
#include <errno.h>
#include <string.h>

#include "analysis/trace.h"
#include "lib/format/trace.h"
#include "query/table.h"

enum {
	T_TASK, T_PID, T_TID, T_NAME, T_PARENT, T_THREAD, T_BEGIN, T_END,
	T_STATUS, T_RECORDS, T_ACCESSES, T_READS, T_WRITES, T_LOST, T_EVENTS,
	T_EVENTS_LOST, T_COUNTS, T_LOADS, T_STORES,
};

static int load_tasks(struct query *q, size_t *count)
{
	*count = moca_trace_task_count(q->t);
	return 0;
}

static void task_column(struct query_cursor *c, int i, sqlite3_context *out)
{
	const struct moca_task *t = moca_trace_task(c->q->t, (size_t)c->row);
	/* By the order of the columns, from T_RECORDS on. */
	const uint64_t sums[] = {
		t->accesses, t->weight, t->read_weight, t->write_weight, t->lost, t->events,
		t->events_lost, t->counts, t->loads, t->stores,
	};

	switch (i) {
	case T_TASK:
	case T_PID:
	case T_TID:
		query_u64(out, i == T_TASK ? t->id : i == T_PID ? t->pid : t->tid);
		break;
	case T_NAME:
		query_text(out, t->name);
		break;
	case T_PARENT:
		if (t->parent == MOCA_NO_TASK)
			sqlite3_result_null(out);
		else
			query_u64(out, t->parent);
		break;
	case T_THREAD:
		query_u64(out, (t->flags & MOCA_TASK_THREAD) != 0);
		break;
	case T_BEGIN:
	case T_END:
		query_time(c->q, out, i == T_BEGIN ? t->start_ns : t->end_ns);
		break;
	case T_STATUS:
		if (!t->end_ns || t->flags & MOCA_TASK_EVENTS)
			sqlite3_result_null(out);
		else
			sqlite3_result_int(out, t->status);
		break;
	default:
		query_u64(out, sums[i - T_RECORDS]);
	}
}

const struct query_table query_tasks = {
	.name = "tasks",
	.columns = "task INTEGER, pid INTEGER, tid INTEGER, name TEXT, "
		   "parent INTEGER, is_thread INTEGER, begin_ns INTEGER, "
		   "end_ns INTEGER, status INTEGER, records INTEGER, "
		   "accesses INTEGER, "
		   "reads INTEGER, writes INTEGER, lost INTEGER, "
		   "events INTEGER, events_lost INTEGER, counts INTEGER, "
		   "loads INTEGER, stores INTEGER",
	.time = QUERY_NO_COLUMN, .addr = QUERY_NO_COLUMN,
	.task = QUERY_NO_COLUMN,
	.load = load_tasks, .column = task_column,
};

enum {
	M_PID, M_ADDR, M_LEN, M_BEGIN, M_END, M_PROT, M_SHARED, M_OWN, M_NAME,
	M_OFFSET, M_MEMORY, M_DEV, M_INO,
};

static int load_mappings(struct query *q, size_t *count)
{
	const struct moca_mapping *m;

	return moca_trace_mappings(q->t, &m, count);
}

static const char *memory_name(uint32_t memory)
{
	static const char *const names[] = {
		[MOCA_MEMORY_PRIVATE] = "private",
		[MOCA_MEMORY_FILE] = "file",
		[MOCA_MEMORY_MEMFD] = "memfd",
		[MOCA_MEMORY_SYSV] = "sysv",
		[MOCA_MEMORY_ANONYMOUS] = "shared anonymous",
		[MOCA_MEMORY_HUGETLB] = "huge pages",
	};

	return memory < sizeof(names) / sizeof(*names) ? names[memory] : NULL;
}

static void mapping_column(struct query_cursor *c, int i, sqlite3_context *out)
{
	const struct moca_mapping *m;
	char prot[4] = "---";
	size_t n;

	if (moca_trace_mappings(c->q->t, &m, &n) || (size_t)c->row >= n)
		return;
	m += c->row;
	switch (i) {
	case M_PID:
		query_u64(out, m->pid);
		break;
	case M_ADDR:
	case M_LEN:
		query_u64(out, i == M_ADDR ? m->addr : m->len);
		break;
	case M_BEGIN:
	case M_END:
		query_time(c->q, out, i == M_BEGIN ? m->begin_ns : m->end_ns);
		break;
	case M_PROT:
		for (n = 0; n < 3; n++)
			if (m->prot & 1u << n)
				prot[n] = "rwx"[n];
		sqlite3_result_text(out, prot, 3, SQLITE_TRANSIENT);
		break;
	case M_SHARED:
	case M_OWN:
		query_u64(out, (m->flags & (i == M_SHARED ? MOCA_MAP_SHARED :
							    MOCA_MAP_MOCA)) != 0);
		break;
	case M_NAME:
		query_text(out, m->name);
		break;
	case M_OFFSET:
		query_u64(out, m->offset);
		break;
	case M_MEMORY:
		query_text(out, memory_name(m->memory));
		break;
	default:
		query_u64(out, i == M_DEV ? m->dev : m->ino);
	}
}

const struct query_table query_mappings = {
	.name = "mappings",
	.columns = "pid INTEGER, addr INTEGER, len INTEGER, begin_ns INTEGER, "
		   "end_ns INTEGER, prot TEXT, shared INTEGER, own INTEGER, "
		   "name TEXT, offset INTEGER, memory TEXT, dev INTEGER, "
		   "ino INTEGER",
	.time = QUERY_NO_COLUMN, .addr = QUERY_NO_COLUMN,
	.task = QUERY_NO_COLUMN,
	.load = load_mappings, .column = mapping_column,
};

static int load_metadata(struct query *q, size_t *count)
{
	*count = moca_meta_count(q->t->meta);
	return 0;
}

static void metadata_column(struct query_cursor *c, int i, sqlite3_context *out)
{
	const char *value, *key = moca_meta_line(c->q->t->meta, (size_t)c->row,
						 &value);

	query_text(out, i ? value : key);
}

const struct query_table query_metadata = {
	.name = "metadata",
	.columns = "key TEXT, value TEXT",
	.time = QUERY_NO_COLUMN, .addr = QUERY_NO_COLUMN,
	.task = QUERY_NO_COLUMN,
	.load = load_metadata, .column = metadata_column,
};

static int load_certificate(struct query *q, size_t *count)
{
	*count = 1;
	return 0;
}

static void certificate_column(struct query_cursor *c, int i,
			       sqlite3_context *out)
{
	struct moca_certificate k;

	moca_trace_certificate(c->q->t, &k);
	query_u64(out, (const uint64_t[]){
		k.pages_seen, k.pages_touched, k.pages_other, k.pages_blind,
		k.records, k.lost, k.chunks, k.lossy_chunks, k.loads, k.stores,
		k.gaps, (uint64_t)moca_trace_truncated(c->q->t),
	}[i]);
}

const struct query_table query_certificate = {
	.name = "certificate",
	.columns = "pages_seen INTEGER, pages_touched INTEGER, "
		   "pages_other INTEGER, pages_blind INTEGER, records INTEGER, "
		   "lost INTEGER, chunks INTEGER, lossy_chunks INTEGER, "
		   "loads INTEGER, stores INTEGER, gaps INTEGER, "
		   "truncated INTEGER",
	.time = QUERY_NO_COLUMN, .addr = QUERY_NO_COLUMN,
	.task = QUERY_NO_COLUMN,
	.load = load_certificate, .column = certificate_column,
};
