// SPDX-License-Identifier: GPL-2.0-or-later
/* The page's index: everything but the plots' cells. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analysis/trace.h"
#include "lib/base/bytes.h"
#include "lib/text/json.h"
#include "lib/text/text.h"
#include "report/fold.h"
#include "report/html/report.h"
#include "report/objects.h"
#include "report/thinned.h"

#define MAX_NAME 8192
#define MAX_THREADS 4096u	/* of which each one's rates are in the page */
#define MAX_NOTES 64u

static void put_time(struct json *j, const struct report *r, const char *key,
		     uint64_t ns)
{
	if (ns)
		json_int(j, key, (int64_t)(ns - r->origin));
	else
		json_null(j, key);
}

static void put_address(struct json *j, const char *key, uint64_t addr)
{
	char buf[TEXT_MAX];

	snprintf(buf, sizeof(buf), "0x%" PRIx64, addr);
	json_string(j, key, buf);
}

/* A name may be as long as the trace says; the page has its beginning. */
static void put_name(struct json *j, const char *key, const char *name)
{
	char buf[MAX_NAME + 1];

	if (!name || strlen(name) <= MAX_NAME) {
		json_string(j, key, name);
		return;
	}
	snprintf(buf, sizeof(buf), "%.*s...", MAX_NAME - 3, name);
	json_string(j, key, buf);
}

static void put_run(struct json *j, const struct report *r)
{
	static const char *const keys[] = {
		META_COMMAND, META_ATTACHED_COMMAND, META_HOST, META_KERNEL, META_CPUS, "nodes",
		"version", "state", META_COLLECTOR, META_INTERVAL, META_BUDGET,
		META_CREDIT, META_SLOWDOWN, "cost.wall_low", "cost.wall_high",
		META_READ_WRITE, META_PHYS, "node_source",
		META_PAGE_SIZE, META_START_TIME, "fault_ns",
		"filter.dropped", META_IMPORT, "certificate.reason",
	};
	struct moca_certificate c;
	struct moca_damage d;
	char buf[128], samples[TEXT_SAMPLES_MAX];
	size_t i;

	json_open(j, "run", '{');
	put_name(j, "path", r->path);
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		put_name(j, keys[i], moca_trace_meta(r->trace, keys[i]));
	text_samples(samples, moca_trace_meta(r->trace, META_SAMPLE_LEVELS));
	json_string(j, "samples", *samples ? samples : NULL);
	trace_end_status(buf, sizeof(buf), r->trace);
	json_string(j, "ended", *buf ? buf : NULL);
	json_bool(j, "truncated", moca_trace_truncated(r->trace));
	json_uint(j, "origin_ns", r->origin);
	put_time(j, r, "end_ns", trace_meta_u64(r->trace, META_END, 0));
	json_open(j, "notes", '[');
	for (i = 0; i < MAX_NOTES; i++) {
		const char *note = moca_trace_meta_nth(r->trace, META_NOTE,
						       (unsigned)i);

		if (!note)
			break;
		put_name(j, NULL, note);
	}
	json_close(j, ']');
	json_close(j, '}');

	moca_trace_certificate(r->trace, &c);
	json_open(j, "certificate", '{');
	json_uint(j, "pages_seen", c.pages_seen);
	json_uint(j, "pages_touched", c.pages_touched);
	json_uint(j, "pages_other", c.pages_other);
	json_uint(j, "pages_blind", c.pages_blind);
	json_uint(j, "records", c.records);
	json_uint(j, "lost", c.lost);
	json_uint(j, "chunks", c.chunks);
	json_uint(j, "lossy_chunks", c.lossy_chunks);
	json_close(j, '}');
	moca_trace_damage(r->trace, &d);
	json_open(j, "damage", '{');
	json_uint(j, "files", d.files);
	json_uint(j, "chunks", d.chunks);
	json_uint(j, "tail_bytes", d.tail_bytes);
	json_close(j, '}');
}

static void put_totals(struct json *j, const struct report *r)
{
	const struct moca_objects_totals *t = &r->totals;
	char text[THINNED_MAX];

	json_open(j, "totals", '{');
	json_uint(j, "accesses", t->accesses);
	json_uint(j, "reads", t->reads);
	json_uint(j, "writes", t->writes);
	json_uint(j, "named", t->named);
	json_uint(j, "own", t->own);
	json_uint(j, "allocations", t->allocations);
	json_uint(j, "small", t->small);
	json_uint(j, "small_bytes", t->small_bytes);
	json_string(j, "thinned", t->thin_level ?
		    thinned_text(text, t->thin_level, t->thin_min,
				 t->thin_ns - trace_origin(r->trace)) : NULL);
	json_uint(j, "lost", t->lost);
	json_uint(j, "processes", t->processes);
	json_uint(j, "without_agent", t->without_agent);
	json_uint(j, "changed_files", t->changed_files);
	json_close(j, '}');
}

static uint64_t unlisted(const struct report *r)
{
	uint64_t sum = 0;
	size_t i;

	for (i = r->listed; i < r->row_count; i++)
		sum += r->rows[i]->accesses;
	return sum;
}

/* Of an array that there is one of: its bytes have indices. */
static void put_shape(struct json *j, const struct moca_object *o)
{
	const struct moca_shape *s = o->shape;
	unsigned i;

	if (!s || !s->rank || !s->element_size || !o->addr ||
	    (o->instances != 1 && o->kind != MOCA_OBJECT_STATIC)) {
		json_null(j, "shape");
		return;
	}
	json_open(j, "shape", '{');
	json_uint(j, "element_size", s->element_size);
	json_bool(j, "fortran", s->fortran);
	json_open(j, "count", '[');
	for (i = 0; i < s->rank && i < MOCA_SHAPE_RANK; i++)
		json_uint(j, NULL, s->count[i]);
	json_close(j, ']');
	json_open(j, "lower", '[');
	for (i = 0; i < s->rank && i < MOCA_SHAPE_RANK; i++)
		json_int(j, NULL, s->lower[i]);
	json_close(j, ']');
	json_close(j, '}');
}

/* Sections of a file as one row: the others refer to it. */
static void put_folds(struct json *j, const struct objects_fold *f)
{
	const struct moca_object *o;

	json_open(j, "folds", '[');
	for (o = f->rows; o < f->rows + f->count; o++) {
		json_open(j, NULL, '{');
		put_name(j, "name", o->name);
		json_string(j, "kind", objects_kind(o->kind));
		put_name(j, "site", o->site);
		json_uint(j, "first_task", o->first_task);
		objects_json_use(j, o);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_object(struct json *j, const struct report *r,
		       const struct moca_object *o, uint32_t fold)
{
	char type[MAX_NAME];
	unsigned i;

	json_open(j, NULL, '{');
	json_uint(j, "id", o->id);
	json_bool(j, "section", o->section);
	if (fold != OBJECTS_NOT_FOLDED)
		json_uint(j, "fold", fold);
	put_name(j, "name", o->name);
	json_string(j, "kind", objects_kind(o->kind));
	put_name(j, "site", o->site);
	put_name(j, "program", o->program);
	json_string(j, "type", o->shape ? moca_shape_type(o->shape, o->size,
							  type, sizeof(type)) :
					  NULL);
	put_shape(j, o);
	json_bool(j, "named", o->named);
	json_uint(j, "instances", o->instances);
	json_uint(j, "size", o->size);
	json_uint(j, "bytes", o->bytes);
	put_address(j, "addr", o->addr);
	put_time(j, r, "begin_ns", o->begin_ns);
	put_time(j, r, "end_ns", o->end_ns);
	objects_json_use(j, o);
	if (o->accesses) {
		json_uint(j, "first_task", o->first_task);
		put_time(j, r, "first_ns", o->first_ns);
	}
	json_open(j, "nodes", '[');
	for (i = 0; i < MOCA_OBJECT_NODES; i++) {
		if (!o->nodes[i])
			continue;
		json_open(j, NULL, '[');
		json_uint(j, NULL, i);
		json_uint(j, NULL, o->nodes[i]);
		json_close(j, ']');
	}
	json_close(j, ']');
	json_close(j, '}');
}

static void put_grid(struct json *j, const char *key,
		     const struct moca_grid *g)
{
	json_open(j, key, '{');
	json_uint(j, "page_shift", g ? g->page_shift : 0);
	json_uint(j, "time_shift", g ? g->time_shift : 0);
	json_uint(j, "cells", g ? g->count : 0);
	json_close(j, '}');
}

/* What each thread did with the object, from the cells: exact. */
static int put_threads_of(struct json *j, const struct moca_grid *g)
{
	uint64_t (*sum)[3] = calloc(REPORT_THREADS + 1, sizeof(*sum));
	const struct moca_grid_cell *c;
	size_t i;

	if (!sum)
		return -ENOMEM;
	for (i = 0; g && i < g->cap; i++) {
		c = moca_grid_at(g, i);
		sum[c->thread][0] += c->reads;
		sum[c->thread][1] += c->writes;
		sum[c->thread][2] += c->other;
	}
	json_open(j, "by_thread", '[');
	for (i = 0; i <= REPORT_THREADS; i++) {
		if (!(sum[i][0] | sum[i][1] | sum[i][2]))
			continue;
		json_open(j, NULL, '[');
		json_uint(j, NULL, i);
		json_uint(j, NULL, sum[i][0]);
		json_uint(j, NULL, sum[i][1]);
		json_uint(j, NULL, sum[i][2]);
		json_close(j, ']');
	}
	json_close(j, ']');
	free(sum);
	return 0;
}

static int put_plots(struct json *j, const struct report *r)
{
	const struct report_plot *p;
	size_t i;
	int err = 0;

	json_open(j, "plots", '[');
	for (i = 0; !err && i < r->plot_count; i++) {
		p = &r->plots[i];
		json_open(j, NULL, '{');
		json_uint(j, "object", p->object->id);
		if (r->totals.exact_only) {
			err = report_counts_put_plot(j, r, p);
			json_close(j, '}');
			continue;
		}
		put_grid(j, "heat", moca_grids_get(&r->heat, p->key));
		put_grid(j, "density", moca_grids_get(&r->density, p->key));
		err = put_threads_of(j, moca_grids_get(&r->density, p->key));
		json_close(j, '}');
	}
	json_close(j, ']');
	return err;
}

static void put_thread(struct json *j, const struct report *r, size_t i,
		       int has_rates)
{
	const struct report_thread *t = &r->threads[i];
	size_t cpu;

	json_open(j, NULL, '{');
	json_uint(j, "index", i);
	json_uint(j, "id", t->task->id);
	json_uint(j, "pid", t->task->pid);
	json_uint(j, "tid", t->task->tid);
	put_name(j, "name", t->task->name);
	put_name(j, "process", trace_process_name(r->trace, t->task->pid));
	put_time(j, r, "start_ns", t->task->start_ns);
	put_time(j, r, "end_ns", t->task->end_ns);
	json_uint(j, "accesses", t->accesses ? t->accesses :
			     t->task->loads + t->task->stores);
	json_uint(j, "loads", t->task->loads);
	json_uint(j, "stores", t->task->stores);
	json_uint(j, "lost", t->task->lost);
	json_bool(j, "rates", has_rates);
	json_open(j, "cpus", '[');
	for (cpu = 0; t->on_cpu && cpu < r->max_cpu; cpu++) {
		if (!t->on_cpu[cpu])
			continue;
		json_open(j, NULL, '[');
		json_uint(j, NULL, cpu);
		json_uint(j, NULL, t->on_cpu[cpu]);
		json_close(j, ']');
	}
	json_close(j, ']');
	json_close(j, '}');
}

/*
 * Threads that accessed anything. Of each of the first MAX_THREADS the rates:
 * reads, writes, other (u32 each) and the CPU (u16), of each bin.
 */
static int put_threads(struct json *j, struct report *r)
{
	struct moca_buf b = { 0 };
	size_t i, n = 0;
	int err;

	json_open(j, "threads", '[');
	for (i = 0; i < r->thread_count; i++) {
		const struct report_thread *t = &r->threads[i];

		if (!t->reads) {
			if (t->task->loads | t->task->stores)
				put_thread(j, r, i, 0);
			continue;
		}
		put_thread(j, r, i, n < MAX_THREADS);
		if (n++ >= MAX_THREADS)
			continue;
		moca_buf_add(&b, t->reads,
			       3 * REPORT_RATE_BINS * sizeof(*t->reads));
		moca_buf_add(&b, t->cpu,
			       REPORT_RATE_BINS * sizeof(*t->cpu));
	}
	json_close(j, ']');
	err = b.error ?: report_blob(r, "rates", b.data, b.len);
	moca_buf_free(&b);
	return err;
}

static void put_intervals(struct json *j, const struct report *r)
{
	size_t i;

	json_uint(j, "intervals_joined", r->intervals_joined);
	json_open(j, "intervals", '[');
	for (i = 0; i < r->interval_count; i++) {
		const struct report_interval *x = &r->intervals[i];

		if (!x->end_ns)
			continue;
		json_open(j, NULL, '[');
		json_int(j, NULL, (int64_t)(x->begin_ns - r->origin));
		json_int(j, NULL, (int64_t)(x->end_ns - r->origin));
		json_uint(j, NULL, x->reads);
		json_uint(j, NULL, x->writes);
		json_uint(j, NULL, x->other);
		json_uint(j, NULL, x->lost);
		json_close(j, ']');
	}
	json_close(j, ']');
}

static int put_objects(struct json *j, const struct report *r)
{
	struct objects_fold fold;
	size_t i;
	int err = objects_fold(r->rows, r->row_count, &fold);

	if (err)
		return err;
	json_open(j, "objects", '[');
	for (i = 0; i < r->listed; i++)
		put_object(j, r, r->rows[i], fold.into[i]);
	json_close(j, ']');
	put_folds(j, &fold);
	objects_fold_free(&fold);
	return 0;
}

static int put_all(struct json *j, struct report *r)
{
	int err;

	json_open(j, NULL, '{');
	json_uint(j, "format", 1);
	json_string(j, "generator", "moca " MOCA_VERSION);
	put_run(j, r);
	json_open(j, "time", '{');
	json_int(j, "begin_ns", (int64_t)(r->begin_ns - r->origin));
	json_int(j, "end_ns", (int64_t)(r->end_ns - r->origin));
	json_uint(j, "bins_log2", REPORT_BINS_LOG2);
	json_uint(j, "rate_bins", REPORT_RATE_BINS);
	json_close(j, '}');
	put_totals(j, r);
	json_open(j, "topology", '{');
	json_string(j, "source", r->topology.source);
	json_bool(j, "what_if", r->topology.what_if);
	json_close(j, '}');
	json_uint(j, "coarsened", r->coarsened);
	json_uint(j, "rows", r->row_count);
	json_uint(j, "unlisted_accesses", unlisted(r));
	put_intervals(j, r);
	err = put_objects(j, r);
	if (!err)
		err = report_counts_index(r, j);
	if (err)
		return err;
	err = put_plots(j, r);
	if (!err)
		err = put_threads(j, r);
	if (!err)
		err = report_allocs(r, j);
	json_close(j, '}');
	return err;
}

int report_index(struct report *r)
{
	struct report_json x;
	int err;

	if (report_json_begin(&x))
		return -ENOMEM;
	err = report_json_end(r, &x, "index", put_all(&x.j, r));
	if (!err && r->topology.json)
		err = report_blob(r, "topology", r->topology.json,
				  strlen(r->topology.json));
	return err;
}
