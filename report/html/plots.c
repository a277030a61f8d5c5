// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is plotted, packed into the page. A plot's data are columns, one after
 * the other, each behind its length (u32): doc/design/report.md lists them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/base/vec.h"
#include "report/html/report.h"

#define MAX_LISTED 2000u
#define MAX_PLOTS 200u
#define ALWAYS_PLOTTED 12u
#define FEW 10000u		/* one of so many accesses: 0.01 % */
#define FIRST_STEPS 4096u	/* of the run, for the time of a first touch */

enum column {
	COL_PROCESS, COL_GROUP, COL_CELLS, COL_BIN, COL_THREAD, COL_NODE,
	COL_READS, COL_WRITES, COL_OTHER, COL_FIRST_THREAD, COL_FIRST_TIME,
	COLUMNS
};

int report_blob(struct report *r, const char *name, const void *data,
		size_t len)
{
	int err;

	if (moca_vec_fit(r->blobs, r->blob_cap, r->blob_count + 1))
		return -ENOMEM;
	err = moca_blob_pack(&r->blobs[r->blob_count], name, data, len);
	if (!err)
		r->blob_count++;
	return err;
}

int report_json_begin(struct report_json *x)
{
	*x = (struct report_json){ 0 };
	x->j.f = open_memstream(&x->text, &x->len);
	return x->j.f ? 0 : -ENOMEM;
}

int report_json_end(struct report *r, struct report_json *x, const char *name,
		    int err)
{
	if (fclose(x->j.f) && !err)
		err = -ENOMEM;
	if (!err)
		err = report_blob(r, name, x->text, x->len);
	free(x->text);
	return err;
}

/* --- which rows --------------------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
	const struct moca_object *x = *(const struct moca_object *const *)a;
	const struct moca_object *y = *(const struct moca_object *const *)b;

	if (x->accesses != y->accesses)
		return x->accesses > y->accesses ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->id < y->id ? -1 : 1;
}

static int choose(struct report *r)
{
	const struct moca_object *rows;
	size_t i, n;

	rows = moca_objects_rows(r->objects, &n);
	r->rows = calloc(n + 1, sizeof(*r->rows));
	r->plots = calloc(MAX_PLOTS, sizeof(*r->plots));
	if (!r->rows || !r->plots)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		if (rows[i].kind != MOCA_OBJECT_MOCA)
			r->rows[r->row_count++] = &rows[i];
	qsort(r->rows, r->row_count, sizeof(*r->rows), compare_rows);
	r->listed = r->row_count < MAX_LISTED ? r->row_count : MAX_LISTED;
	for (i = 0; i < r->listed && r->plot_count < MAX_PLOTS; i++) {
		if (!r->rows[i]->accesses ||
		    (i >= ALWAYS_PLOTTED &&
		     r->rows[i]->accesses < r->totals.accesses / FEW))
			break;
		r->plots[r->plot_count].object = r->rows[i];
		r->plots[r->plot_count++].key = UINT32_MAX;
	}
	return 0;
}

/* The grids of a row, made one, and those of no plot away. */
static int gather(struct report *r)
{
	size_t keys = r->heat.grid_count, i;
	struct report_plot **plot_of, *p;
	const struct moca_object *o;
	size_t n;
	int err = 0;

	moca_objects_rows(r->objects, &n);
	plot_of = calloc(n + 1, sizeof(*plot_of));
	if (!plot_of)
		return -ENOMEM;
	for (i = 0; i < r->plot_count; i++)
		plot_of[r->plots[i].object->id] = &r->plots[i];
	for (i = 0; !err && i < keys; i++) {
		if (!moca_grids_get(&r->heat, (uint32_t)i))
			continue;
		o = moca_objects_row_of(r->objects, (uint32_t)i);
		p = plot_of[o->id];
		if (!p) {
			moca_grids_drop(&r->heat, (uint32_t)i);
			moca_grids_drop(&r->density, (uint32_t)i);
		} else if (p->key == UINT32_MAX) {
			p->key = (uint32_t)i;
		} else {
			err = moca_grids_merge(&r->heat, p->key, (uint32_t)i);
			if (!err)
				err = moca_grids_merge(&r->density, p->key,
						       (uint32_t)i);
		}
	}
	free(plot_of);
	return err;
}

/* --- packing ------------------------------------------------------------ */

static uint32_t pid_of(const struct report *r, const struct moca_grid_cell *c)
{
	return c->thread < r->thread_count ? r->threads[c->thread].task->pid :
					     0;
}

static int compare_cells(const void *a, const void *b, void *arg)
{
	const struct moca_grid_cell *x = a, *y = b;
	uint32_t p = pid_of(arg, x), q = pid_of(arg, y);

	if (p != q)
		return p < q ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->bin != y->bin)
		return x->bin < y->bin ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* All cells of one group of one process. */
static void put_group(const struct report *r, struct moca_buf *col,
		      const struct moca_grid_cell *c, size_t n,
		      const struct moca_grid_cell *previous)
{
	const struct moca_grid_cell *first = c;
	int same = previous && pid_of(r, previous) == pid_of(r, c);
	uint32_t bin = 0;
	size_t i;

	moca_buf_varint(&col[COL_PROCESS], pid_of(r, c));
	moca_buf_varint(&col[COL_GROUP],
			  c->group - (same ? previous->group : 0));
	moca_buf_varint(&col[COL_CELLS], n);
	for (i = 0; i < n; i++) {
		moca_buf_varint(&col[COL_BIN], c[i].bin - bin);
		bin = c[i].bin;
		moca_buf_varint(&col[COL_THREAD], c[i].thread);
		moca_buf_varint(&col[COL_NODE],
				  c[i].node | (uint64_t)c[i].flags << 8);
		moca_buf_varint(&col[COL_READS], c[i].reads);
		moca_buf_varint(&col[COL_WRITES], c[i].writes);
		moca_buf_varint(&col[COL_OTHER], c[i].other);
		if (c[i].first < first->first)
			first = &c[i];
	}
	moca_buf_varint(&col[COL_FIRST_THREAD], first->thread);
	moca_buf_varint(&col[COL_FIRST_TIME],
			  first->first / (UINT32_MAX / FIRST_STEPS + 1));
}

static int put_cells(struct report *r, const struct moca_grid *g, int heat,
		     struct moca_buf *out)
{
	struct moca_buf col[COLUMNS] = { { 0 } };
	struct moca_grid_cell *c = moca_grid_sorted(g);
	size_t i, end;
	uint32_t len;

	if (!c)
		return -ENOMEM;
	qsort_r(c, g->count, sizeof(*c), compare_cells, r);
	for (i = 0; i < g->count; i = end) {
		for (end = i + 1; end < g->count &&
		     c[end].group == c[i].group &&
		     pid_of(r, &c[end]) == pid_of(r, &c[i]); end++)
			;
		put_group(r, col, &c[i], end - i, i ? &c[i - 1] : NULL);
	}
	free(c);
	for (i = 0; i < COLUMNS; i++) {
		if ((heat && i >= COL_FIRST_THREAD) ||
		    (!heat && (i == COL_BIN || i == COL_NODE)))
			col[i].len = 0;
		len = (uint32_t)col[i].len;
		moca_buf_add(out, &len, sizeof(len));
		moca_buf_add(out, col[i].data, col[i].len);
		if (col[i].error)
			out->error = col[i].error;
		moca_buf_free(&col[i]);
	}
	return out->error;
}

static int pack(struct report *r, struct moca_blob *blob, uint32_t key,
		int heat)
{
	const struct moca_grids *g = heat ? &r->heat : &r->density;
	struct moca_buf b = { 0 };
	char name[sizeof(blob->name)];
	int err;

	snprintf(name, sizeof(name), "%s", blob->name);
	err = put_cells(r, moca_grids_get(g, key), heat, &b);
	if (!err) {
		moca_blob_free(blob);
		err = moca_blob_pack(blob, name, b.data, b.len);
	}
	moca_buf_free(&b);
	return err;
}

/* Those that take most of the file get coarser. 1: something did. */
static int coarsen(struct report *r)
{
	size_t largest = 0, i, j;
	struct report_plot *p;
	int ret, any = 0;

	for (i = 0; i < r->plot_count; i++)
		for (j = 0; j < 2; j++)
			if (r->blobs[r->plots[i].heat_blob + j].len > largest)
				largest = r->blobs[r->plots[i].heat_blob +
						   j].len;
	for (i = 0; i < r->plot_count; i++) {
		p = &r->plots[i];
		for (j = 0; j < 2; j++) {
			struct moca_blob *b = &r->blobs[p->heat_blob + j];

			if (b->len <= largest / 2)
				continue;
			ret = moca_grids_coarsen(j ? &r->density : &r->heat,
						 p->key);
			if (ret > 0)
				ret = pack(r, b, p->key, !j) ?: 1;
			if (ret < 0)
				return ret;
			any |= ret;
		}
	}
	r->coarsened += any != 0;
	return any;
}

static size_t total_size(const struct report *r)
{
	size_t sum = 0, i;

	for (i = 0; i < r->blob_count; i++)
		sum += moca_blob_size(&r->blobs[i]);
	return sum;
}

static int pack_all(struct report *r)
{
	struct report_plot *p;
	char name[24];
	size_t i;
	int err = 0;

	for (i = 0; !err && i < r->plot_count; i++) {
		p = &r->plots[i];
		p->heat_blob = r->blob_count;
		p->density_blob = r->blob_count + 1;
		snprintf(name, sizeof(name), "heat-%u", p->object->id);
		err = report_blob(r, name, "", 0);
		snprintf(name, sizeof(name), "density-%u", p->object->id);
		if (!err)
			err = report_blob(r, name, "", 0);
		if (!err)
			err = pack(r, &r->blobs[p->heat_blob], p->key, 1);
		if (!err)
			err = pack(r, &r->blobs[p->density_blob], p->key, 0);
	}
	return err;
}

int report_plots(struct report *r)
{
	struct report_overview overview = { .running = 0 };
	int err = choose(r), failed;

	if (!err && r->totals.exact_only)
		return report_counts_plots(r);
	if (!err)
		err = gather(r);
	if (!err)
		err = report_overview_start(&overview, r);
	if (!err)
		err = pack_all(r);
	failed = report_overview_end(&overview, r);
	return err ? err : failed;
}

int report_fit(struct report *r, size_t limit)
{
	int more = 1;

	while (more > 0 && total_size(r) > limit)
		more = r->totals.exact_only ? report_counts_coarsen(r) :
					      coarsen(r);
	return more < 0 ? more : 0;
}
