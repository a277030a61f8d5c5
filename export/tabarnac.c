// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/tabarnac.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/table.h"

struct tabarnac_use {
	uint64_t page;
	uint64_t reads, writes;
	uint64_t first_ns;
	uint32_t thread;	/* index + 1: 0 is none */
	uint32_t unused;
};

static uint64_t hash_use(const struct tabarnac_use *u)
{
	return moca_mix(moca_mix(u->page) + u->thread);
}

static int same_use(const struct tabarnac_use *a, const struct tabarnac_use *b)
{
	return a->page == b->page && a->thread == b->thread;
}

static int used_use(const struct tabarnac_use *u)
{
	return u->thread != 0;
}

MOCA_TABLE(uses, struct tabarnac_use, hash_use, same_use, used_use);

static int add(struct tabarnac *x, size_t thread, const struct tabarnac_use *u)
{
	struct tabarnac_use key = *u, *at;

	key.thread = (uint32_t)thread + 1;
	if (uses_fit(&x->uses, &x->cap, x->count))
		return -ENOMEM;
	at = uses_at(x->uses, x->cap, &key);
	if (!at->thread) {
		*at = key;
		x->count++;
		return 0;
	}
	at->reads += key.reads;
	at->writes += key.writes;
	if (key.first_ns < at->first_ns)
		at->first_ns = key.first_ns;
	return 0;
}

/* Moca's own memory in the program; *last is where the address before was. */
static int is_own(struct moca_trace *t, uint32_t pid, uint64_t addr,
		  uint64_t time_ns, const struct moca_mapping **last)
{
	const struct moca_mapping *m = *last;

	if (!m || m->pid != pid || addr - m->addr >= m->len ||
	    time_ns < m->begin_ns || (m->end_ns && time_ns >= m->end_ns))
		m = *last = moca_trace_find_mapping(t, pid, addr, time_ns);
	return m && m->flags & MOCA_MAP_MOCA;
}

static int accesses(struct tabarnac *x, struct moca_trace *t, size_t thread,
		    const struct moca_query *q, const struct export_pick *pick)
{
	const struct moca_query of = export_pick_query(pick, q);
	const struct moca_task *task = moca_trace_task(t, thread);
	const struct moca_mapping *last = NULL;
	const struct moca_chunk *c;
	struct moca_cursor *cursor;
	uint64_t before = 0;
	int ret = moca_cursor_open(&cursor, t, &of);

	if (ret)
		return ret;
	while (ret >= 0 &&
	       (ret = export_pick_chunk(pick, cursor, &before, &c)) > 0)
		for (size_t i = 0; i < c->count && ret >= 0; i++) {
			const struct moca_access *a = &c->accesses[i];
			int writes = a->type == MOCA_ACCESS_WRITE;
			const struct tabarnac_use u = {
				.page = a->addr >> TABARNAC_PAGE_SHIFT,
				.reads = writes ? 0 : a->weight,
				.writes = writes ? a->weight : 0,
				.first_ns = a->time_ns,
			};

			if (!is_own(t, task->pid, a->addr, a->time_ns, &last))
				ret = add(x, thread, &u);
		}
	moca_cursor_close(cursor);
	return ret;
}

static int counts(struct tabarnac *x, struct moca_trace *t, size_t thread,
		  const struct moca_query *q)
{
	const struct moca_task *task = moca_trace_task(t, thread);
	const struct moca_mapping *last = NULL;
	const struct moca_counts *c;
	struct moca_cursor *cursor;
	int ret = moca_cursor_open(&cursor, t, q);

	if (ret)
		return ret;
	while (ret >= 0 && (ret = moca_cursor_counts(cursor, &c)) > 0)
		for (size_t i = 0; i < c->count && ret >= 0; i++) {
			const struct moca_count *r = &c->rows[i];
			const struct tabarnac_use u = {
				.page = r->addr >> TABARNAC_PAGE_SHIFT,
				.reads = r->loads, .writes = r->stores,
				/* What was touched before was told before. */
				.first_ns = r->first_ns ? r->first_ns :
							  UINT64_MAX,
			};

			if (!is_own(t, task->pid, r->addr,
				    r->first_ns ? r->first_ns : c->begin_ns,
				    &last))
				ret = add(x, thread, &u);
		}
	moca_cursor_close(cursor);
	return ret;
}

static int by_page(const void *a, const void *b)
{
	const struct tabarnac_use *x = a, *y = b;

	if (x->page != y->page)
		return x->page < y->page ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* In place of the table, an array in order. */
static void put_in_order(struct tabarnac *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->cap; i++)
		if (x->uses[i].thread)
			x->uses[n++] = x->uses[i];
	if (n)
		qsort(x->uses, n, sizeof(*x->uses), by_page);
}

int tabarnac_begin(struct tabarnac *x, struct moca_trace *t,
		   const struct moca_query *range,
		   const struct export_pick *pick)
{
	int err = 0;

	*x = (struct tabarnac){ .threads = moca_trace_task_count(t) };
	for (size_t i = 0; i < x->threads && !err; i++) {
		const struct moca_task *task = moca_trace_task(t, i);
		struct moca_query q = *range;

		if (q.one_task && q.task != task->id)
			continue;
		q.task = task->id;
		q.one_task = 1;
		err = task->counts && !task->accesses ?
			      counts(x, t, i, &q) : accesses(x, t, i, &q, pick);
	}
	x->read_failed = err != 0;
	put_in_order(x);
	return err;
}

void tabarnac_free(struct tabarnac *x)
{
	free(x->uses);
}

/* A line of the page whose uses are u[0] to u[n - 1]: of all threads. */
static void put_line(struct tabarnac *x, struct out *o,
		     const struct tabarnac_use *u, size_t n, int writes)
{
	size_t first = 0, at = 0;

	for (size_t i = 1; i < n; i++)
		if (u[i].first_ns < u[first].first_ns)
			first = i;
	out_u64(o, u->page);
	out_byte(o, ',');
	out_u64(o, u[first].thread - 1);
	out_string(o, writes ? ",W" : ",R");
	for (size_t i = 0; i < x->threads; i++) {
		out_byte(o, ',');
		if (at < n && u[at].thread == i + 1) {
			out_u64(o, writes ? u[at].writes : u[at].reads);
			at++;
		} else {
			out_byte(o, '0');
		}
	}
	out_byte(o, '\n');
}

int tabarnac_pages(struct tabarnac *x, struct out *o)
{
	size_t end;

	out_string(o, "addr,firstacc,type");
	for (size_t i = 0; i < x->threads; i++) {
		out_string(o, ",T");
		out_u64(o, i);
	}
	out_byte(o, '\n');
	/* Its scripts count on both lines of each page, one after the other. */
	for (size_t i = 0; i < x->count && !o->error; i = end) {
		for (end = i + 1; end < x->count; end++)
			if (x->uses[end].page != x->uses[i].page)
				break;
		put_line(x, o, &x->uses[i], end - i, 0);
		put_line(x, o, &x->uses[i], end - i, 1);
		x->pages++;
	}
	return o->error;
}
