// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/counts/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/info/info.h"
#include "analysis/profile/passes.h"
#include "analysis/trace.h"

/* All cells of one group of pages of an object: who uses it, who came first. */
struct group {
	const struct moca_counts_cell *c;
	size_t count;
	const struct moca_counts_cell *first;	/* by time; NULL = unknown */
	unsigned home;				/* its node */
	uint64_t all, on_home;			/* accesses */
};

static unsigned node_of(const struct moca_profile *p, uint32_t task)
{
	return moca_profile_node(p, p->lane_of[task]);
}

/* The group that begins at c[0]; n cells are left. */
static void take_group(const struct moca_profile *p, struct group *g,
		       const struct moca_counts_cell *c, size_t n)
{
	size_t i;

	*g = (struct group){ .c = c };
	for (i = 0; i < n && c[i].space == c->space && c[i].group == c->group;
	     i++) {
		g->all += c[i].loads + c[i].stores;
		if (c[i].first_ns &&
		    (!g->first || c[i].first_ns < g->first->first_ns))
			g->first = &c[i];
	}
	g->count = i;
	/* Touched by one and then, in a new life, by another: the first it is. */
	g->home = node_of(p, (g->first ? g->first : c)->task);
	for (i = 0; i < g->count; i++)
		if (node_of(p, c[i].task) == g->home)
			g->on_home += c[i].loads + c[i].stores;
}

static void count_group(struct moca_profile *p, struct moca_profile_object *o,
			const struct group *g)
{
	uint64_t on[MOCA_TOPOLOGY_NODES] = { 0 }, best = 0, n, pages;
	const struct moca_counts_cell *first = g->first ? g->first : g->c;
	unsigned lane, i;
	size_t k;

	/* A group stands for pages of which not all need have been touched. */
	pages = 1;
	for (k = 0; k < g->count; k++) {
		n = g->c[k].loads + g->c[k].stores;
		lane = p->lane_of[g->c[k].task];
		on[moca_profile_node(p, lane)] += n;
		o->use[lane] += n;
		o->written[lane] += g->c[k].stores;
		o->reads += g->c[k].loads;
		o->writes += g->c[k].stores;
		if (g->count > 1 && g->c[k].task != first->task) {
			o->late_writes += g->c[k].stores;
			o->late_pages += k == (first == g->c);
		}
	}
	for (i = 0; i < p->topology.nodes; i++)
		if (on[i] > best)
			best = on[i];
	i = (unsigned)((g->c->group << p->counts->page_shift) %
		       p->topology.nodes);
	o->remote[MOCA_POLICY_FIRST_TOUCH] += g->all - g->on_home;
	o->remote[MOCA_POLICY_INTERLEAVE] += g->all - on[i];
	o->remote[MOCA_POLICY_PARALLEL_INIT] += g->all - best;
	o->accesses += g->all;
	o->pages += pages;
	o->first[p->lane_of[first->task]]++;
	o->homes[g->home]++;
	o->served[g->home] += g->all;
	if (g->count == 1) {
		o->private_pages += pages;
	} else {
		o->shared_pages += pages;
		o->shared_accesses += g->all;
	}
}

static unsigned patterns_of(const struct moca_profile *p,
			    const struct moca_profile_object *o)
{
	unsigned m = 0, lane, users = 0, one = 0;

	for (lane = 0; lane < p->lanes; lane++) {
		users += (unsigned)moca_profile_uses(p, o, lane);
		one |= 10 * o->first[lane] >= 9 * o->pages;
	}
	if (10 * o->private_pages >= 9 * o->pages)
		m |= MOCA_PATTERN_PRIVATE;
	else if (2 * o->shared_pages >= o->pages)
		m |= MOCA_PATTERN_SHARED;
	if (20 * o->writes <= o->accesses)
		m |= MOCA_PATTERN_READ_MOSTLY;
	if (users > 1 && o->pages >= 16 && one)
		m |= MOCA_PATTERN_MASTER_WORKER;
	return m;
}

static void fill_object(struct moca_profile *p, struct moca_profile_object *o)
{
	uint64_t on[MOCA_TOPOLOGY_NODES] = { 0 }, best = 0;
	const struct moca_counts_cell *c;
	struct group g;
	unsigned i;
	size_t n, at;

	c = moca_counts_of(p->counts, o->object->id, &n);
	for (at = 0; at < n; at += g.count) {
		take_group(p, &g, c + at, n - at);
		/* The object's own first touch has a name. */
		if (g.first && (!o->touch_ns || g.first->first_ns < o->touch_ns)) {
			o->touch_ns = g.first->first_ns;
			o->touch_task = g.first->task;
		}
		count_group(p, o, &g);
	}
	if (!o->pages)
		return;
	for (i = 0; i < p->lanes; i++)
		on[moca_profile_node(p, i)] += o->use[i];
	for (i = 0; i < p->topology.nodes; i++)
		if (on[i] > best)
			best = on[i];
	o->remote[MOCA_POLICY_BIND] = o->accesses - best;
	o->patterns = patterns_of(p, o);
}

static int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t moca_counts_early_remote(const struct moca_profile *p,
				  const struct moca_profile_object *o)
{
	const struct moca_counts_cell *c;
	uint64_t *times, then, sum = 0;
	struct group g;
	size_t n, at, count = 0, i;

	c = moca_counts_of(p->counts, o->object->id, &n);
	times = malloc((n + 1) * sizeof(*times));
	if (!times)
		return UINT64_MAX;
	for (at = 0; at < n; at += g.count) {
		take_group(p, &g, c + at, n - at);
		times[count++] = g.first ? g.first->first_ns : 0;
	}
	qsort(times, count, sizeof(*times), compare_times);
	then = count ? times[count - 1 - count / 10] : 0;
	free(times);
	for (at = 0; at < n; at += g.count) {
		take_group(p, &g, c + at, n - at);
		/* From when on a thread used a page is all that is known. */
		for (i = 0; i < g.count; i++)
			if (g.c[i].first_ns < then &&
			    node_of(p, g.c[i].task) != g.home)
				sum += g.c[i].loads + g.c[i].stores;
	}
	return sum;
}

/* Parts of the time are slices, or several of them; else there is but one. */
static void set_windows(struct moca_profile *p)
{
	const struct moca_counts_table *t = p->counts;
	uint64_t bins = (t->slices + t->joined - 1) / t->joined, step, bin;
	const struct moca_counts_series *s;
	size_t i;

	p->intervals = t->slices;
	p->begin_ns = t->begin_ns;
	if (!bins)
		bins = 1;
	step = (bins + MOCA_PROFILE_WINDOWS - 1) / MOCA_PROFILE_WINDOWS;
	p->windows = (unsigned)((bins + step - 1) / step);
	for (i = 0; i < p->windows; i++)
		p->seen_in[i] = (uint8_t)i;
	p->window_ns = (t->end_ns - t->begin_ns) / p->windows + 1;
	for (i = 0; i < t->task_cap && i < p->tasks; i++) {
		s = t->tasks[i];
		for (bin = 0; s && bin < bins; bin++)
			p->lane_activity[bin / step][p->lane_of[i]] +=
				s->loads[bin] + s->stores[bin];
	}
}

static int by_accesses(const void *a, const void *b)
{
	const struct moca_profile_object *x = a, *y = b;

	if (x->accesses != y->accesses)
		return x->accesses > y->accesses ? -1 : 1;
	return x->object->id < y->object->id ? -1 : 1;
}

/* A group of pages that an object uses, of a process or of a memory. */
struct used_group {
	uint64_t group;
	uint32_t owner;
	uint32_t other;		/* it is no data */
};

/* Of one group that of data comes first. */
static int by_place(const void *a, const void *b)
{
	const struct used_group *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->other > y->other) - (x->other < y->other);
}

/*
 * Groups that several objects use count once. Rows are by the objects' ids. Pages are
 * as many as moca info has, which asks not which mappings shared a row's counts.
 */
static int count_pages(struct moca_profile *p, struct moca_trace *trace)
{
	uint64_t all;
	const struct moca_counts_table *t = p->counts;
	struct used_group *u = malloc((t->cell_count + 1) * sizeof(*u));
	const struct moca_counts_cell *c;
	size_t i, n = 0, tasks;
	uint32_t *pids = trace_pids(t->trace, &tasks);
	int err = u && pids ? 0 : -ENOMEM;

	if (err)
		goto out;
	for (i = 0; i < t->cell_count; i++) {
		c = &t->cells[i];
		u[n++] = (struct used_group){
			c->group,
			c->space & MOCA_SPACE_SHARED ? c->space :
			c->task < tasks ? pids[c->task] : 0,
			!p->rows[c->object].data };
	}
	qsort(u, n, sizeof(*u), by_place);
	for (i = 0; i < n; i++) {
		if (i && u[i].owner == u[i - 1].owner &&
		    u[i].group == u[i - 1].group)
			continue;
		p->data_pages += !u[i].other;
		p->other_pages += u[i].other;
	}
	if (!t->page_shift)
		err = moca_info_counted_pages(&all, trace);
	if (!t->page_shift && !err)
		p->other_pages = all > p->data_pages ? all - p->data_pages : 0;
out:
	free(u);
	free(pids);
	return err;
}

static int fill(struct moca_profile *p, struct moca_trace *t)
{
	const struct moca_object *objects;
	struct moca_profile_object *o;
	size_t i, k;
	int err;

	objects = moca_objects_rows(p->objects, &p->count);
	p->rows = calloc(p->count + 1, sizeof(*p->rows));
	if (!p->rows)
		return -ENOMEM;
	set_windows(p);
	for (i = 0; i < p->count; i++) {
		o = &p->rows[i];
		o->object = &objects[i];
		o->data = moca_profile_is_data(&objects[i]);
		o->touch_task = MOCA_NO_TASK;
		fill_object(p, o);
		moca_profile_count(p, o);
		if (!o->data)
			continue;
		p->accesses += o->accesses;
		p->pages += o->pages;
		o->watched_pages = o->pages;
		p->watched_pages += o->pages;
		for (k = 0; k < MOCA_POLICIES; k++)
			p->remote[k] += o->remote[k];
		for (k = 0; k < p->topology.nodes; k++)
			p->served[k] += o->served[k];
	}
	err = count_pages(p, t);
	qsort(p->rows, p->count, sizeof(*p->rows), by_accesses);
	return err;
}

int moca_counts_profile_of(struct moca_profile **out,
			   struct moca_trace *t,
			   const struct moca_topology *topology,
			   struct moca_objects *o,
			   struct moca_counts_table *counts)
{
	struct moca_profile *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->objects = o;
	p->counts = counts;
	p->writes_known = 1;
	if (topology)
		p->topology = *topology;
	else
		moca_topology_of(&p->topology, t);
	/* On which CPU something was counted is not known. */
	p->topology.what_if = 1;
	err = moca_profile_place(p, t);
	if (!err)
		err = fill(p, t);
	if (err) {
		/* Not ours unless it is a profile. */
		p->objects = NULL;
		p->counts = NULL;
		moca_profile_free(p);
		return err;
	}
	*out = p;
	return 0;
}

int moca_counts_profile(struct moca_profile **out, struct moca_trace *t,
			const struct moca_topology *topology)
{
	struct moca_objects_options opt = { .size = sizeof(opt) };
	struct moca_counts_table *counts = malloc(sizeof(*counts));
	struct moca_objects *o = NULL;
	int err;

	if (!counts)
		return -ENOMEM;
	moca_counts_init(counts, t);
	opt.counted = moca_counts_add;
	opt.counted_arg = counts;
	err = moca_objects_compute(&o, t, &opt);
	if (!err)
		err = moca_counts_finish(counts, o);
	if (!err)
		err = moca_counts_profile_of(out, t, topology, o, counts);
	if (!err)
		return 0;
	moca_objects_free(o);
	moca_counts_free(counts);
	free(counts);
	return err;
}
