// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"
#include "lib/base/vec.h"

#define SAMPLES_MAX ((size_t)1 << 24)	/* 512 MB */

/* Its access is the one of that task, time and address. */
struct sample {
	uint64_t time_ns, addr;
	uint32_t task;
	uint32_t latency;	/* at most UINT32_MAX */
	uint8_t level, remote, used;
};

struct walk {
	struct sample *samples;
	size_t count, room;
	struct moca_latency_row *sums;	/* by key of moca_objects_row_of() */
	size_t sum_room;
	int err;
};

const char *moca_latency_level(unsigned level)
{
	static const char *const names[MOCA_LATENCY_LEVELS] = {
		"unknown", "L1", "L2", "L3", "L4", "LFB", "RAM", "PMEM",
		"remote cache", "I/O", "uncached", "CXL",
	};

	return names[level < MOCA_LATENCY_LEVELS ? level : 0];
}

static const struct moca_event_type *find_type(const struct moca_trace *t)
{
	const struct moca_event_type *const *types;
	size_t n;

	types = moca_trace_event_types(t, &n);
	for (size_t i = 0; i < n; i++)
		if (trace_is_memory(types[i]) && !strcmp(types[i]->name, "sample"))
			return types[i];
	return NULL;
}

int moca_latency_known(const struct moca_trace *t)
{
	return find_type(t) != NULL;
}

/* The field of that name; 0: it has none. */
static uint64_t field(const struct moca_event *e, const char *name)
{
	struct moca_value v;

	for (size_t i = 0; i < e->type->field_count; i++)
		if (!strcmp(e->type->fields[i].name, name))
			return moca_event_value(e, i, &v) || !v.count ? 0 :
				moca_value_integer(&v, 0);
	return 0;
}

static int by_access(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int load(struct walk *w, struct moca_trace *t, uint64_t *left_out)
{
	const struct moca_event_type *type = find_type(t);
	const struct moca_event *e;
	struct moca_cursor *cursor;
	uint64_t latency;
	struct sample *s;
	uint32_t task;
	int ret = moca_cursor_open(&cursor, t, NULL);

	if (ret)
		return ret;
	while ((ret = moca_cursor_event(cursor, &e, &task)) > 0) {
		if (e->type != type)
			continue;
		if (w->count == SAMPLES_MAX) {
			(*left_out)++;
			continue;
		}
		s = moca_vec_add(w->samples, w->count, w->room);
		if (!s) {
			ret = -ENOMEM;
			break;
		}
		latency = field(e, "latency");
		*s = (struct sample){
			.time_ns = e->time_ns, .addr = field(e, "addr"),
			.task = task,
			.latency = latency < UINT32_MAX ? (uint32_t)latency :
							  UINT32_MAX,
			.level = (uint8_t)field(e, "level"),
			.remote = field(e, "remote") != 0,
		};
	}
	moca_cursor_close(cursor);
	if (w->count)
		qsort(w->samples, w->count, sizeof(*w->samples), by_access);
	return ret;
}

/* The sample of an access that no access had so far, or NULL. */
static struct sample *sample_of(struct walk *w, uint32_t task,
				const struct moca_access *a)
{
	const struct sample key = {
		.task = task, .time_ns = a->time_ns, .addr = a->addr,
	};
	size_t low = 0, high = w->count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (by_access(&w->samples[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < w->count && !by_access(&w->samples[low], &key); low++)
		if (!w->samples[low].used)
			return &w->samples[low];
	return NULL;
}

static void each(void *arg, uint32_t task, const struct moca_access *a,
		 uint32_t key)
{
	struct walk *w = arg;
	struct sample *s = w->err ? NULL : sample_of(w, task, a);
	struct moca_latency_row *r;

	if (!s)
		return;
	if (moca_vec_fit_zeroed(w->sums, w->sum_room, (size_t)key + 1)) {
		w->err = -ENOMEM;
		return;
	}
	s->used = 1;
	r = &w->sums[key];
	r->samples++;
	r->weighed += s->latency != 0;
	r->sum += s->latency;
	if (s->latency > r->most)
		r->most = s->latency;
	r->levels[s->level < MOCA_LATENCY_LEVELS ? s->level : 0]++;
	r->remote += s->remote;
}

static void add(struct moca_latency_row *to, const struct moca_latency_row *r)
{
	to->samples += r->samples;
	to->weighed += r->weighed;
	to->sum += r->sum;
	to->most = r->most > to->most ? r->most : to->most;
	to->remote += r->remote;
	for (size_t i = 0; i < MOCA_LATENCY_LEVELS; i++)
		to->levels[i] += r->levels[i];
}

static int by_sum(const void *a, const void *b)
{
	const struct moca_latency_row *x = a, *y = b;

	if (x->sum != y->sum)
		return x->sum > y->sum ? -1 : 1;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return !x->object || !y->object ? !x->object - !y->object :
	       x->object->id < y->object->id ? -1 : x->object->id > y->object->id;
}

/* What keys have, by the rows that they are of. */
static int put_together(struct moca_latency *l, const struct walk *w)
{
	const struct moca_object *o;
	size_t rows;

	moca_objects_rows(l->objects, &rows);
	l->rows = calloc(rows + 1, sizeof(*l->rows));
	if (!l->rows)
		return -ENOMEM;
	for (size_t i = 0; i < w->sum_room; i++) {
		if (!w->sums[i].samples)
			continue;
		o = moca_objects_row_of(l->objects, (uint32_t)i);
		if (!o || o->id >= rows)
			continue;
		l->rows[o->id].object = o;
		add(&l->rows[o->id], &w->sums[i]);
	}
	for (size_t i = 0; i < rows; i++)
		if (l->rows[i].samples)
			l->rows[l->count++] = l->rows[i];
	qsort(l->rows, l->count, sizeof(*l->rows), by_sum);
	return 0;
}

int moca_latency_compute(struct moca_latency *l, struct moca_trace *t,
			 const struct moca_objects_options *narrow)
{
	struct walk w = { .count = 0 };
	struct moca_objects_options opt = {
		.size = sizeof(opt), .each = each, .each_arg = &w,
	};
	int err;

	*l = (struct moca_latency){ .count = 0 };
	if (narrow) {
		opt.begin_ns = narrow->begin_ns;
		opt.end_ns = narrow->end_ns;
		opt.task = narrow->task;
		opt.one_task = narrow->one_task;
	}
	err = load(&w, t, &l->left_out);
	if (!err)
		err = moca_objects_compute(&l->objects, t, &opt);
	if (!err)
		err = w.err ? w.err : put_together(l, &w);
	free(w.samples);
	free(w.sums);
	return err;
}

void moca_latency_free(struct moca_latency *l)
{
	moca_objects_free(l->objects);
	free(l->rows);
}
