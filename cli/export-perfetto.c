// SPDX-License-Identifier: GPL-2.0-or-later
/* A trace for Perfetto: doc/formats/perfetto.md says what becomes what. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rates.h"
#include "analysis/trace.h"
#include "cli/export-series.h"
#include "cli/export.h"
#include "export/perfetto.h"
#include "export/stacks.h"
#include "lib/base/err.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"
#include "lib/format/rate-writer.h"
#include "lib/text/text.h"
#include "query/samples.h"

#define RATE_BINS 1024u
#define PROCESS UINT64_MAX	/* in place of a thread's id */

/* A process or a thread that has a track. */
struct owner {
	uint32_t pid;
	uint64_t tid;		/* or PROCESS */
	uint64_t track;
};

struct view {
	struct export *x;
	struct perfetto p;
	struct moca_series *s;
	struct owner *owners;
	size_t owner_count, owner_room;
	struct moca_index by_id;
	uint64_t counter;	/* the track of the one at hand, or of phases */
	uint64_t values, series, events, phases, stacks;
};

/* --- who ---------------------------------------------------------------- */

/* 0: no memory, and v->p.error says so. */
static uint64_t track_of(struct view *v, uint32_t pid, uint64_t tid,
			 const char *name)
{
	uint64_t hash = moca_mix(moca_mix(pid) + tid);
	struct owner *w;
	uint32_t i;

	moca_index_each(i, &v->by_id, hash)
		if (v->owners[i].pid == pid && v->owners[i].tid == tid)
			break;
	if (i != MOCA_INDEX_NONE)
		return v->owners[i].track;
	w = moca_vec_add(v->owners, v->owner_count, v->owner_room);
	if (!w || moca_index_add(&v->by_id, hash,
				 (uint32_t)(v->owner_count - 1))) {
		v->p.error = -ENOMEM;
		return 0;
	}
	*w = (struct owner){ .pid = pid, .tid = tid };
	w->track = tid == PROCESS ? perfetto_process(&v->p, pid, name) :
		   perfetto_thread(&v->p, pid, (uint32_t)tid, name);
	return w->track;
}

static uint64_t process_track(struct view *v, uint32_t pid)
{
	return track_of(v, pid, PROCESS, trace_process_name(v->x->t, pid));
}

static uint64_t thread_track(struct view *v, const struct moca_task *t)
{
	process_track(v, t->pid);
	return track_of(v, t->pid, t->tid, t->name);
}

/* --- counters ----------------------------------------------------------- */

static uint64_t add_counter(struct view *v, uint64_t parent, const char *of,
			    const char *what, const char *about,
			    enum perfetto_unit unit)
{
	char name[512];

	snprintf(name, sizeof(name), "%.400s%s%s", of, *of ? ": " : "", what);
	v->series++;
	return perfetto_counter(&v->p, parent, name, about, unit);
}

static void put_value(struct view *v, uint64_t track, uint64_t ns,
		      int64_t value)
{
	perfetto_value(&v->p, track, ns, value);
	v->values++;
}

static int begin_counter(void *arg, uint32_t who, const struct moca_object *o,
			 int sum)
{
	int alive = sum == EXPORT_BYTES_ALIVE;
	struct view *v = arg;
	uint64_t parent;
	size_t task;

	if (alive) {
		parent = process_track(v, who);
	} else {
		task = trace_task_index(v->x->t, who);
		if (task == SIZE_MAX)
			return 0;
		parent = thread_track(v, moca_trace_task(v->x->t, task));
	}
	v->counter = add_counter(v, parent, o ? o->name : "all objects",
				 export_sum_names[sum], o ? o->site : "",
				 alive ? PERFETTO_BYTES : PERFETTO_COUNT);
	return 1;
}

static void counter_value(void *arg, uint64_t ns, int64_t value)
{
	struct view *v = arg;

	put_value(v, v->counter, ns, value);
}

static int is_stopped(void *arg)
{
	return ((struct view *)arg)->p.o->error;
}

/* --- rates -------------------------------------------------------------- */

static uint64_t rate_of(const struct moca_rate_sums *s, int which)
{
	return which == 0 ? s->cpu_ns : which == 1 ? s->minor :
	       which == 2 ? s->own : s->major;
}

static void put_rate(struct view *v, const struct moca_rates *r,
		     const struct moca_rates_task *t)
{
	static const char *const names[] = { "CPU time", "minor faults",
		"minor faults of page tracing", "major faults" };
	int whole = t->tid == MOCA_RATE_PROCESS || t->tid == MOCA_RATE_REAPED;
	uint64_t parent = whole ? process_track(v, t->pid) :
				  track_of(v, t->pid, t->tid, t->name);
	double width = (double)(r->end_ns - r->begin_ns) / (double)r->bin_count;

	for (int k = 0; k < 4; k++) {
		uint64_t track, before = 0;

		if (!rate_of(&t->total, k))
			continue;
		track = add_counter(v, parent, t->tid == MOCA_RATE_REAPED ?
				    "of processes that ended unseen" : "",
				    names[k], "",
				    k ? PERFETTO_COUNT : PERFETTO_NS);
		for (size_t i = 0; i <= r->bin_count; i++) {
			uint64_t now = i < r->bin_count ?
				rate_of(&t->bins[i], k) : 0;

			if (now || before)
				put_value(v, track, r->begin_ns +
					  (uint64_t)((double)i * width),
					  (int64_t)now);
			before = now;
		}
	}
}

static int put_rates(struct view *v)
{
	struct moca_rates *r;
	int err = moca_rates_compute(&r, v->x->t, RATE_BINS);

	if (err || !r)
		return err;
	for (size_t i = 0; i < r->task_count && !v->p.o->error; i++)
		if (r->tasks[i].bins)
			put_rate(v, r, &r->tasks[i]);
	moca_rates_free(r);
	return 0;
}

/* --- events ------------------------------------------------------------- */

static const char *label_of(const struct moca_value *m, size_t i)
{
	int64_t x = (int64_t)moca_value_integer(m, i);

	for (size_t k = 0; k < m->field->label_count; k++)
		if (m->field->labels[k].value == x)
			return m->field->labels[k].label;
	return NULL;
}

/* An element as text, of arrays and sequences. */
static void print_element(FILE *f, const struct moca_value *m, size_t i)
{
	if (m->field->kind == MOCA_FIELD_FLOAT)
		fprintf(f, "%.17g", moca_value_float(m, i));
	else if (m->field->kind == MOCA_FIELD_SIGNED)
		fprintf(f, "%" PRId64, (int64_t)moca_value_integer(m, i));
	else if (m->field->kind == MOCA_FIELD_HEX)
		fprintf(f, "0x%" PRIx64, moca_value_integer(m, i));
	else
		fprintf(f, "%" PRIu64, moca_value_integer(m, i));
}

static void put_elements(struct view *v, const struct moca_value *m)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = 0; f && i < m->count; i++) {
		fputs(i ? ", " : "", f);
		print_element(f, m, i);
	}
	if (!f || fclose(f))
		v->p.error = -ENOMEM;
	else
		perfetto_arg_text(&v->p, m->field->name, text);
	free(text);
}

static void put_field(struct view *v, const struct moca_value *m)
{
	const char *name = m->field->name, *label;

	if (m->field->kind == MOCA_FIELD_STRING) {
		perfetto_arg_text(&v->p, name, (const char *)m->data);
		return;
	}
	if (m->field->shape != MOCA_FIELD_SCALAR) {
		put_elements(v, m);
		return;
	}
	switch (m->field->kind) {
	case MOCA_FIELD_FLOAT:
		perfetto_arg_real(&v->p, name, moca_value_float(m, 0));
		return;
	case MOCA_FIELD_HEX:
		perfetto_arg_hex(&v->p, name, moca_value_integer(m, 0));
		return;
	case MOCA_FIELD_UNSIGNED:
		perfetto_arg_uint(&v->p, name, moca_value_integer(m, 0));
		return;
	}
	label = m->field->kind == MOCA_FIELD_ENUM ? label_of(m, 0) : NULL;
	if (label)
		perfetto_arg_text(&v->p, name, label);
	else
		perfetto_arg_int(&v->p, name, (int64_t)moca_value_integer(m, 0));
}

static void put_event(struct view *v, uint64_t track, const struct moca_event *e)
{
	struct moca_value m;

	perfetto_event(&v->p, PERFETTO_INSTANT, track, e->time_ns,
		       e->type->facility, e->type->name);
	for (size_t i = 0; i < e->type->field_count; i++)
		if (!moca_event_value(e, i, &m))
			put_field(v, &m);
	perfetto_put(&v->p);
	v->events++;
}

/* Allocations and rates are counters. */
static int is_put(const struct moca_event_type *type)
{
	return !trace_is_allocation(type) && !trace_is_rate(type);
}

/* What programs emitted. */
static int put_events(struct view *v)
{
	const struct moca_event *e;
	struct moca_cursor *c;
	uint32_t task;
	size_t at;
	int ret;

	if (!trace_has_events(v->x->t, is_put))
		return 0;
	ret = moca_cursor_open(&c, v->x->t, &v->x->range);
	if (ret)
		return ret;
	while (!v->p.o->error && !v->p.error &&
	       (ret = moca_cursor_event(c, &e, &task)) > 0) {
		at = trace_task_index(v->x->t, task);
		if (at == SIZE_MAX || !is_put(e->type))
			continue;
		put_event(v, thread_track(v, moca_trace_task(v->x->t, at)), e);
	}
	moca_cursor_close(c);
	return ret < 0 ? ret : 0;
}

/* --- phases ------------------------------------------------------------- */

static void put_phase(void *arg, size_t n, const struct moca_phase *phase)
{
	char name[EXPORT_PHASE_NAME];
	struct view *v = arg;

	if (!n)
		v->counter = perfetto_track(&v->p, 0, "phases");
	perfetto_event(&v->p, PERFETTO_SLICE, v->counter, phase->begin_ns,
		       "phases", export_phase_name(name, n, phase));
	perfetto_arg_uint(&v->p, "accesses", phase->accesses);
	perfetto_arg_uint(&v->p, "pages", phase->pages);
	perfetto_put(&v->p);
	perfetto_slice_end(&v->p, v->counter, phase->end_ns);
	v->phases++;
}

/* --- call stacks -------------------------------------------------------- */

/* Where accesses have some: for those of allocations alone the walk would be too dear. */
static int put_stacks(struct view *v)
{
	const struct query_filter f = { .range = v->x->range,
					.object = v->x->object,
					.heap = !export_is_narrowed(v->x) };
	struct samples *s;
	int err;

	if (!moca_trace_stack_count(v->x->t))
		return 0;
	err = query_samples_open(&s, v->x->t, &f);
	if (err)
		return err;
	/* One that was killed has no end. */
	err = stacks_perfetto(&v->p, s,
			      trace_meta_u64(v->x->t, META_END,
					     trace_meta_u64(v->x->t, META_START, 0)),
			      &v->stacks);
	query_samples_close(s);
	return err;
}

/* --- all of it ---------------------------------------------------------- */

static int write_all(struct view *v, struct out *o)
{
	uint64_t start = trace_meta_u64(v->x->t, META_START, 0);
	uint64_t real = trace_meta_u64(v->x->t, META_START_TIME, 0);
	const struct export_counters counters = {
		v, begin_counter, counter_value, is_stopped };
	size_t n = moca_trace_task_count(v->x->t);
	int err = 0, failed;

	perfetto_begin(&v->p, o, start, start ? real : 0);
	for (size_t i = 0; i < n; i++)
		thread_track(v, moca_trace_task(v->x->t, i));
	export_series_accesses(v->s, &counters);
	/* Who allocated is not told of what was moved or freed by others. */
	if (!v->x->range.one_task)
		export_series_allocations(v->s, &counters);
	if (!export_is_narrowed(v->x)) {
		err = put_rates(v);
		if (!err)
			err = export_series_phases(v->s, v->x->t,
						   put_phase, v);
	}
	if (!err)
		err = put_events(v);
	if (!err)
		err = put_stacks(v);
	v->x->read_failed = err && !o->error;
	failed = perfetto_end(&v->p);
	return err ? err : failed;
}

static void say(const struct view *v, const struct out *o)
{
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX], d[TEXT_MAX], e[TEXT_MAX];
	char f[TEXT_MAX];

	if (v->x->quiet)
		return;
	moca_say("%s: %s value%s of %s counter%s in windows of %s, %s event%s, %s phase%s, %s stack%s, %s",
		 v->x->out, text_count(a, v->values), PLURAL(v->values),
		 text_count(b, v->series), PLURAL(v->series),
		 text_duration(c, v->s->accesses.window_ns),
		 text_count(d, v->events), PLURAL(v->events),
		 text_count(e, v->phases), PLURAL(v->phases),
		 text_count(f, v->stacks), PLURAL(v->stacks),
		 text_size((char[TEXT_MAX]){ 0 }, o->written));
}

int export_perfetto(struct export *x)
{
	struct view v = { .x = x };
	struct out o;
	int err, failed;

	err = export_series_of(x, &v.s);
	x->read_failed = err != 0;
	if (err)
		return err;
	err = out_open(&o, x->fd);
	if (!err) {
		err = write_all(&v, &o);
		failed = out_close(&o);
		err = err ? err : failed;
	}
	if (!err)
		say(&v, &o);
	free(v.owners);
	moca_index_free(&v.by_id);
	moca_series_free(v.s);
	return err;
}
