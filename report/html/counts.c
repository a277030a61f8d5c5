// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the page shows of a trace that has counts of exact mode only: pages by
 * thread, packed as those of plots.c are, and slices of time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/text/json.h"
#include "report/exact.h"
#include "report/html/report.h"

#define FIRST_STEPS 4096u	/* of the run, for the time of a first touch */
#define MAX_THREADS 256u	/* whose slices are in the page */
#define MAX_OBJECTS 200u
#define COARSENED_MAX 48u	/* all pages are one group then */

enum column {
	COL_PROCESS, COL_GROUP, COL_CELLS, COL_BIN, COL_THREAD, COL_NODE,
	COL_READS, COL_WRITES, COL_OTHER, COL_FIRST_THREAD, COL_FIRST_TIME,
	COLUMNS
};

/* A cell of the page: the trace's index of the thread in place of its id. */
struct cell {
	uint64_t group, loads, stores, first_ns;
	uint32_t pid, thread;
};

static int compare_cells(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void add(struct cell *to, const struct cell *from)
{
	to->loads += from->loads;
	to->stores += from->stores;
	if (from->first_ns && (!to->first_ns || from->first_ns < to->first_ns))
		to->first_ns = from->first_ns;
}

/* An object's cells, in groups by so much coarser. NULL: no memory. */
static struct cell *cells_of(const struct report *r, uint32_t object,
			     unsigned coarser, size_t *count)
{
	const struct moca_counts_cell *c;
	struct cell *out;
	size_t i, n, k = 0;

	c = moca_counts_of(r->counts, object, &n);
	out = malloc((n + 1) * sizeof(*out));
	if (!out)
		return NULL;
	for (i = 0; i < n; i++) {
		uint32_t thread = r->task_index[c[i].task];

		out[i] = (struct cell){
			.group = c[i].group >> coarser, .loads = c[i].loads,
			.stores = c[i].stores, .first_ns = c[i].first_ns,
			.pid = r->threads[thread].task->pid,
			.thread = thread < REPORT_THREADS ? thread :
							    REPORT_THREADS,
		};
	}
	if (n)
		qsort(out, n, sizeof(*out), compare_cells);
	for (i = 0; i < n; i++) {
		if (k && !compare_cells(&out[k - 1], &out[i]))
			add(&out[k - 1], &out[i]);
		else
			out[k++] = out[i];
	}
	*count = k;
	return out;
}

static uint64_t first_step(const struct report *r, uint64_t ns)
{
	if (ns <= r->begin_ns)
		return 0;
	ns = (uint64_t)((double)(ns - r->begin_ns) * FIRST_STEPS /
			(r->end_ns - r->begin_ns));
	return ns < FIRST_STEPS ? ns : FIRST_STEPS - 1;
}

/* All cells of one group of one process. */
static void put_group(const struct report *r, struct moca_buf *col,
		      const struct cell *c, size_t n,
		      const struct cell *previous)
{
	int same = previous && previous->pid == c->pid;
	const struct cell *first = c;
	size_t i;

	moca_buf_varint(&col[COL_PROCESS], c->pid);
	moca_buf_varint(&col[COL_GROUP],
			  c->group - (same ? previous->group : 0));
	moca_buf_varint(&col[COL_CELLS], n);
	for (i = 0; i < n; i++) {
		moca_buf_varint(&col[COL_THREAD], c[i].thread);
		moca_buf_varint(&col[COL_READS], c[i].loads);
		moca_buf_varint(&col[COL_WRITES], c[i].stores);
		moca_buf_varint(&col[COL_OTHER], 0);
		if (c[i].first_ns &&
		    (!first->first_ns || c[i].first_ns < first->first_ns))
			first = &c[i];
	}
	moca_buf_varint(&col[COL_FIRST_THREAD], first->thread);
	moca_buf_varint(&col[COL_FIRST_TIME],
			  first_step(r, first->first_ns));
}

static int pack(const struct report *r, struct moca_blob *blob,
		const struct report_plot *p)
{
	struct moca_buf col[COLUMNS] = { { 0 } }, b = { 0 };
	char name[sizeof(blob->name)];
	size_t i, end, n = 0;
	struct cell *c = cells_of(r, p->object->id, p->coarser, &n);
	uint32_t len;
	int err;

	if (!c)
		return -ENOMEM;
	for (i = 0; i < n; i = end) {
		for (end = i + 1; end < n && c[end].group == c[i].group &&
				  c[end].pid == c[i].pid; end++)
			;
		put_group(r, col, &c[i], end - i, i ? &c[i - 1] : NULL);
	}
	free(c);
	for (i = 0; i < COLUMNS; i++) {
		len = (uint32_t)col[i].len;
		moca_buf_add(&b, &len, sizeof(len));
		moca_buf_add(&b, col[i].data, col[i].len);
		if (col[i].error)
			b.error = col[i].error;
		moca_buf_free(&col[i]);
	}
	snprintf(name, sizeof(name), "%s", blob->name);
	err = b.error;
	if (!err) {
		moca_blob_free(blob);
		err = moca_blob_pack(blob, name, b.data, b.len);
	}
	moca_buf_free(&b);
	return err;
}

int report_counts_coarsen(struct report *r)
{
	size_t largest = 0, i;
	int err = 0;

	if (r->coarsened >= COARSENED_MAX)
		return 0;

	for (i = 0; i < r->plot_count; i++)
		if (r->blobs[r->plots[i].density_blob].len > largest)
			largest = r->blobs[r->plots[i].density_blob].len;
	for (i = 0; !err && i < r->plot_count; i++) {
		struct report_plot *p = &r->plots[i];

		if (r->blobs[p->density_blob].len <= largest / 2)
			continue;
		p->coarser++;
		err = pack(r, &r->blobs[p->density_blob], p);
	}
	r->coarsened++;
	return err ? err : 1;
}

int report_counts_plots(struct report *r)
{
	char name[24];
	size_t i;
	int err = 0;

	for (i = 0; !err && i < r->plot_count; i++) {
		r->plots[i].density_blob = r->blob_count;
		snprintf(name, sizeof(name), "counts-%u",
			 r->plots[i].object->id);
		err = report_blob(r, name, "", 0);
		if (!err)
			err = pack(r, &r->blobs[r->blob_count - 1],
				   &r->plots[i]);
	}
	return err;
}

int report_counts_put_plot(struct json *j, const struct report *r,
			   const struct report_plot *p)
{
	size_t i, n, k = 0;
	struct cell *c = cells_of(r, p->object->id, 51, &n);

	if (!c)
		return -ENOMEM;
	/* By thread: pids are told apart, which threads are anyway. */
	for (i = 0; i < n; i++)
		c[i].group = c[i].pid = 0;
	if (n)
		qsort(c, n, sizeof(*c), compare_cells);
	for (i = 0; i < n; i++) {
		if (k && c[k - 1].thread == c[i].thread)
			add(&c[k - 1], &c[i]);
		else
			c[k++] = c[i];
	}
	json_bool(j, "exact", 1);
	json_open(j, "density", '{');
	json_uint(j, "page_shift", r->counts->page_shift + p->coarser);
	json_uint(j, "time_shift", 0);
	json_close(j, '}');
	json_open(j, "by_thread", '[');
	for (i = 0; i < k; i++) {
		json_open(j, NULL, '[');
		json_uint(j, NULL, c[i].thread);
		json_uint(j, NULL, c[i].loads);
		json_uint(j, NULL, c[i].stores);
		json_uint(j, NULL, 0);
		json_close(j, ']');
	}
	json_close(j, ']');
	free(c);
	return 0;
}

/* --- slices ------------------------------------------------------------- */

static void put_series(struct json *j, const char *key, uint32_t id,
		       const struct moca_counts_series *s, unsigned bins)
{
	unsigned i;

	json_open(j, NULL, '{');
	json_uint(j, key, id);
	json_open(j, "loads", '[');
	for (i = 0; i < bins; i++)
		json_uint(j, NULL, s->loads[i]);
	json_close(j, ']');
	json_open(j, "stores", '[');
	for (i = 0; i < bins; i++)
		json_uint(j, NULL, s->stores[i]);
	json_close(j, ']');
	json_close(j, '}');
}

static void put_slices(struct json *j, const struct report *r, unsigned bins)
{
	const struct moca_counts_table *t = r->counts;
	uint64_t begin;
	unsigned i, n = 0;
	size_t k;

	json_open(j, NULL, '{');
	json_open(j, "begin_ns", '[');
	for (i = 0; i < bins; i++) {
		/* One in which nothing was counted. */
		begin = t->bin_begin[i] ? t->bin_begin[i] :
			t->begin_ns + (t->end_ns - t->begin_ns) / bins * i;
		json_int(j, NULL, (int64_t)(begin - r->origin));
	}
	json_close(j, ']');
	json_open(j, "threads", '[');
	for (k = 0; k < t->task_cap && k < r->task_ids && n < MAX_THREADS; k++)
		if (t->tasks[k]) {
			put_series(j, "index", r->task_index[k], t->tasks[k],
				   bins);
			n++;
		}
	json_close(j, ']');
	json_open(j, "objects", '[');
	for (k = 0; k < r->plot_count && k < MAX_OBJECTS; k++) {
		uint32_t id = r->plots[k].object->id;

		if (id < t->object_cap && t->objects[id])
			put_series(j, "object", id, t->objects[id], bins);
	}
	json_close(j, ']');
	json_close(j, '}');
}

static int slices_blob(struct report *r, unsigned bins)
{
	struct report_json x;

	if (report_json_begin(&x))
		return -ENOMEM;
	put_slices(&x.j, r, bins);
	return report_json_end(r, &x, "slices", 0);
}

int report_counts_index(struct report *r, struct json *j)
{
	const struct moca_counts_table *t = r->counts;
	uint64_t bins = (t->slices + t->joined - 1) / t->joined;
	struct moca_certificate c;

	if (!r->totals.exact_only && !exact_has_counts(r->trace)) {
		json_null(j, "exact");
		return 0;
	}
	moca_trace_certificate(r->trace, &c);
	json_open(j, "exact", '{');
	json_bool(j, "only", r->totals.exact_only || !c.records);
	json_uint(j, "granularity", t->granularity ? t->granularity :
				    exact_granularity(r->trace));
	json_uint(j, "slice_ns", exact_slice(r->trace));
	json_uint(j, "slices", t->slices);
	json_uint(j, "joined", t->joined);
	json_uint(j, "bins", bins);
	json_uint(j, "loads", c.loads);
	json_uint(j, "stores", c.stores);
	json_uint(j, "gaps", c.gaps);
	exact_json_natives(j, r->trace);
	json_uint(j, "page_shift", t->page_shift);
	json_close(j, '}');
	return t->slices > 1 ? slices_blob(r, (unsigned)bins) : 0;
}
