// SPDX-License-Identifier: GPL-2.0-or-later
/* What `moca summary` says of counts alone: threads, hot granules, lines. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/counts/counts.h"
#include "lib/text/json.h"
#include "lib/text/terminal.h"
#include "lib/text/text.h"
#include "report/advice.h"

#define TOP_THREADS 12
#define TOP_LINES 8
#define JSON_LINES 200		/* most contended, then most accessed */
#define JSON_THREADS_OF 4096	/* of an object */

struct thread {
	const struct moca_task *task;
	uint64_t loads, stores, first;	/* groups of pages first touched */
};

/* The first to touch a group, of its cells c[0] to c[n - 1]. */
static const struct moca_counts_cell *
first_of(const struct moca_counts_cell *c, size_t n)
{
	const struct moca_counts_cell *first = NULL;
	size_t i;

	for (i = 0; i < n; i++)
		if (c[i].first_ns && (!first || c[i].first_ns < first->first_ns))
			first = &c[i];
	return first;
}

static size_t group_end(const struct moca_counts_cell *c, size_t at, size_t n)
{
	size_t i = at + 1;

	while (i < n && c[i].object == c[at].object &&
	       c[i].space == c[at].space && c[i].group == c[at].group)
		i++;
	return i;
}

/* Add cells to threads, which are by the trace's index. */
static void add_cells(const struct moca_counts_cell *c, size_t n,
		      const uint32_t *index, struct thread *t)
{
	const struct moca_counts_cell *first;
	size_t at, end, i;

	for (at = 0; at < n; at = end) {
		end = group_end(c, at, n);
		for (i = at; i < end; i++) {
			t[index[c[i].task]].loads += c[i].loads;
			t[index[c[i].task]].stores += c[i].stores;
		}
		first = first_of(c + at, end - at);
		if (first)
			t[index[first->task]].first++;
	}
}

/* By id of a task: its index. NULL: no memory. */
static uint32_t *make_index(const struct moca_trace *trace)
{
	size_t i, n = moca_trace_task_count(trace);
	uint32_t *index;

	index = calloc(n ? moca_trace_task(trace, n - 1)->id + 1 : 1,
		       sizeof(*index));
	for (i = 0; index && i < n; i++)
		index[moca_trace_task(trace, i)->id] = (uint32_t)i;
	return index;
}

static struct thread *make_threads(const struct advice_view *v,
				   const struct moca_counts_cell *c, size_t n,
				   const uint32_t *index)
{
	size_t i, count = moca_trace_task_count(v->trace);
	struct thread *t = calloc(count + 1, sizeof(*t));

	if (!t)
		return NULL;
	for (i = 0; i < count; i++)
		t[i].task = moca_trace_task(v->trace, i);
	add_cells(c, n, index, t);
	return t;
}

static int by_work(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;
	uint64_t i = x->loads + x->stores, j = y->loads + y->stores;

	if (i != j)
		return i > j ? -1 : 1;
	return x->task->id < y->task->id ? -1 : 1;
}

static int by_accesses(const void *a, const void *b)
{
	const struct moca_counts_line *x =
		*(const struct moca_counts_line *const *)a;
	const struct moca_counts_line *y =
		*(const struct moca_counts_line *const *)b;
	uint64_t i = x->loads + x->stores, j = y->loads + y->stores;

	if (i != j)
		return i > j ? -1 : 1;
	return x->granule < y->granule ? -1 : x->granule > y->granule;
}

static int by_contended(const void *a, const void *b)
{
	const struct moca_counts_line *x =
		*(const struct moca_counts_line *const *)a;
	const struct moca_counts_line *y =
		*(const struct moca_counts_line *const *)b;

	if (x->contended != y->contended)
		return x->contended > y->contended ? -1 : 1;
	return by_accesses(a, b);
}

/* All lines in that order. NULL: no memory. */
static const struct moca_counts_line **
sorted_lines(const struct moca_counts_table *t,
	     int (*compare)(const void *, const void *))
{
	const struct moca_counts_line **p =
		malloc((t->line_count + 1) * sizeof(*p));
	size_t i;

	if (!p)
		return NULL;
	for (i = 0; i < t->line_count; i++)
		p[i] = &t->lines[i];
	qsort(p, t->line_count, sizeof(*p), compare);
	return p;
}

static const struct moca_object *object_of(const struct advice_view *v,
					   uint32_t id)
{
	size_t n;
	const struct moca_object *rows;

	rows = moca_objects_rows(v->profile->objects, &n);
	return id < n ? &rows[id] : NULL;
}

static void print_threads(const struct advice_view *v)
{
	const struct moca_counts_table *t = v->profile->counts;
	size_t i, n = moca_trace_task_count(v->trace);
	uint32_t *index = make_index(v->trace);
	uint64_t all = 0, limit = v->all ? n : TOP_THREADS;
	struct thread *x;
	char a[TEXT_MAX];

	x = index ? make_threads(v, t->cells, t->cell_count, index) : NULL;
	free(index);
	if (!x)
		return;
	for (i = 0; i < n; i++)
		all += x[i].loads + x[i].stores;
	qsort(x, n, sizeof(*x), by_work);
	terminal_style(STYLE_STRONG);
	printf("\nThreads, by loads and stores\n");
	terminal_style(STYLE_DIM);
	printf("  %-24s %18s %18s %8s %12s\n", "thread", "loads", "stores",
	       "share", "first touch");
	terminal_style(STYLE_NONE);
	for (i = 0; i < n && i < limit && x[i].loads + x[i].stores; i++) {
		printf("  #%-5" PRIu32 " ", x[i].task->id);
		terminal_name(x[i].task->name, 17);
		printf(" %18s", text_count(a, x[i].loads));
		printf(" %18s", text_count(a, x[i].stores));
		printf(" %6.1f %%", 100. * (x[i].loads + x[i].stores) / all);
		printf(" %12s\n", text_count(a, x[i].first));
	}
	for (all = 0; i < n; i++)
		all += x[i].loads + x[i].stores != 0;
	if (all)
		printf("  ... and %" PRIu64 " more: --all lists them\n", all);
	free(x);
}

static void print_lines(const struct advice_view *v)
{
	const struct moca_counts_table *t = v->profile->counts;
	const struct moca_counts_line **p, *l;
	const struct moca_object *o;
	char a[TEXT_MAX];
	uint64_t all = 0;
	size_t i;

	if (!t->line_count)
		return;
	p = sorted_lines(t, by_accesses);
	if (!p)
		return;
	for (i = 0; i < t->line_count; i++)
		all += p[i]->loads + p[i]->stores;
	terminal_style(STYLE_STRONG);
	printf("\nHot spots: of %s granules of %s those with most accesses\n",
	       text_count(a, t->line_count),
	       text_size((char[TEXT_MAX]){ 0 }, t->granularity));
	terminal_style(STYLE_DIM);
	printf("  %-16s %15s %15s %8s %7s  structure\n", "address", "loads",
	       "stores", "share", "threads");
	terminal_style(STYLE_NONE);
	for (i = 0; i < t->line_count && i < TOP_LINES; i++) {
		l = p[i];
		o = object_of(v, l->object);
		printf("  0x%014" PRIx64, l->granule * t->granularity);
		printf(" %15s", text_count(a, l->loads));
		printf(" %15s", text_count(a, l->stores));
		printf(" %6.1f %%", 100. * (l->loads + l->stores) / all);
		printf(" %7s  ", l->only == MOCA_COUNTS_MANY ? "several" : "1");
		text_name(stdout, o ? o->name : "", 40);
		putchar('\n');
	}
	free(p);
}

void advice_counts_print(const struct advice_view *v)
{
	if (!v->profile->counts || !v->profile->accesses)
		return;
	print_threads(v);
	print_lines(v);
}

/* --- JSON --------------------------------------------------------------- */

static void json_threads(struct json *j, const struct advice_view *v,
			 const struct moca_counts_cell *c, size_t n,
			 const uint32_t *index)
{
	struct thread *x = make_threads(v, c, n, index);
	size_t i, count = moca_trace_task_count(v->trace), told = 0;

	json_open(j, "threads", '[');
	for (i = 0; x && i < count && told < JSON_THREADS_OF; i++) {
		if (!(x[i].loads | x[i].stores))
			continue;
		told++;
		json_open(j, NULL, '{');
		json_uint(j, "id", x[i].task->id);
		json_uint(j, "loads", x[i].loads);
		json_uint(j, "stores", x[i].stores);
		json_uint(j, "first_touched", x[i].first);
		json_close(j, '}');
	}
	json_close(j, ']');
	free(x);
}

static void json_line(struct json *j, const struct advice_view *v,
		      const struct moca_counts_line *l)
{
	const struct moca_counts_table *t = v->profile->counts;
	const struct moca_object *o = object_of(v, l->object);
	char buf[TEXT_MAX];
	const struct moca_counts_user *u;
	size_t i, n;

	json_open(j, NULL, '{');
	snprintf(buf, sizeof(buf), "0x%" PRIx64, l->granule * t->granularity);
	json_string(j, "address", buf);
	json_uint(j, "object", l->object);
	json_string(j, "name", o ? o->name : NULL);
	json_uint(j, "loads", l->loads);
	json_uint(j, "stores", l->stores);
	json_uint(j, "contended", l->contended);
	json_uint(j, "contended_slices", l->slices);
	json_bool(j, "several_objects", (int)l->several);
	json_open(j, "threads", '[');
	if (l->only != MOCA_COUNTS_MANY)
		json_uint(j, NULL, l->only);
	u = moca_counts_users(t, l, &n);
	for (i = 0; i < n; i++)
		json_uint(j, NULL, u[i].task);
	json_close(j, ']');
	json_open(j, "users", '[');
	for (i = 0; i < n; i++) {
		json_open(j, NULL, '{');
		json_uint(j, "task", u[i].task);
		json_uint(j, "loads", u[i].loads);
		json_uint(j, "stores", u[i].stores);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_bool(j, "shared", l->only == MOCA_COUNTS_MANY);
	json_close(j, '}');
}

static void json_lines(struct json *j, const struct advice_view *v)
{
	const struct moca_counts_table *t = v->profile->counts;
	const struct moca_counts_line **p = sorted_lines(t, by_contended);
	size_t i, n = t->line_count < JSON_LINES ? t->line_count : JSON_LINES;

	json_open(j, "lines", '[');
	for (i = 0; p && i < n; i++)
		json_line(j, v, p[i]);
	json_close(j, ']');
	free(p);
	p = sorted_lines(t, by_accesses);
	n = t->line_count < TOP_LINES ? t->line_count : TOP_LINES;
	json_open(j, "hot", '[');
	for (i = 0; p && i < n; i++)
		json_line(j, v, p[i]);
	json_close(j, ']');
	free(p);
}

struct shared {
	uint64_t lines, shared, contended_lines, contended;
};

static void json_objects(struct json *j, const struct advice_view *v,
			 const uint32_t *index)
{
	const struct moca_counts_table *t = v->profile->counts;
	const struct moca_object *rows;
	const struct moca_counts_cell *c;
	struct shared *s;
	size_t i, n, count;

	rows = moca_objects_rows(v->profile->objects, &count);
	s = calloc(count + 1, sizeof(*s));
	for (i = 0; s && i < t->line_count; i++) {
		const struct moca_counts_line *l = &t->lines[i];

		s[l->object].lines++;
		s[l->object].shared += l->only == MOCA_COUNTS_MANY;
		s[l->object].contended_lines += l->contended != 0;
		s[l->object].contended += l->contended;
	}
	json_open(j, "objects", '[');
	for (i = 0; s && i < count; i++) {
		if (!(rows[i].loads | rows[i].stores) ||
		    (!v->all && (rows[i].loads + rows[i].stores) * 10000 <
				    v->profile->accesses))
			continue;
		c = moca_counts_of(t, (uint32_t)i, &n);
		json_open(j, NULL, '{');
		json_uint(j, "object", i);
		json_string(j, "name", rows[i].name);
		json_uint(j, "loads", rows[i].loads);
		json_uint(j, "stores", rows[i].stores);
		json_uint(j, "granules", s[i].lines);
		json_uint(j, "granules_shared", s[i].shared);
		json_uint(j, "lines_contended", s[i].contended_lines);
		json_uint(j, "contended", s[i].contended);
		json_threads(j, v, c, n, index);
		json_close(j, '}');
	}
	json_close(j, ']');
	free(s);
}

void advice_counts_json(struct json *j, const struct advice_view *v)
{
	const struct moca_counts_table *t = v->profile->counts;
	uint32_t *index;

	if (!t) {
		json_null(j, "exact");
		return;
	}
	json_open(j, "exact", '{');
	json_uint(j, "granularity", t->granularity);
	json_uint(j, "slices", t->slices);
	json_uint(j, "pages_of_group", 1ull << t->page_shift);
	json_uint(j, "left_out", t->lines_left_out);
	index = make_index(v->trace);
	if (index) {
		json_threads(j, v, t->cells, t->cell_count, index);
		json_lines(j, v);
		json_objects(j, v, index);
	}
	free(index);
	json_close(j, '}');
}
