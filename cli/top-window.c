// SPDX-License-Identifier: GPL-2.0-or-later
/* The last seconds of a trace that is being recorded. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rates.h"
#include "analysis/trace.h"
#include "cli/top.h"
#include "lib/base/clock.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"

#define RATE_BINS 8u	/* in the window, of as many as are allowed of all */
#define RATE_BINS_MAX (1u << 17)
#define WIDER 4		/* times as much, where nothing is in the window */

struct page {
	uint64_t number;
	uint32_t space;
	uint32_t used;
};

static inline uint64_t page_hash(const struct page *p)
{
	return moca_mix(p->number ^ (uint64_t)p->space << 44);
}

static inline int page_same(const struct page *a, const struct page *b)
{
	return a->number == b->number && a->space == b->space;
}

static inline int page_used(const struct page *p)
{
	return p->used;
}

MOCA_TABLE(page, struct page, page_hash, page_same, page_used);

/* What is gathered while the objects are computed. */
struct gather {
	struct top_window *w;
	struct page *pages;
	size_t page_cap;
	size_t task_room;
	int error;
};

static void count_page(struct gather *g, const struct moca_observed *x)
{
	struct page key = { x->addr >> g->w->page_shift, x->space, 1 }, *p;

	g->error = page_fit(&g->pages, &g->page_cap, g->w->pages);
	if (g->error)
		return;
	p = page_at(g->pages, g->page_cap, &key);
	if (page_used(p))
		return;
	*p = key;
	g->w->pages++;
}

static void observe(void *arg, const struct moca_observed *x)
{
	struct gather *g = arg;
	struct top_window *w = g->w;
	size_t task = x->task;

	if (g->error)
		return;
	count_page(g, x);
	if (g->error)
		return;
	g->error = moca_vec_fit(w->tasks, g->task_room, task + 1);
	if (g->error)
		return;
	for (; w->task_count <= task; w->task_count++)
		w->tasks[w->task_count] =
			(struct top_task){ .task = (uint32_t)w->task_count };
	w->tasks[task].accesses += x->weight;
	if (x->type == MOCA_ACCESS_WRITE)
		w->tasks[task].writes += x->weight;
	else if (x->type == MOCA_ACCESS_READ || x->type == MOCA_ACCESS_EXEC)
		w->tasks[task].reads += x->weight;
	if (x->node >= 0 && x->node < MOCA_OBJECT_NODES)
		w->nodes[x->node] += x->weight;
	else
		w->node_unknown += x->weight;
}

static int by_accesses(const void *a, const void *b)
{
	const struct top_task *x = a, *y = b;

	if (x->accesses != y->accesses)
		return x->accesses > y->accesses ? -1 : 1;
	return x->task < y->task ? -1 : x->task > y->task;
}

/* Intervals with accesses since w->begin_ns; 1 if there are any. 0 or -errno. */
static int look(struct top_window *w)
{
	struct moca_query q = { .size = sizeof(q), .begin_ns = w->begin_ns };
	const struct moca_chunk *c;
	struct moca_cursor *walk;
	uint64_t number = UINT64_MAX;
	int ret;

	w->intervals = w->longest_ns = 0;
	ret = moca_cursor_open(&walk, w->v.trace, &q);
	if (ret)
		return ret;
	while ((ret = moca_cursor_chunk(walk, &c)) > 0) {
		if (!c->count)
			continue;
		/* One that several tasks have counts once. */
		if (number == UINT64_MAX || c->interval > number) {
			number = c->interval;
			w->intervals++;
		}
		if (c->end_ns - c->begin_ns > w->longest_ns)
			w->longest_ns = c->end_ns - c->begin_ns;
	}
	moca_cursor_close(walk);
	return ret < 0 ? ret : w->intervals != 0;
}

static int choose_window(struct top_window *w, uint64_t window_ns)
{
	int ret;

	for (;; window_ns *= WIDER) {
		w->begin_ns = w->end_ns - w->start_ns > window_ns ?
				      w->end_ns - window_ns : w->start_ns;
		ret = look(w);
		if (ret || w->begin_ns == w->start_ns)
			return ret < 0 ? ret : 0;
	}
}

static int read_rates(struct top_window *w)
{
	struct moca_rates *r;
	uint64_t width, at, bins;
	size_t i;
	int err;

	bins = RATE_BINS * ((w->end_ns - w->start_ns) /
			    (w->end_ns - w->begin_ns + 1) + 1);
	err = moca_rates_compute(&r, w->v.trace,
				 bins < RATE_BINS_MAX ? bins : RATE_BINS_MAX);

	if (err || !r)
		return err;
	width = r->bin_count ? (r->end_ns - r->begin_ns) / r->bin_count : 0;
	for (i = 0; width && i < r->bin_count; i++) {
		at = r->begin_ns + i * width;
		if (at + width <= w->begin_ns)
			continue;
		w->rates_ns += r->covered_ns[i];
		w->minor += r->bins[i].minor;
		w->own += r->bins[i].own;
		w->major += r->bins[i].major;
		w->cpu_ns += r->bins[i].cpu_ns;
	}
	moca_rates_free(r);
	return 0;
}

static uint64_t key_of(const struct moca_object *o, enum top_sort sort)
{
	switch (sort) {
	case TOP_READS:
		return o->reads;
	case TOP_WRITES:
		return o->writes;
	case TOP_PAGES:
		return o->pages;
	default:
		return o->accesses;
	}
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct moca_object *x = *(const struct moca_object *const *)a;
	const struct moca_object *y = *(const struct moca_object *const *)b;
	enum top_sort sort = *(const enum top_sort *)arg;
	uint64_t k = key_of(x, sort), l = key_of(y, sort);

	if (k != l)
		return k > l ? -1 : 1;
	if (x->accesses != y->accesses)
		return x->accesses > y->accesses ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* The sections of a file are one row, as in moca objects. */
static int list_rows(struct objects_view *v, enum top_sort sort)
{
	const struct moca_object *rows;
	size_t i, n;
	int err;

	rows = moca_objects_rows(v->objects, &n);
	v->rows = calloc(n + 1, sizeof(*v->rows));
	if (!v->rows)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		if (rows[i].accesses && rows[i].kind != MOCA_OBJECT_MOCA)
			v->rows[v->count++] = &rows[i];
	err = objects_fold_rows(v->rows, &v->count, &v->fold);
	if (err)
		return err;
	qsort_r(v->rows, v->count, sizeof(*v->rows), compare_rows, &sort);
	return 0;
}

/* Who touches the rows of that name; of a file's sections, as one row, nobody tells. */
static int read_touchers(struct top_window *w, const char *name)
{
	const struct moca_object *row;
	struct objects_view v = w->v;
	size_t i;
	int err;

	v.count = 0;
	v.rows = calloc(w->v.count + 1, sizeof(*v.rows));
	if (!v.rows)
		return -ENOMEM;
	for (i = 0; i < w->v.count; i++) {
		row = w->v.rows[i];
		if (row->id != UINT32_MAX && !strcmp(row->name, name))
			v.rows[v.count++] = row;
	}
	v.by = BY_THREAD;
	err = objects_touchers(&v, &w->threads, &w->thread_count);
	v.by = BY_LINE;
	if (!err)
		err = objects_touchers(&v, &w->lines, &w->line_count);
	free(v.rows);
	return err;
}

static int read_objects(struct top_window *w, enum top_sort sort,
			const char *open)
{
	struct gather g = { .w = w };
	struct moca_objects_options opt = {
		.size = sizeof(opt), .begin_ns = w->begin_ns,
		.observe = observe, .observe_arg = &g,
		.touchers = open != NULL, .name = open,
	};
	int err = moca_objects_compute(&w->v.objects, w->v.trace, &opt);

	free(g.pages);
	if (!err)
		err = g.error;
	if (err)
		return err;
	moca_objects_totals(w->v.objects, &w->v.totals);
	qsort(w->tasks, w->task_count, sizeof(*w->tasks), by_accesses);
	err = list_rows(&w->v, sort);
	return err || !open ? err : read_touchers(w, open);
}

int top_window_read(struct top_window *w, const char *path, uint64_t window_ns,
		    enum top_sort sort, const char *open)
{
	size_t i;
	int err;

	memset(w, 0, sizeof(*w));
	err = moca_trace_open(&w->v.trace, path);
	if (err)
		return err;
	w->v.path = path;
	w->page_shift = trace_page_shift(w->v.trace);
	w->start_ns = trace_origin(w->v.trace);
	w->end_ns = moca_trace_truncated(w->v.trace) ?
			    moca_now_ns() :
			    trace_meta_u64(w->v.trace, META_END, 0);
	if (w->end_ns < w->start_ns)
		w->end_ns = w->start_ns;
	w->sampled = moca_trace_top_weight(w->v.trace) != 1;
	moca_trace_certificate(w->v.trace, &w->certificate);
	w->certified_ns = trace_meta_u64(w->v.trace, META_END, 0);
	for (i = 0; i < moca_trace_task_count(w->v.trace); i++)
		w->lost += moca_trace_task(w->v.trace, i)->lost;
	err = choose_window(w, window_ns);
	if (!err)
		err = read_rates(w);
	return err ? err : read_objects(w, sort, open);
}

void top_window_free(struct top_window *w)
{
	free(w->threads);
	free(w->lines);
	free(w->tasks);
	objects_fold_free(&w->v.fold);
	free(w->v.rows);
	moca_objects_free(w->v.objects);
	moca_trace_close(w->v.trace);
	memset(w, 0, sizeof(*w));
}
