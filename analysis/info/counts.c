// SPDX-License-Identifier: GPL-2.0-or-later
/* `moca info` of a trace that has counts only. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/info/page-set.h"
#include "analysis/info/walk.h"
#include "analysis/trace.h"

/* Where the row's memory was, when it was touched; or at any time it could be. */
static int place_of(struct walk *w, uint32_t pid, const struct moca_counts *c,
		    const struct moca_count *r, struct place *out)
{
	const uint64_t times[] = { r->first_ns, c->begin_ns,
				   c->begin_ns / 2 + c->end_ns / 2, c->end_ns };
	const struct moca_mapping *m = NULL;
	struct moca_access a = {
		.addr = r->addr,
		.type = r->stores ? MOCA_ACCESS_WRITE : MOCA_ACCESS_READ,
	};
	size_t i;

	for (i = 0; i < sizeof(times) / sizeof(*times) && !m; i++) {
		if (!times[i])
			continue;
		a.time_ns = times[i];
		m = moca_info_find_mapping(w, pid, &a);
	}
	return moca_info_place(w, pid, m, &a, out);
}

static void count(struct moca_info_counts *n, const struct moca_count *r)
{
	n->accesses += r->loads + r->stores;
	n->reads += r->loads;
	n->writes += r->stores;
}

static int add_row(struct walk *w, const struct moca_task *task,
		   struct moca_info_counts *n, const struct moca_counts *c,
		   const struct moca_count *r)
{
	struct moca_info_counts *m;
	struct place at;
	int ret;

	ret = place_of(w, task->pid, c, r, &at);
	if (ret)
		return ret;
	if (at.own) {
		count(&w->s->own, r);
		ret = page_set_add(&w->process_pages, at.owner, at.page);
		w->s->own.pages += ret > 0;
		return ret < 0 ? ret : 0;
	}
	m = &w->s->mappings[at.group].n;
	count(n, r);
	count(m, r);
	count(&w->s->total, r);
	ret = page_set_add(&w->task_pages, at.owner, at.page);
	if (ret >= 0) {
		n->pages += (uint64_t)ret;
		ret = page_set_add(&w->process_pages, at.owner, at.page);
	}
	if (ret >= 0) {
		w->s->total.pages += (uint64_t)ret;
		ret = page_set_add(&w->group_pages, (uint32_t)at.group,
				   moca_info_group_page(&at));
	}
	if (ret >= 0)
		m->pages += (uint64_t)ret;
	return ret < 0 ? ret : moca_info_count_process(w, task->pid, at.group);
}

int moca_info_walk_counts(struct walk *w)
{
	const struct moca_counts *c;
	struct moca_cursor *cursor;
	size_t i, index, last = SIZE_MAX;
	int ret;

	ret = moca_cursor_open(&cursor, w->t, NULL);
	if (ret)
		return ret;
	while ((ret = moca_cursor_counts(cursor, &c)) > 0) {
		index = trace_task_index(w->t, c->task);
		if (index == SIZE_MAX)
			continue;
		if (index != last)
			page_set_clear(&w->task_pages);
		last = index;
		w->s->bytes += c->bytes;
		w->s->rows += c->count;
		if (!w->s->begin_ns || c->begin_ns < w->s->begin_ns)
			w->s->begin_ns = c->begin_ns;
		if (c->end_ns > w->s->end_ns)
			w->s->end_ns = c->end_ns;
		if (c->slice >= w->s->slices)
			w->s->slices = c->slice + 1;
		for (i = 0, ret = 0; i < c->count && !ret; i++)
			ret = add_row(w, moca_trace_task(w->t, index),
				      &w->s->tasks[index], c, &c->rows[i]);
		if (ret)
			break;
	}
	moca_cursor_close(cursor);
	return ret;
}
