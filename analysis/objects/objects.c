// SPDX-License-Identifier: GPL-2.0-or-later
/* The pass over the trace in order of time, and its result. */
#include "analysis/objects/replay.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/symbols/jit.h"
#include "analysis/timeline.h"
#include "analysis/trace.h"
#include "include/abi/alloc-events.h"

#define PAGE 4096u
#define BATCH 128
#define RUNS 64		/* of accesses, at a time */
/* Address maps: what any trace may take, and more for what it tells. */
#define POOL_MIN ((size_t)256 << 20)
#define POOL_PER_TASK ((size_t)1 << 20)
#define POOL_PER_RECORD 512
#define ERA_POOL ((size_t)64 << 20)	/* 4 KiB for each 2 MiB of memory */

const char *moca_objects_text(struct moca_objects *o, const char *fmt, ...)
{
	char buf[TEXT_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	return moca_strings_intern(&o->table.strings, buf);
}

int moca_objects_set(struct moca_objects *o, struct moca_addrmap *m,
		     uint64_t first, uint64_t last, uint32_t id)
{
	int err = o->slice_count && !o->crediting ?
			  moca_objects_changing(o, m, first, last) : 0;

	if (!err)
		err = moca_addrmap_set(m, first, last, id);
	if (err != -E2BIG)
		return err;
	o->totals.refused++;
	return 0;
}

/* --- accesses, many at a time ------------------------------------------- */

/*
 * What an access needs is far apart in memory. So each step is done for a
 * batch of accesses, and what the next one needs is fetched meanwhile.
 */
struct batch {
	struct moca_objects *o;
	size_t count;
	struct moca_access a[BATCH];
	struct moca_hit h[BATCH];
	struct replay_space *space[BATCH];
	struct replay_task *of[BATCH];
	const uint64_t *slot[BATCH];
	/* Where the key of each is all that is asked for, most have no hit. */
	int keys;
	uint64_t n[BATCH], interval[BATCH];	/* as of a hit */
	uint32_t task[BATCH];
	uint32_t id[BATCH];	/* instance; 0: the hit tells it */
};

/* The layers below the first. Sets h->id and h->mixed; 0 or -ENOMEM. */
static int look_further(struct moca_objects *o, struct replay_space *s, uint64_t addr,
			struct moca_hit *h)
{
	const struct moca_addrmap *const layers[] = { &s->small, &s->own,
						      &s->seen };
	const uint64_t *slot;
	int64_t id;
	size_t i;

	for (i = 0; i < sizeof(layers) / sizeof(*layers); i++) {
		slot = moca_addrmap_slot(layers[i], addr);
		if (!slot)
			continue;
		h->mixed |= moca_addrmap_mixed(*slot);
		h->id = moca_addrmap_at(*slot, addr);
		h->below = layers[i] == &s->seen;
		if (h->id) {
			h->whole = layers[i] == &s->own;
			return 0;
		}
	}
	h->below = 1;
	id = moca_objects_seek(o, s, addr, h->a);
	if (id < 0)
		return (int)id;
	h->id = (uint32_t)id;
	return 0;
}

/* Where the access went to; of one of which only the page is known, a guess. */
static uint64_t place_of(const struct moca_access *a, int *wide)
{
	*wide = 0;
	if (a->ip || a->addr & (PAGE - 1))
		return a->addr;
	/*
	 * Neither instruction nor offset: any byte of the page, by chance; so
	 * many of them are shared out by size.
	 */
	*wide = 1;
	return a->addr + (moca_mix(a->time_ns ^ a->addr) & (PAGE - 1));
}

/*
 * Since when the memory there is what it is. A file's, or what processes share, does
 * not begin anew; what an object has all of began with it, unless it was discarded.
 */
static void find_era(const struct replay_space *s, struct moca_hit *h)
{
	if (moca_space_is_shared(h->where))
		h->whole = 0;
	else if (s->eras.root && (!h->whole || s->discards))
		h->era = moca_addrmap_find(&s->eras, h->a->addr);
}

/* The last steps. What is going to wait is fetched when it has waited. */
static int count_batch(struct batch *b)
{
	struct moca_objects *o = b->o;
	int waits[BATCH], err;
	size_t i;

	for (i = 0; i < b->count; i++) {
		waits[i] = !moca_objects_unordered(o) &&
			   moca_objects_waits(o, b->of[i]);
		if (!waits[i])
			moca_table_prefetch(&o->table, &b->h[i]);
	}
	for (i = 0; i < b->count; i++) {
		err = moca_objects_hold(o, b->of[i], &b->h[i], b->space[i]);
		/* Just now its task was released. */
		if (!err && waits[i])
			moca_table_prefetch(&o->table, &b->h[i]);
		if (!err)
			err = moca_objects_count(o, &b->h[i], b->space[i]);
		if (err < 0)
			return err;
	}
	b->count = 0;
	return 0;
}

/* What the i-th went to. 0 or -ENOMEM. */
static int find_hit(struct batch *b, size_t i)
{
	struct moca_objects *o = b->o;
	struct moca_hit *h = &b->h[i];
	uint64_t addr = place_of(h->a, &h->wide);
	int err = 0;

	h->where = h->space;
	h->at = h->a->addr;
	h->mixed = h->below = h->whole = 0;
	h->era = 0;
	h->id = 0;
	if (b->slot[i]) {
		h->mixed = moca_addrmap_mixed(*b->slot[i]);
		h->id = moca_addrmap_at(*b->slot[i], addr);
		h->whole = h->id && !h->mixed;
	}
	if (!h->id)
		err = look_further(o, b->space[i], addr, h);
	else if (!b->space[i]->shares)
		goto found;
	if (!err)
		err = moca_space_locate(o, b->space[i], h);
	if (err)
		return err;
found:
	find_era(b->space[i], h);
	h->wide &= h->mixed;
	__builtin_prefetch(&o->table.inst_key[h->id]);
	return 0;
}

/* As the batch has it. */
static void make_hit(struct batch *b, size_t i)
{
	struct moca_hit *h = &b->h[i];

	h->a = &b->a[i];
	h->task = b->task[i];
	h->task_index = (size_t)(b->of[i] - b->o->tasks);
	h->space = b->space[i]->id;
	h->interval = b->interval[i];
	h->n = b->n[i];
}

/* As find_hit() and count_batch(); but of most the instance is enough. */
static int flush_keys(struct batch *b)
{
	struct moca_objects *o = b->o;
	struct moca_settled x;
	int wide, err = 0;
	size_t i;

	for (i = 0; i < b->count && !err; i++) {
		uint64_t addr = place_of(&b->a[i], &wide);

		b->id[i] = b->slot[i] && !b->space[i]->shares ?
				   moca_addrmap_at(*b->slot[i], addr) : 0;
		if (b->id[i]) {
			__builtin_prefetch(&o->table.inst_key[b->id[i]]);
			continue;
		}
		make_hit(b, i);
		err = find_hit(b, i);
	}
	for (i = 0; i < b->count && !err; i++) {
		if (!b->id[i]) {
			err = moca_objects_hold(o, b->of[i], &b->h[i],
						b->space[i]);
			if (!err)
				err = moca_objects_count(o, &b->h[i],
							 b->space[i]);
			err = err < 0 ? err : 0;
			continue;
		}
		err = moca_objects_release_late(o, b->interval[i]);
		if (!err && b->of[i]->held)
			err = moca_objects_hold_one(o, b->of[i], b->interval[i]);
		x.access = &b->a[i];
		x.addr = b->a[i].addr;
		x.interval = b->interval[i];
		x.space = b->space[i]->id;
		x.n = b->n[i];
		x.task = b->task[i];
		x.task_index = (size_t)(b->of[i] - o->tasks);
		x.key = o->table.inst_key[b->id[i]].row;
		o->table.counts[x.key].touched = 1;
		o->opt.settled(o->opt.settled_arg, &x);
	}
	b->count = 0;
	return err;
}

static int flush(struct batch *b)
{
	struct moca_addrnear near = { .map = NULL };
	int err = 0;
	size_t i;

	for (i = 0; i < b->count; i++) {
		b->slot[i] = moca_addrmap_slot_near(&b->space[i]->big,
						    b->a[i].addr, &near);
		if (b->slot[i])
			__builtin_prefetch(b->slot[i]);
	}
	for (i = 0; i < b->count; i++)
		if (b->slot[i])
			moca_addrmap_prefetch(*b->slot[i]);
	if (b->keys)
		return flush_keys(b);
	for (i = 0; i < b->count && !err; i++) {
		make_hit(b, i);
		err = find_hit(b, i);
	}
	return err ? err : count_batch(b);
}

static int add_run(struct batch *b, const struct moca_timeline_run *item)
{
	struct replay_task *t = &b->o->tasks[item->task_index];
	const struct moca_task *task = moca_trace_task(b->o->trace,
						       item->task_index);
	struct replay_space *s;
	size_t i;
	int err;

	/* A process that begins now may end a space that the batch is in. */
	if (!t->process) {
		err = flush(b);
		if (err)
			return err;
	}
	s = moca_objects_space(b->o, task, t);
	if (!s)
		return -ENOMEM;
	s->touched = 1;
	for (i = 0; i < item->count; i++) {
		if (b->count == BATCH) {
			err = flush(b);
			if (err)
				return err;
		}
		b->a[b->count] = item->accesses[i];
		b->of[b->count] = t;
		b->task[b->count] = task->id;
		b->interval[b->count] = item->interval;
		b->n[b->count] = t->taken++;
		b->space[b->count++] = s;
	}
	return 0;
}

/* Those of the item, and all that come before anything else. */
static int add_accesses(struct batch *b, struct moca_timeline *tl,
			const struct moca_timeline_item *item)
{
	struct moca_timeline_run runs[RUNS] = { {
		item->accesses, item->count, item->task_index, item->interval,
	} };
	size_t n = 1;
	int err = 0;

	while (n && !err) {
		for (size_t i = 0; i < n && !err; i++)
			err = add_run(b, &runs[i]);
		n = err ? 0 : moca_timeline_more(tl, runs, RUNS);
	}
	return err;
}

static int walk(struct moca_objects *o, struct moca_timeline *tl,
		struct batch *b)
{
	struct moca_timeline_item item;
	int ret, err = 0;

	while (!err && (ret = moca_timeline_next(tl, &item)) > 0) {
		if (item.kind == MOCA_TIMELINE_ACCESSES) {
			err = add_accesses(b, tl, &item);
			continue;
		}
		err = flush(b);
		o->now = item.time_ns;
		if (!err && o->slice_count && o->now > o->next_end)
			err = moca_objects_settle(o, o->now);
		if (err)
			break;
		if (item.kind == MOCA_TIMELINE_COUNTS)
			err = moca_objects_counts(o, item.task, item.counts);
		else if (item.kind == MOCA_TIMELINE_CHANGE)
			err = moca_objects_change(o, item.task, item.change);
		else
			err = moca_objects_alloc(o, item.task, item.event);
	}
	if (!err)
		err = ret;
	if (!err)
		err = flush(b);
	if (!err)
		err = moca_objects_settle(o, UINT64_MAX);
	return err ? err : moca_objects_release_all(o);
}

/* --- the result --------------------------------------------------------- */

int64_t moca_objects_allocator_row(struct moca_objects *o, const char *program)
{
	const char *name = moca_strings_intern(&o->table.strings,
					       MOCA_NAME_HEAP);
	const char *site = moca_strings_intern(&o->table.strings, "");

	return name && site ? moca_table_row(&o->table, program,
					     MOCA_OBJECT_ALLOCATOR, name,
					     site) : -ENOMEM;
}

/* Anonymous memory that turned out to be an allocator's. */
static int alias_maps(struct moca_objects *o)
{
	struct moca_table *t = &o->table;
	const struct map *m;
	uint32_t from;
	int64_t row;
	size_t i;

	for (i = 1; i < o->map_count; i++) {
		m = &o->maps[i];
		if (!m->has_objects || !m->inst)
			continue;
		from = t->inst_key[m->inst].row;
		if (t->rows[from].o.kind != MOCA_OBJECT_ANONYMOUS)
			continue;
		row = moca_objects_allocator_row(o, t->rows[from].o.program);
		if (row < 0)
			return (int)row;
		t->rows[from].alias = (uint32_t)row + 1;
	}
	return 0;
}

/* Heaps whose objects are known: what is left is the allocator's own. */
static int name_allocators(struct moca_objects *o)
{
	const char *name = moca_strings_intern(&o->table.strings,
					       MOCA_NAME_ALLOCATOR);
	const char *heap = moca_strings_intern(&o->table.strings,
					       MOCA_NAME_HEAP);
	const char *thinned = moca_strings_intern(&o->table.strings,
						  MOCA_NAME_THINNED);
	struct moca_object *r;
	int64_t row;
	size_t i;

	if (!name || !heap || !thinned)
		return -ENOMEM;
	for (i = 0; i < o->binding_count; i++) {
		row = moca_objects_allocator_row(o, o->bindings[i].program);
		if (row < 0)
			return (int)row;
		r = &o->table.rows[row].o;
		r->named = 1;
	}
	for (i = 0; i < o->table.row_count; i++) {
		r = &o->table.rows[i].o;
		if (r->name != heap || r->kind != MOCA_OBJECT_ALLOCATOR)
			continue;
		if (r->sampled) {	/* they may be objects as well */
			r->named = 0;
			r->name = thinned;
		} else if (r->named) {
			r->name = name;
		}
	}
	return 0;
}

static void sum_totals(struct moca_objects *o)
{
	struct moca_objects_totals *s = &o->totals;
	const struct moca_object *r;
	size_t i;

	for (i = 0; i < o->row_count; i++) {
		r = &o->rows[i];
		if (r->kind == MOCA_OBJECT_MOCA) {
			s->own += r->accesses;
			s->own_loads += r->loads;
			s->own_stores += r->stores;
			continue;
		}
		s->accesses += r->accesses;
		s->loads += r->loads;
		s->stores += r->stores;
		s->reads += r->reads;
		s->writes += r->writes;
		if (r->named)
			s->named += r->accesses;
	}
}

/* Modules that were written after the recording began, or are gone. */
static void count_changed(struct moca_objects *o)
{
	const char *start = moca_trace_meta(o->trace, "start_time");
	uint64_t began = start ? strtoull(start, NULL, 10) : 0;
	size_t i;

	for (i = 0; i < o->module_count; i++)
		o->totals.changed_files +=
			moca_module_error(o->modules[i]) ||
			(began && moca_module_mtime(o->modules[i]) > began);
}

static void count_lost(struct moca_objects *o)
{
	size_t i, n = moca_trace_task_count(o->trace);

	for (i = 0; o->alloc_used && i < n; i++)
		o->totals.lost += moca_trace_task(o->trace, i)->events_lost;
}

/* A row that is shown: aliases and what was never there are not. */
static int is_shown(const struct moca_row *r)
{
	return !r->alias &&
	       (r->o.first_task != MOCA_NO_TASK || r->o.accesses ||
		r->touched || r->o.instances || r->o.loads || r->o.stores);
}

static int make_rows(struct moca_objects *o)
{
	struct moca_table *t = &o->table;
	struct moca_row *r;
	size_t i;

	o->rows = calloc(t->row_count + 1, sizeof(*o->rows));
	if (!o->rows)
		return -ENOMEM;
	for (i = 0; i < t->row_count; i++) {
		r = &t->rows[i];
		if (!is_shown(r))
			continue;
		r->o.id = (uint32_t)o->row_count;
		if (r->site)
			r->o.alloc = &o->sites[r->site - 1].site;
		o->rows[o->row_count++] = r->o;
	}
	return 0;
}

static int make_touchers(struct moca_objects *o)
{
	struct moca_table *t = &o->table;
	const struct moca_touch *x;
	struct moca_toucher *p = NULL;
	uint32_t jit = 0;
	size_t i;

	o->touchers = calloc(t->touch_count + 1, sizeof(*o->touchers));
	if (!o->touchers)
		return -ENOMEM;
	for (i = 0; i < t->touch_count; i++) {
		x = &t->touches[i];
		if (!moca_table_wants(t, t->rows[x->row - 1].o.name))
			continue;
		if (!p || p->object != t->rows[x->row - 1].o.id ||
		    p->task != x->task || p->module != x->module ||
		    p->vaddr != x->vaddr || jit != x->jit) {
			jit = x->jit;
			p = &o->touchers[o->toucher_count++];
			p->object = t->rows[x->row - 1].o.id;
			p->task = x->task;
			p->module = x->module;
			p->vaddr = x->vaddr;
			if (!x->module && x->jit)
				p->code = jit_name(t->jits, x->jit);
		}
		p->reads += x->reads;
		p->writes += x->writes;
		p->accesses += x->accesses;
	}
	return 0;
}

static void make_details(struct moca_objects *o)
{
	struct moca_table *t = &o->table;
	struct moca_row *r;
	size_t i;

	/* In place: the table's arrays become the result's. */
	o->ranges = t->ranges;
	t->ranges = NULL;
	for (i = 0; i < t->range_count; i++) {
		r = &t->rows[o->ranges[i].object];
		if (!moca_table_wants(t, r->o.name))
			continue;
		o->ranges[o->range_count] = o->ranges[i];
		o->ranges[o->range_count++].object = r->o.id;
	}
	if (!o->opt.instances)
		return;
	o->instances = t->inst;
	t->inst = NULL;
	for (i = 1; i < t->inst_count; i++) {
		r = &t->rows[o->instances[i].object];
		if (!moca_table_wants(t, r->o.name) || r->o.kind == MOCA_OBJECT_SMALL ||
		    !o->instances[i].size)
			continue;
		o->instances[o->instance_count] = o->instances[i];
		o->instances[o->instance_count++].object = r->o.id;
	}
}

/* The sites have their place now. */
static int make_heap_stacks(struct moca_objects *o)
{
	size_t n = o->heap ? moca_heap_finish(o->heap) : 0;
	struct moca_heap_stack *s;

	if (!n)
		return 0;
	o->heap_stacks = s = calloc(n, sizeof(*s));
	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++, s++) {
		const struct binding *b =
			&o->bindings[moca_heap_sums(o->heap, i, s)];
		const struct site *site = &o->sites[b->site];

		s->frames = site->frames;
		s->count = site->count;
		s->cut = site->count >= MOCA_ALLOC_FRAMES;
	}
	o->heap_stack_count = n;
	return 0;
}

static int compare_left(const void *a, const void *b)
{
	const struct left *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

uint64_t moca_objects_end_of(const struct moca_objects *o,
			     const struct moca_instance *i)
{
	const struct left key = { .pid = i->pid, .time_ns = i->begin_ns };
	size_t low = 0, high = o->left_count, mid;

	while (!i->end_ns && low < high) {
		mid = low + (high - low) / 2;
		if (compare_left(&o->left[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return i->end_ns || low == o->left_count || o->left[low].pid != i->pid ?
		       i->end_ns : o->left[low].time_ns;
}

static int finish(struct moca_objects *o)
{
	int err;

	/* This counts the processes, too. */
	moca_objects_free_spaces(o);
	/* All its maps are gone; what follows takes memory for a short time. */
	moca_addrpool_free(&o->pool);
	moca_addrpool_free(&o->era_pool);
	err = alias_maps(o);
	if (!err)
		err = name_allocators(o);
	if (!err)
		err = moca_table_finish(&o->table);
	if (!err)
		err = make_rows(o);
	if (!err)
		err = make_touchers(o);
	if (err)
		return err;
	if (o->left_count)
		qsort(o->left, o->left_count, sizeof(*o->left), compare_left);
	make_details(o);
	err = make_heap_stacks(o);
	if (err)
		return err;
	/* As large as all that was allocated, and nobody's from here on. */
	free(o->table.inst);
	free(o->table.inst_key);
	o->table.inst = NULL;
	o->table.inst_key = NULL;
	sum_totals(o);
	count_changed(o);
	count_lost(o);
	return 0;
}

/* --- the interface ------------------------------------------------------ */

static int set_up(struct moca_objects *o)
{
	size_t i, n = moca_trace_task_count(o->trace);
	const struct moca_task *t;
	char root[TRACE_ROOT_MAX];
	int err;

	o->table.opt = &o->opt;
	o->sampled = moca_trace_top_weight(o->trace) != 1;
	o->totals.exact_only = moca_objects_exact_only(o->trace);
	o->era_pool.limit = ERA_POOL;
	o->pool.limit = POOL_MIN + n * POOL_PER_TASK;
	for (i = 0; i < n; i++) {
		t = moca_trace_task(o->trace, i);
		if (t->events < SIZE_MAX / POOL_PER_RECORD / 4 &&
		    o->pool.limit < SIZE_MAX / 2)
			o->pool.limit += POOL_PER_RECORD * t->events;
		o->table.expected = moca_add_sat(o->table.expected, t->events);
	}
	o->tasks = calloc(n + 1, sizeof(*o->tasks));
	if (!o->tasks)
		return -ENOMEM;
	err = moca_symbols_open(&o->symbols);
	if (!err && o->opt.heap_stacks) {
		o->table.heap = o->heap = moca_heap_new();
		err = o->heap ? 0 : -ENOMEM;
	}
	if (!err)
		err = moca_symbols_root(o->symbols, trace_root(o->trace, root));
	/* Index 0 of each is none. */
	if (!err)
		err = moca_vec_fit(o->maps, o->map_cap, 1);
	if (!err)
		err = moca_vec_fit(o->roles, o->role_cap, 1);
	if (err)
		return err;
	o->pids = calloc(n ? (size_t)moca_trace_task(o->trace, n - 1)->id + 1 : 1,
			 sizeof(*o->pids));
	if (!o->pids)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		t = moca_trace_task(o->trace, i);
		o->pids[t->id] = t->pid;
	}
	o->table.pids = o->pids;
	if (moca_trace_jits(o->trace)->count)
		o->table.jits = moca_trace_jits(o->trace);
	err = moca_objects_shared_init(o);
	if (err)
		return err;
	o->maps[0] = (struct map){ 0 };
	o->roles[0] = (struct role){ 0 };
	o->map_count = o->role_count = 1;
	err = moca_objects_find_threads(o);
	return err ? err : moca_objects_alloc_types(o);
}

static int run(struct moca_objects *o)
{
	const struct moca_objects_options *opt = &o->opt;
	struct moca_query q = {
		.size = sizeof(q),
		.begin_ns = opt->begin_ns,
		.end_ns = opt->end_ns,
		.task = opt->task,
		.one_task = opt->one_task != 0,
	};
	struct moca_timeline *tl;
	struct batch *b;
	int err;

	/* No access is so late. */
	if (opt->events_only) {
		q.begin_ns = UINT64_MAX - 1;
		q.end_ns = UINT64_MAX;
	}
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->o = o;
	b->keys = opt->keys_only && moca_objects_unordered(o);
	err = moca_timeline_open(&tl, o->trace, &q);
	if (!err) {
		err = walk(o, tl, b);
		moca_timeline_close(tl);
	}
	free(b);
	return err;
}

int moca_objects_compute(struct moca_objects **out, struct moca_trace *t,
			 const struct moca_objects_options *options)
{
	struct moca_objects *o = calloc(1, sizeof(*o));
	int err;

	if (!o)
		return -ENOMEM;
	if (options)
		memcpy(&o->opt, options, options->size < sizeof(o->opt) ?
						 options->size :
						 sizeof(o->opt));
	o->trace = t;
	err = set_up(o);
	if (!err)
		err = run(o);
	if (!err)
		err = finish(o);
	if (err) {
		moca_objects_free(o);
		return err;
	}
	*out = o;
	return 0;
}

void moca_objects_free(struct moca_objects *o)
{
	size_t i;

	if (!o)
		return;
	moca_objects_free_pending(o);
	moca_objects_free_counts(o);
	moca_objects_free_spaces(o);
	moca_addrpool_free(&o->pool);
	moca_addrpool_free(&o->era_pool);
	moca_table_free(&o->table);
	for (i = 0; i < o->site_count; i++)
		free(o->sites[i].frames);
	free(o->sites);
	moca_index_free(&o->site_index);
	free(o->bindings);
	moca_index_free(&o->binding_index);
	free(o->maps);
	free(o->roles);
	free(o->threads);
	free(o->execs);
	free(o->tasks);
	free(o->modules);
	moca_objects_shared_free(o);
	free(o->pids);
	free(o->rows);
	free(o->instances);
	free(o->touchers);
	free(o->ranges);
	moca_heap_free(o->heap);
	free(o->left);
	free(o->heap_stacks);
	moca_symbols_close(o->symbols);
	free(o);
}

const struct moca_object *moca_objects_rows(const struct moca_objects *o,
					    size_t *count)
{
	*count = o->row_count;
	return o->rows;
}

const struct moca_object *moca_objects_row_of(const struct moca_objects *o,
					      uint32_t key)
{
	const struct moca_row *r = &o->table.rows[key];

	while (r->alias)
		r = &o->table.rows[r->alias - 1];
	return &o->rows[r->o.id];
}

size_t moca_objects_key_count(const struct moca_objects *o)
{
	return o->table.row_count;
}

const struct moca_instance *moca_objects_instances(const struct moca_objects *o,
						   size_t *count)
{
	*count = o->instance_count;
	return o->instances;
}

const struct moca_toucher *moca_objects_touchers(const struct moca_objects *o,
						 size_t *count)
{
	*count = o->toucher_count;
	return o->touchers;
}

const struct moca_range *moca_objects_ranges(const struct moca_objects *o,
					     size_t *count)
{
	*count = o->range_count;
	return o->ranges;
}

const struct moca_heap_stack *
moca_objects_heap_stacks(const struct moca_objects *o, size_t *count)
{
	*count = o->heap_stack_count;
	return o->heap_stacks;
}

void moca_objects_heap_totals(const struct moca_objects *o,
			      struct moca_heap_totals *out)
{
	*out = (struct moca_heap_totals){ 0 };
	if (o->heap)
		moca_heap_totals(o->heap, out);
}

const char *const *moca_objects_unseen(const struct moca_objects *o,
				       size_t *count)
{
	*count = o->unseen_count;
	return o->unseen;
}

struct moca_symbols *moca_objects_symbols(struct moca_objects *o)
{
	return o->symbols;
}

void moca_objects_totals(const struct moca_objects *o,
			 struct moca_objects_totals *out)
{
	*out = o->totals;
}
