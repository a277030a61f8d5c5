// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/series.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/observers.h"
#include "analysis/trace.h"
#include "lib/base/bytes.h"
#include "lib/base/table.h"

/* While they are summed up: by key of the walk instead of row. */
struct slot {
	struct moca_series_cell cell;
	uint64_t used;		/* all zeros is none */
};

static uint64_t hash_slot(const struct slot *s)
{
	return moca_mix(moca_mix((uint64_t)s->cell.who << 32 | s->cell.row) +
			s->cell.window);
}

static int same_slot(const struct slot *a, const struct slot *b)
{
	return a->cell.who == b->cell.who && a->cell.row == b->cell.row &&
	       a->cell.window == b->cell.window;
}

static int used_slot(const struct slot *s)
{
	return s->used != 0;
}

MOCA_TABLE(slots, struct slot, hash_slot, same_slot, used_slot);

/*
 * Sums of the latest window, before they go to slots: those are far apart in memory.
 * Which of two that have one place is here changes with each access to the other.
 */
struct recent {
	uint32_t who, key;	/* key + 1; 0: free */
	int64_t sums[MOCA_SERIES_SUMS];
};
#define RECENT_BITS 12

struct sums {
	uint64_t origin, window_ns;
	size_t most;		/* cells */
	int fixed;		/* the length of windows was asked for */
	struct slot *slots;
	size_t cap, count;
	uint64_t begin_ns, end_ns;	/* of the latest window, since the origin */
	struct recent *recent;
	uint16_t places[1u << RECENT_BITS];	/* those of recent in use */
	size_t place_count;
	int error;
};

static void add_sums(struct moca_series_cell *to, const int64_t *sums)
{
	for (int i = 0; i < MOCA_SERIES_SUMS; i++)
		to->sums[i] += sums[i];
}

/* The slot of that cell, made if there is none. NULL: no memory. */
static struct slot *slot_of(struct sums *s, const struct moca_series_cell *cell)
{
	const struct slot key = { .cell = *cell, .used = 1 };
	struct slot *at;

	if (slots_fit(&s->slots, &s->cap, s->count))
		return NULL;
	at = slots_at(s->slots, s->cap, &key);
	if (!at->used) {
		*at = key;
		memset(at->cell.sums, 0, sizeof(at->cell.sums));
		s->count++;
	}
	return at;
}

/* Two windows become one. */
static int halve(struct sums *s)
{
	struct slot *old = s->slots, *at;
	size_t i, cap = s->cap;

	if (s->window_ns > UINT64_MAX / 2)
		return -E2BIG;
	s->window_ns *= 2;
	s->slots = NULL;
	s->cap = s->count = 0;
	for (i = 0; i < cap; i++) {
		struct moca_series_cell cell = old[i].cell;

		if (!old[i].used)
			continue;
		cell.window /= 2;
		at = slot_of(s, &cell);
		if (!at)
			break;
		add_sums(&at->cell, cell.sums);
	}
	free(old);
	return i < cap ? -ENOMEM : 0;
}

static int shrink(struct sums *s, uint64_t since)
{
	size_t before;
	int err = 0;

	if (s->fixed)
		return s->count > 4 * s->most ? -E2BIG : 0;
	while (!err && since / s->window_ns >= MOCA_SERIES_WINDOWS)
		err = halve(s);
	/* As long as it helps: there may be more objects than that. */
	do {
		before = s->count;
		if (!err && s->count > s->most &&
		    s->window_ns < UINT64_MAX / 2)
			err = halve(s);
	} while (!err && s->count > s->most &&
		 s->count < before - before / 16);
	return err;
}

/* The slot of that time. NULL: s->error says why. */
static struct slot *slot_since(struct sums *s, uint32_t who, uint32_t key,
			       uint64_t since)
{
	struct moca_series_cell cell = { .who = who, .row = key };
	struct slot *at;

	if (!s->error)
		s->error = shrink(s, since);
	if (s->error)
		return NULL;
	cell.window = since / s->window_ns;
	at = slot_of(s, &cell);
	if (!at)
		s->error = -ENOMEM;
	return at;
}

/* It goes to its slot, and its place is free. */
static void settle(struct sums *s, struct recent *r)
{
	struct slot *at = slot_since(s, r->who, r->key - 1, s->begin_ns);

	if (at)
		add_sums(&at->cell, r->sums);
	*r = (struct recent){ 0 };
}

static void settle_all(struct sums *s)
{
	while (s->place_count)
		settle(s, &s->recent[s->places[--s->place_count]]);
}

/* The window of that time is the latest from now on. */
static void go_on(struct sums *s, uint64_t since)
{
	settle_all(s);
	if (!s->error)
		s->error = shrink(s, since);
	s->begin_ns = since / s->window_ns * s->window_ns;
	s->end_ns = moca_add_sat(s->begin_ns, s->window_ns);
}

/* The sums to add to, before the next call. NULL: s->error says why. */
static int64_t *sums_of(struct sums *s, uint32_t who, uint32_t key,
			uint64_t time_ns)
{
	uint64_t since = time_ns > s->origin ? time_ns - s->origin : 0;
	uint32_t place = (key * 0x9e3779b1u ^ who * 0x85ebca6bu) >>
			 (32 - RECENT_BITS);
	struct recent *r = &s->recent[place];
	struct slot *at;

	if (since >= s->end_ns)
		go_on(s, since);
	if (since < s->begin_ns || since == UINT64_MAX) {
		at = slot_since(s, who, key, since);
		return at ? at->cell.sums : NULL;
	}
	if (r->key == key + 1 && r->who == who)
		return r->sums;
	if (r->key)
		settle(s, r);
	else
		s->places[s->place_count++] = (uint16_t)place;
	r->who = who;
	r->key = key + 1;
	return s->error ? NULL : r->sums;
}

/* --- the walk ----------------------------------------------------------- */

struct walk {
	const struct moca_series_options *o;
	struct moca_trace *t;
	struct moca_profile_walk *phases;	/* which is told of accesses, too */
	struct sums accesses, allocations;
};

static int is_in(const struct moca_query *r, uint64_t addr)
{
	return addr >= r->addr_begin && (!r->addr_end || addr < r->addr_end);
}

static void add_access(void *arg, const struct moca_settled *x)
{
	const struct moca_access *a = x->access;
	struct walk *w = arg;
	int64_t *sums;

	if (!is_in(&w->o->range, a->addr))
		return;
	if (w->phases)
		moca_profile_use(w->phases, x);
	sums = sums_of(&w->accesses, x->task, x->key, a->time_ns);
	if (!sums)
		return;
	sums[MOCA_SERIES_RECORDS]++;
	if (a->type == MOCA_ACCESS_WRITE)
		sums[MOCA_SERIES_WRITES] += a->weight;
	else if (a->type != MOCA_ACCESS_UNKNOWN)
		sums[MOCA_SERIES_READS] += a->weight;
}

static void add_counts(void *arg, const struct moca_counted *x)
{
	struct walk *w = arg;
	int64_t *sums;

	if (!is_in(&w->o->range, x->addr))
		return;
	sums = sums_of(&w->accesses, x->task, x->key, x->begin_ns);
	if (!sums)
		return;
	sums[MOCA_SERIES_LOADS] += (int64_t)x->loads;
	sums[MOCA_SERIES_STORES] += (int64_t)x->stores;
}

static int is_wanted(const struct moca_series_options *o, const char *name)
{
	return !o->object || !fnmatch(o->object, name, 0);
}

/* Instances are of objects that are told one by one. */
static void add_instances(struct walk *w, const struct moca_objects *objects)
{
	const struct moca_query *r = &w->o->range;
	const struct moca_object *rows;
	const struct moca_instance *x;
	size_t n, i, row_count;
	int64_t *sums;

	rows = moca_objects_rows(objects, &row_count);
	x = moca_objects_instances(objects, &n);
	for (i = 0; i < n && !w->allocations.error; i++, x++) {
		if (rows[x->object].kind != MOCA_OBJECT_HEAP ||
		    !is_wanted(w->o, rows[x->object].name) ||
		    !is_in(r, x->addr) || (r->end_ns && x->begin_ns >= r->end_ns) ||
		    (x->end_ns && x->end_ns <= r->begin_ns))
			continue;
		sums = sums_of(&w->allocations, x->pid, x->object,
			       x->begin_ns < r->begin_ns ? r->begin_ns :
							   x->begin_ns);
		if (sums)
			sums[0] += (int64_t)x->size;
		if (!x->end_ns || (r->end_ns && x->end_ns >= r->end_ns))
			continue;
		sums = sums_of(&w->allocations, x->pid, x->object, x->end_ns);
		if (sums)
			sums[0] -= (int64_t)x->size;
	}
}

static int by_place(const void *a, const void *b)
{
	const struct moca_series_cell *x = a, *y = b;

	if (x->who != y->who)
		return x->who < y->who ? -1 : 1;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->window < y->window ? -1 : x->window > y->window;
}

/* In place of the slots, their cells: by row, if keys are told. */
static int take_cells(struct moca_series_table *out, struct sums *s,
		      const struct walk *w, const struct moca_objects *keys)
{
	struct moca_series_cell *c;
	size_t i, n = 0;

	_Static_assert(sizeof(*c) <= sizeof(*s->slots), "goes in place");
	settle_all(s);
	c = (void *)s->slots;
	out->window_ns = s->window_ns;
	if (s->error)
		return s->error;
	for (i = 0; i < s->cap; i++) {
		struct moca_series_cell cell = s->slots[i].cell;

		if (!s->slots[i].used)
			continue;
		if (keys) {
			const struct moca_object *o =
				moca_objects_row_of(keys, cell.row);

			if (!is_wanted(w->o, o->name))
				continue;
			cell.row = o->id;
		}
		memmove(&c[n++], &cell, sizeof(cell));
	}
	if (n)
		qsort(c, n, sizeof(*c), by_place);
	for (i = 0; i < n; i++) {
		if (out->count && !by_place(&c[out->count - 1], &c[i]))
			add_sums(&c[out->count - 1], c[i].sums);
		else
			c[out->count++] = c[i];
	}
	out->cells = c;
	s->slots = NULL;
	return 0;
}

/* The whole profile, which has a CPU of its own. 0 or -errno. */
static int begin_profile(struct moca_profile_walk **p,
			 struct moca_observers **others, const struct walk *w,
			 struct moca_objects_options *opt)
{
	int err;

	*others = moca_observers_new();
	err = *others ? moca_profile_begin(p, w->t, NULL) : -ENOMEM;
	if (!err)
		err = moca_observers_add(*others, moca_profile_take, *p);
	opt->keys_only = 0;
	opt->observe = moca_observers_put;
	opt->observe_arg = *others;
	return err;
}

/*
 * The trace once, for the sums and, if it is wanted, for phases; of what was sampled
 * these need the whole profile.
 */
static int walk_trace(struct moca_series *s, struct walk *w)
{
	struct moca_objects_options opt = {
		.size = sizeof(opt), .begin_ns = w->o->range.begin_ns,
		.end_ns = w->o->range.end_ns, .task = w->o->range.task,
		.one_task = (int)w->o->range.one_task, .instances = 1,
		.keys_only = 1,
		.settled = add_access, .settled_arg = w,
		.counted = add_counts, .counted_arg = w,
	};
	struct moca_observers *others = NULL;
	struct moca_profile_walk *p = NULL;
	int err = 0;

	/* Of a trace of counts alone the profile is another walk's. */
	if (w->o->profile && !moca_objects_exact_only(w->t)) {
		err = moca_profile_begin_phases(&p, w->t);
		if (err == -ENOTSUP)
			err = begin_profile(&p, &others, w, &opt);
		else
			w->phases = p;
	}
	if (!err)
		err = moca_objects_compute(&s->objects, w->t, &opt);
	moca_observers_end(others);
	if (!p)
		return err;
	if (err) {
		moca_profile_end(&s->profile, p, NULL);
		return err;
	}
	/* The objects are the profile's from here on, if it is one. */
	return moca_profile_end(&s->profile, p, s->objects);
}

static int begin_sums(struct sums *s, const struct walk *w, uint64_t origin)
{
	*s = (struct sums){
		.origin = origin,
		.most = w->o->cells ? w->o->cells : MOCA_SERIES_CELLS,
		.fixed = w->o->window_ns != 0,
		.window_ns = w->o->window_ns ? w->o->window_ns :
					       MOCA_SERIES_WINDOW,
		.recent = calloc(1u << RECENT_BITS, sizeof(*s->recent)),
	};
	return s->recent ? 0 : -ENOMEM;
}

static void end_sums(struct sums *s)
{
	free(s->slots);
	free(s->recent);
}

int moca_series_compute(struct moca_series **out, struct moca_trace *t,
			const struct moca_series_options *o)
{
	struct moca_series *s = calloc(1, sizeof(*s));
	struct walk w = { .o = o, .t = t };
	int err;

	if (!s)
		return -ENOMEM;
	s->origin = trace_origin(t);
	err = begin_sums(&w.accesses, &w, s->origin);
	if (!err)
		err = begin_sums(&w.allocations, &w, s->origin);
	if (!err)
		err = walk_trace(s, &w);
	if (!err)
		add_instances(&w, s->objects);
	if (!err)
		err = take_cells(&s->accesses, &w.accesses, &w, s->objects);
	if (!err)
		err = take_cells(&s->allocations, &w.allocations, &w, NULL);
	end_sums(&w.accesses);
	end_sums(&w.allocations);
	if (err)
		moca_series_free(s);
	else
		*out = s;
	return err;
}

void moca_series_free(struct moca_series *s)
{
	if (!s)
		return;
	free(s->accesses.cells);
	free(s->allocations.cells);
	if (s->profile)
		moca_profile_free(s->profile);
	else
		moca_objects_free(s->objects);
	free(s);
}
