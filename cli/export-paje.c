// SPDX-License-Identifier: GPL-2.0-or-later
/* A trace of Pajé: doc/formats/paje.md says what becomes what. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"
#include "cli/export-series.h"
#include "cli/export.h"
#include "export/paje.h"
#include "lib/base/err.h"
#include "lib/base/strings.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"
#include "lib/text/text.h"

#define ALL_OBJECTS UINT32_MAX	/* in place of a row */

/* A container, from what begins in it first to what ends in it last. */
struct container {
	enum paje_kind kind;
	uint32_t parent;
	uint32_t who, row;	/* pid or task; object */
	const char *name;
	uint64_t begin_ns, end_ns;
};

/* In the order in which what is of one moment is told. */
enum what { CREATE, CHANGE, DESTROY };

struct item {
	uint64_t ns;
	int64_t value;
	const char *state;	/* of container 0 */
	uint32_t id, number;
	uint8_t what, sum;
	uint8_t is_state;
};

struct view {
	struct export *x;
	struct moca_series *s;
	uint64_t origin;
	struct container *containers;
	size_t container_count, container_room;
	struct moca_index index;
	struct item *items;
	size_t item_count, item_room;
	struct moca_strings strings;
	uint32_t at;		/* the container of the counter at hand, */
	uint8_t sum;		/* and which variable of it */
	uint64_t values, phases;
	int error;
};

/* A container's life, and that of all it is in, holds this moment. */
static void extend(struct view *v, uint32_t id, uint64_t ns)
{
	while (id != PAJE_NOWHERE) {
		struct container *c = &v->containers[id];

		if (ns < c->begin_ns)
			c->begin_ns = ns;
		if (ns > c->end_ns)
			c->end_ns = ns;
		id = c->parent;
	}
}

/* The container's number; a name is made of the format's arguments when it is new. */
static uint32_t find(struct view *v, enum paje_kind kind, uint32_t parent,
		     uint32_t who, uint32_t row, int *is_new)
{
	uint64_t hash = moca_mix(moca_mix((uint64_t)who << 32 | row) +
				 (uint64_t)kind);
	struct container *c;
	uint32_t i;

	*is_new = 0;
	moca_index_each(i, &v->index, hash) {
		c = &v->containers[i];
		if (c->kind == kind && c->who == who && c->row == row)
			return i;
	}
	c = moca_vec_add(v->containers, v->container_count, v->container_room);
	i = (uint32_t)v->container_count - 1;
	if (!c || moca_index_add(&v->index, hash, i)) {
		v->error = -ENOMEM;
		return 0;
	}
	*c = (struct container){ kind, parent, who, row, "", UINT64_MAX, 0 };
	*is_new = 1;
	return i;
}

__attribute__((format(printf, 3, 4)))
static void set_name(struct view *v, uint32_t id, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	v->containers[id].name = moca_strings_intern(&v->strings, text);
	if (!v->containers[id].name)
		v->error = -ENOMEM;
}

static uint32_t find_process(struct view *v, uint32_t pid)
{
	const char *name = trace_process_name(v->x->t, pid);
	int is_new;
	uint32_t id = find(v, PAJE_PROCESS, 0, pid, 0, &is_new);

	if (is_new)
		set_name(v, id, "%.900s (%" PRIu32 ")", name ? name : "", pid);
	return id;
}

static uint32_t find_thread(struct view *v, const struct moca_task *t)
{
	uint32_t parent = find_process(v, t->pid), id;
	int is_new;

	if (v->error)
		return 0;
	id = find(v, PAJE_THREAD, parent, t->id, 0, &is_new);
	if (is_new)
		set_name(v, id, "%.900s (%" PRIu32 ") task %" PRIu32,
			 t->name ? t->name : "", t->tid, t->id);
	return id;
}

static struct item *add(struct view *v, enum what what, uint32_t id, uint64_t ns)
{
	struct item *i = moca_vec_add(v->items, v->item_count, v->item_room);

	if (!i) {
		v->error = -ENOMEM;
		return NULL;
	}
	*i = (struct item){ .ns = ns, .what = (uint8_t)what, .id = id,
			    .number = (uint32_t)v->item_count };
	return i;
}

static uint64_t since(const struct view *v, uint64_t ns)
{
	return ns > v->origin ? ns - v->origin : 0;
}

/* --- counters and phases ------------------------------------------------- */

static int begin_counter(void *arg, uint32_t who, const struct moca_object *o,
			 int sum)
{
	int alive = sum == EXPORT_BYTES_ALIVE, is_new;
	uint32_t row = o ? o->id : ALL_OBJECTS, parent;
	struct view *v = arg;
	size_t task = alive ? 0 : trace_task_index(v->x->t, who);

	if (task == SIZE_MAX)
		return 0;
	parent = alive ? find_process(v, who) :
			 find_thread(v, moca_trace_task(v->x->t, task));
	if (v->error)
		return 0;
	v->at = find(v, alive ? PAJE_HEAP : PAJE_USE, parent, who, row, &is_new);
	v->sum = alive ? 0 : (uint8_t)sum;
	if (v->error || !is_new)
		return !v->error;
	/* What lives stays to the end. */
	if (alive)
		extend(v, v->at, v->containers[0].end_ns);
	/* Names of containers differ. */
	if (o)
		set_name(v, v->at, "%.900s #%" PRIu32 ", %s %" PRIu32, o->name,
			 row, alive ? "process" : "task", who);
	else
		set_name(v, v->at, "all objects, process %" PRIu32, who);
	return !v->error;
}

static void counter_value(void *arg, uint64_t ns, int64_t value)
{
	struct view *v = arg;
	struct item *i = add(v, CHANGE, v->at, since(v, ns));

	if (!i)
		return;
	i->sum = v->sum;
	i->value = value;
	extend(v, v->at, i->ns);
	v->values++;
}

static int is_stopped(void *arg)
{
	return ((struct view *)arg)->error;
}

static void put_phase(void *arg, size_t n, const struct moca_phase *phase)
{
	char name[EXPORT_PHASE_NAME];
	struct view *v = arg;
	const char *copy = moca_strings_intern(&v->strings,
					export_phase_name(name, n, phase));
	const uint64_t ends[] = { phase->begin_ns, phase->end_ns };

	if (!copy)
		v->error = -ENOMEM;
	for (int k = 0; k < 2 && !v->error; k++) {
		struct item *i = add(v, CHANGE, 0, since(v, ends[k]));

		if (!i)
			return;
		i->is_state = 1;
		i->state = k ? NULL : copy;
		extend(v, 0, i->ns);
	}
	v->phases++;
}

/* --- all of it ------------------------------------------------------------ */

static void put_tasks(struct view *v)
{
	size_t n = moca_trace_task_count(v->x->t);

	for (size_t i = 0; i < n && !v->error; i++) {
		const struct moca_task *t = moca_trace_task(v->x->t, i);
		uint32_t id;

		if (v->x->range.one_task && t->id != v->x->range.task)
			continue;
		id = find_thread(v, t);
		if (v->error)
			return;
		if (t->start_ns)
			extend(v, id, since(v, t->start_ns));
		if (t->end_ns)
			extend(v, id, since(v, t->end_ns));
	}
}

static int collect(struct view *v)
{
	const struct export_counters counters = {
		v, begin_counter, counter_value, is_stopped };
	uint64_t end = trace_meta_u64(v->x->t, META_END, 0);
	int is_new, err = 0;
	uint32_t id = find(v, PAJE_TRACE, PAJE_NOWHERE, 0, 0, &is_new);

	if (v->error)
		return v->error;
	set_name(v, id, "%.900s", v->x->trace);
	extend(v, id, 0);
	extend(v, id, since(v, end));
	put_tasks(v);
	export_series_accesses(v->s, &counters);
	if (!v->x->range.one_task)
		export_series_allocations(v->s, &counters);
	if (!export_is_narrowed(v->x))
		err = export_series_phases(v->s, v->x->t, put_phase, v);
	for (size_t i = 0; i < v->container_count && !v->error; i++) {
		struct container *c = &v->containers[i];

		/* Of a thread of which no moment is known: as long as the trace. */
		if (c->begin_ns == UINT64_MAX) {
			c->begin_ns = v->containers[0].begin_ns;
			c->end_ns = v->containers[0].end_ns;
		}
		if (add(v, CREATE, (uint32_t)i, c->begin_ns))
			add(v, DESTROY, (uint32_t)i, c->end_ns);
	}
	return err ? err : v->error;
}

static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	/* Containers are numbered behind those that they are in. */
	if (x->what == DESTROY)
		return x->id > y->id ? -1 : x->id < y->id;
	if (x->what == CREATE)
		return x->id < y->id ? -1 : x->id > y->id;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void write_items(const struct view *v, struct out *o)
{
	for (size_t k = 0; k < v->item_count && !o->error; k++) {
		const struct item *i = &v->items[k];
		const struct container *c = &v->containers[i->id];

		if (i->what == CREATE)
			paje_container(o, i->ns, i->id, c->kind, c->parent,
				       c->name);
		else if (i->what == DESTROY)
			paje_container_end(o, i->ns, i->id, c->kind);
		else if (i->is_state)
			paje_state(o, i->ns, i->id, i->state);
		else
			paje_value(o, i->ns, i->id, c->kind, i->sum, i->value);
	}
}

static int write_file(struct view *v, uint64_t *written)
{
	struct out o;
	int err, failed;

	v->x->read_failed = 0;
	qsort(v->items, v->item_count, sizeof(*v->items), compare);
	err = out_open(&o, v->x->fd);
	if (err)
		return err;
	paje_begin(&o, export_sum_names, MOCA_SERIES_SUMS,
		   export_sum_names[EXPORT_BYTES_ALIVE], "phase");
	write_items(v, &o);
	failed = out_close(&o);
	*written = o.written;
	return failed;
}

static void say(const struct view *v, uint64_t written)
{
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX], d[TEXT_MAX], e[TEXT_MAX];

	if (v->x->quiet)
		return;
	moca_say("%s: %s value%s in %s container%s in windows of %s, %s phase%s, %s",
		 v->x->out, text_count(a, v->values), PLURAL(v->values),
		 text_count(b, v->container_count), PLURAL(v->container_count),
		 text_duration(c, v->s->accesses.window_ns),
		 text_count(d, v->phases), PLURAL(v->phases),
		 text_size(e, written));
}

int export_paje(struct export *x)
{
	struct view v = { .x = x, .origin = trace_origin(x->t) };
	uint64_t written = 0;
	int err = export_series_of(x, &v.s);

	x->read_failed = err != 0;
	if (!err) {
		err = collect(&v);
		x->read_failed = err != 0;
	}
	if (!err)
		err = write_file(&v, &written);
	if (!err)
		say(&v, written);
	free(v.containers);
	free(v.items);
	moca_index_free(&v.index);
	moca_strings_free(&v.strings);
	moca_series_free(v.s);
	return err;
}
