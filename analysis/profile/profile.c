// SPDX-License-Identifier: GPL-2.0-or-later
/* The walk, and the passes over what it gathered. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/counts/profile.h"
#include "analysis/info/info.h"
#include "analysis/observers.h"
#include "analysis/profile/passes.h"
#include "analysis/trace.h"
#include "lib/base/vec.h"

#define WINDOWS_MIN 8
/* Rows with windows: a KiB each. */
#define ROWS_WITH_WINDOWS 20000
#define AHEAD 24		/* accesses */
/* What the number of intervals in (perhaps corrupt) metadata may reach. */
#define INTERVALS_MAX (1u << 22)

static const struct pass *const passes[] = {
	&moca_pass_working_set, &moca_pass_sharing, &moca_pass_first_touch,
	&moca_pass_distribution, &moca_pass_remote, &moca_pass_steps,
	&moca_pass_reuse, &moca_pass_temperature, &moca_pass_code,
	&moca_pass_patterns, /* by what the others found */
};
#define PASSES (sizeof(passes) / sizeof(*passes))

/* --- accesses ----------------------------------------------------------- */

static void row_free(struct row *r)
{
	if (!r)
		return;
	free(r->last_page);
	free(r->written);
	free(r->reads_in);
	free(r->writes_in);
	free(r->touches_in);
	free(r->remote_in);
	free(r->code);
	free(r->streams);
	free(r);
}

/* What phases need of a row. */
static struct row *row_windows(struct gather *g, struct row *r)
{
	if (g->with_windows == ROWS_WITH_WINDOWS)
		return r;
	g->with_windows++;
	r->reads_in = calloc(g->p->windows, sizeof(*r->reads_in));
	r->writes_in = calloc(g->p->windows, sizeof(*r->writes_in));
	if (r->reads_in && r->writes_in)
		return r;
	row_free(r);
	return NULL;
}

static struct row *row_new(struct gather *g)
{
	const struct moca_profile *p = g->p;
	struct row *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->touch_task = MOCA_NO_TASK;
	if (g->windows)
		return row_windows(g, r);
	r->last_page = calloc(p->lanes, sizeof(*r->last_page));
	r->written = calloc(p->lanes, sizeof(*r->written));
	if (!r->last_page || !r->written)
		goto err_free;
	if (g->with_windows == ROWS_WITH_WINDOWS)
		return r;
	g->with_windows++;
	r->reads_in = calloc(p->windows, sizeof(*r->reads_in));
	r->writes_in = calloc(p->windows, sizeof(*r->writes_in));
	r->touches_in = calloc(p->windows, sizeof(*r->touches_in));
	r->remote_in = calloc(p->windows, sizeof(*r->remote_in));
	if (r->reads_in && r->writes_in && r->touches_in && r->remote_in)
		return r;
err_free:
	row_free(r);
	return NULL;
}

struct row *row_at(struct gather *g, uint32_t key)
{
	if (moca_vec_fit_zeroed(g->rows, g->row_cap, (size_t)key + 1))
		return NULL;
	if (!g->rows[key])
		g->rows[key] = row_new(g);
	return g->rows[key];
}

unsigned window_of(struct gather *g, uint64_t time_ns)
{
	const struct moca_profile *p = g->p;
	uint64_t w;

	if (time_ns >= g->near_begin && time_ns < g->near_end)
		return g->near;
	w = time_ns > p->begin_ns ? (time_ns - p->begin_ns) / p->window_ns : 0;
	g->near = w < p->windows ? (unsigned)w : p->windows - 1;
	g->near_begin = p->begin_ns + g->near * p->window_ns;
	g->near_end = g->near_begin + p->window_ns;
	return g->near;
}

static unsigned lane_of(const struct gather *g, const struct moca_observed *x)
{
	const struct moca_profile *p = g->p;
	unsigned lane = p->lane_of[x->task], from = p->node_of_lane[lane];
	int node;

	if (p->topology.what_if)
		return lane;
	node = moca_topology_cpu_node(&p->topology, x->cpu);
	return lane + ((node < 0 ? 0 : (unsigned)node) - from) * g->node_lanes;
}

/* Pages count by lane in 16 bits: what matters is their proportion. */
static void count_use(const struct moca_profile *p, const struct seen *s)
{
	unsigned i, n = s->weight, unit = p->lengths->use_unit;
	struct page *page = s->page;

	if (unit > 1)
		n /= unit;
	if (n > UINT16_MAX / 2)
		n = UINT16_MAX / 2;
	else if (!n && s->weight)
		n = 1;
	if (page->use[s->lane] > UINT16_MAX - n)
		for (i = 0; i < p->lanes; i++)
			page->use[i] /= 2;
	page->use[s->lane] = (uint16_t)(page->use[s->lane] + n);
	if (page->accesses <= UINT32_MAX - s->weight)
		page->accesses += s->weight;
}

void note_interval(struct gather *g, uint64_t interval, unsigned window)
{
	struct moca_profile *p = g->p;

	if (interval < g->first_interval[window])
		g->first_interval[window] = interval;
	if (interval > p->last_interval[window])
		p->last_interval[window] = interval;
	if (window < p->windows / 2 && interval > p->half_interval)
		p->half_interval = interval;
	if (p->intervals <= interval)
		p->intervals = interval + 1;
}

static void take(struct gather *g, const struct moca_observed *x)
{
	struct seen s = { .x = x };
	size_t i;

	if (x->interval >= UINT32_MAX)
		return;
	s.row = row_at(g, x->key);
	if (!s.row) {
		g->err = -ENOMEM;
		return;
	}
	s.page = pages_get(&g->pages, x);
	if (!s.page) {
		g->p->left_out++;
		return;
	}
	s.length = lengths_weight(&g->lengths, x->interval);
	s.weight = s.length * x->weight;
	if (g->p->task_nodes)
		moves_take(g->p, x, s.weight);
	s.lane = lane_of(g, x);
	s.window = window_of(g, x->time_ns);
	s.is_first = s.is_placed = !(s.page->flags & PAGE_PRESENT);
	s.row->pages += (uint64_t)s.is_first;
	if (s.is_first && places_note(&g->places, x)) {
		g->err = -ENOMEM;
		return;
	}
	if (s.row->pages <= MOCA_LINES_PAGES)
		lines_take(g->lines, x, s.weight);
	if (x->anew && !s.is_first)
		s.is_placed = pages_begin(&g->pages, s.page, x, s.lane);
	if (s.is_placed < 0) {
		g->p->left_out++;
		return;
	}
	s.is_new = !(s.page->flags & PAGE_PRESENT);
	if (g->p->sampled)
		samples_take(g, &s);
	for (i = 0; i < PASSES; i++)
		if (passes[i]->access)
			passes[i]->access(g, &s);
	count_use(g->p, &s);
	/* Processes that share it may tell of an earlier one behind a later one. */
	if (s.is_new || x->interval > s.page->last_interval) {
		s.page->visits++;
		s.page->last_interval = (uint32_t)x->interval;
	}
	s.page->flags |= PAGE_PRESENT;
	s.page->users |= (uint8_t)(1u << s.lane % 8);
	s.page->last_lane = (uint8_t)s.lane;
	s.page->last_window = (uint8_t)s.window;
	note_interval(g, x->interval, s.window);
}

/* Pages are far apart in memory: what comes next is fetched ahead. */
static void prefetch(const struct gather *g, const struct moca_observed *x)
{
	const char *e;

	if (x->page >= g->pages.limit)
		return;
	e = (const char *)pages_at(&g->pages, x->page);
	__builtin_prefetch(e, 1);
	__builtin_prefetch(e + g->pages.entry - 1, 1);
}

/* Which stack accesses what, in a trace that has stacks. */
static int take_stack(struct gather *g, const struct moca_observed *x)
{
	struct moca_observed by_stack = *x;

	by_stack.ip = x->stack;
	return moca_uses_add(&g->p->stacks, &by_stack, 1);
}

void moca_profile_take(void *arg, const struct moca_observed *x, size_t count)
{
	struct moca_profile_walk *w = arg;
	struct gather *g = &w->g;
	size_t i;

	for (i = 0; i < count && i < AHEAD; i++)
		prefetch(g, &x[i]);
	for (i = 0; i < count && !g->err; i++) {
		if (i + AHEAD < count)
			prefetch(g, &x[i + AHEAD]);
		take(g, &x[i]);
		if (x[i].stack && !g->err)
			g->err = take_stack(g, &x[i]);
	}
}

/* --- the passes over pages ---------------------------------------------- */

static int compare_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->space != y->space)
		return x->space < y->space ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int same_place(const struct order *a, const struct order *b)
{
	return a->space == b->space && a->number == b->number;
}

/* How many pages there are; of each, one history stands for all of them. */
static size_t count_pages(const struct gather *g, const struct order *order,
			  size_t n)
{
	struct page *most = NULL, *page;
	size_t i, count = 0;

	for (i = 0; i < n; i++) {
		page = pages_at(&g->pages, order[i].page);
		if (!i || !same_place(&order[i], &order[i - 1])) {
			count++;
			most = page;
			continue;
		}
		page->flags |= PAGE_RECYCLED;
		most->flags |= PAGE_RECYCLED;
		if (page->accesses > most->accesses) {
			most->flags |= PAGE_OTHER;
			most = page;
		} else {
			page->flags |= PAGE_OTHER;
		}
	}
	return count;
}

static void pass_object(struct gather *g, struct moca_profile_object *o,
			const struct order *order, size_t n)
{
	size_t k, i, at;

	o->pages = count_pages(g, order, n);
	samples_watch(g, o, order, n);
	for (k = 0; k < PASSES; k++) {
		for (at = i = 0; passes[k]->page && i < n; i++) {
			at += i && !same_place(&order[i], &order[i - 1]);
			passes[k]->page(g->p, o,
					pages_at(&g->pages, order[i].page),
					order[i].number, at, o->pages);
		}
	}
}

/* The row that page i went to, or NULL: it has none (see take). */
static const struct moca_object *object_of(const struct gather *g, size_t i)
{
	i = pages_all(&g->pages, i);
	return pages_at(&g->pages, i)->flags & PAGE_PRESENT ?
	       moca_objects_row_of(g->p->objects, g->pages.ids[i].key) : NULL;
}

/*
 * The rows' pages are passed one row at a time, so that only its own are
 * sorted: pages of one row stand together after a counting sort.
 */
static int pass_pages(struct gather *g)
{
	struct moca_profile *p = g->p;
	size_t n = g->pages.count + g->pages.parked_count, i, k;
	size_t *from = calloc(p->count + 2, sizeof(*from));
	struct order *order = NULL;
	uint32_t *sorted = malloc((n + 1) * sizeof(*sorted));
	const struct moca_object *o;
	const struct page_id *id;
	size_t most = 0;
	int err = -ENOMEM;

	if (!from || !sorted)
		goto out;
	for (i = 0; i < n; i++) {
		o = object_of(g, i);
		if (o)
			from[o->id + 2]++;
	}
	for (i = 2; i <= p->count + 1; i++) {
		if (most < from[i])
			most = from[i];
		from[i] += from[i - 1];
	}
	for (i = 0; i < n; i++) {
		o = object_of(g, i);
		if (o)
			sorted[from[o->id + 1]++] =
				(uint32_t)pages_all(&g->pages, i);
	}
	order = malloc((most + 1) * sizeof(*order));
	if (!order)
		goto out;
	for (k = 0; k < p->count; k++) {
		for (i = from[k]; i < from[k + 1]; i++) {
			id = &g->pages.ids[sorted[i]];
			order[i - from[k]] = (struct order){
				.object = (uint32_t)k, .space = id->space,
				.page = sorted[i], .number = id->number,
			};
		}
		n = from[k + 1] - from[k];
		qsort(order, n, sizeof(*order), compare_order);
		if (n) {
			p->rows[k].parts = calloc(
				(size_t)MOCA_PROFILE_PARTS * p->lanes,
				sizeof(uint32_t));
			if (!p->rows[k].parts)
				goto out;
		}
		pass_object(g, &p->rows[k], order, n);
	}
	err = 0;
out:
	free(order);
	free(sorted);
	free(from);
	return err;
}

/* --- what was gathered by row ------------------------------------------- */

static void add_windows(uint32_t **to, uint32_t **from, unsigned windows)
{
	unsigned w;

	if (!*to) {
		*to = *from;
		*from = NULL;
		return;
	}
	for (w = 0; *from && w < windows; w++)
		(*to)[w] += (*from)[w];
}

static void add_row(struct moca_profile *p, struct moca_profile_object *o,
		    struct row *r)
{
	unsigned lane;

	for (lane = 0; r->written && lane < p->lanes; lane++)
		o->written[lane] += r->written[lane];
	o->sampled |= r->sampled;
	o->swept += r->swept;
	o->reads += r->reads;
	o->writes += r->writes;
	o->records += r->records;
	o->accesses += r->accesses;
	o->remote[MOCA_POLICY_FIRST_TOUCH] += r->remote;
	o->unknown += r->unknown;
	o->steps += r->steps;
	o->steps_next += r->steps_next;
	o->steps_near += r->steps_near;
	if (o->touch_task == MOCA_NO_TASK) {
		o->touch_ip = r->touch_ip;
		o->touch_ns = r->touch_ns;
		o->touch_task = r->touch_task;
	}
	add_windows(&o->reads_in, &r->reads_in, p->windows);
	add_windows(&o->writes_in, &r->writes_in, p->windows);
	add_windows(&o->touches_in, &r->touches_in, p->windows);
	add_windows(&o->remote_in, &r->remote_in, p->windows);
	code_add(p, o, r);
}

/* Is it the program's own data? */
int moca_profile_is_data(const struct moca_object *o)
{
	switch (o->kind) {
	case MOCA_OBJECT_CODE:
	case MOCA_OBJECT_FILE:
	case MOCA_OBJECT_KERNEL:
	case MOCA_OBJECT_MOCA:
		return 0;
	default:
		return 1;
	}
}

static int make_rows(struct gather *g)
{
	struct moca_profile *p = g->p;
	const struct moca_object *objects;
	size_t i;

	objects = moca_objects_rows(p->objects, &p->count);
	p->rows = calloc(p->count + 1, sizeof(*p->rows));
	if (!p->rows)
		return -ENOMEM;
	for (i = 0; i < p->count; i++) {
		p->rows[i].object = &objects[i];
		p->rows[i].data = moca_profile_is_data(&objects[i]);
		p->rows[i].touch_task = MOCA_NO_TASK;
	}
	for (i = 0; i < g->row_cap; i++)
		if (g->rows[i])
			add_row(p, &p->rows[moca_objects_row_of(
					p->objects, (uint32_t)i)->id],
				g->rows[i]);
	return 0;
}

void moca_profile_count(struct moca_profile *p,
			const struct moca_profile_object *o)
{
	if (o->data)
		p->unweighed += o->object->accesses;
	else
		p->other_accesses += o->object->accesses;
}

static void finish_object(struct moca_profile *p,
			  struct moca_profile_object *o)
{
	unsigned i;

	if (p->sampled)
		samples_extrapolate(o);
	for (i = 0; i < PASSES; i++)
		if (passes[i]->object)
			passes[i]->object(p, o);
	moca_profile_count(p, o);
	if (!o->data)
		return;
	p->records += o->records;
	p->accesses += o->accesses;
	p->unknown += o->unknown;
	p->variance += o->variance;
	p->pages += o->pages;
	p->watched_pages += o->watched_pages ? o->pages : 0;
	p->hot_pages += o->hot_pages;
	p->cold_pages += o->cold_pages;
	p->cold_accesses += o->cold_accesses;
	for (i = 0; i < MOCA_POLICIES; i++)
		p->remote[i] += o->remote[i];
	for (i = 0; i < p->topology.nodes; i++)
		p->served[i] += o->served[i];
}

static int by_accesses(const void *a, const void *b)
{
	const struct moca_profile_object *x = a, *y = b;

	if (x->accesses != y->accesses)
		return x->accesses > y->accesses ? -1 : 1;
	return x->object->id < y->object->id ? -1 : 1;
}

/*
 * Between the accesses of one interval and those of the next there was no
 * sweep: what is used in windows without any does not show. Where intervals
 * were there that have no accesses, nothing was used.
 */
static void find_seen(struct gather *g)
{
	struct moca_profile *p = g->p;
	unsigned w, from, last = p->windows;
	uint64_t next = g->intervals;

	for (w = 0; w < p->windows; w++)
		p->seen_in[w] = (uint8_t)w;
	for (w = p->windows; w-- > 0;) {
		if (g->first_interval[w] == UINT64_MAX)
			continue;
		for (from = w + 1; from < last; from++)
			if (next <= p->last_interval[w] + 1)
				p->seen_in[from] = (uint8_t)w;
		last = w;
		next = g->first_interval[w];
	}
}

static int finish(struct gather *g)
{
	struct moca_profile *p = g->p;
	uint64_t all;
	size_t i;
	int err = g->windows ? windows_end(g) : 0;

	if (!err)
		err = make_rows(g);
	/* As the recorder counts them: at the end some may have no accesses. */
	if (p->intervals && p->intervals < g->intervals &&
	    g->intervals < INTERVALS_MAX)
		p->intervals = g->intervals;
	temperature_times(g);
	if (!err && g->windows) {
		find_seen(g);
		for (i = 0; i < p->count; i++)
			lengths_scale(&g->lengths, p, &p->rows[i]);
		p->lengths = NULL;
		qsort(p->rows, p->count, sizeof(*p->rows), by_accesses);
		return 0;
	}
	if (!err)
		err = pass_pages(g);
	if (!err)
		err = owners_find(g);
	if (!err) {
		err = lines_end(&p->lines, g->lines, p->objects,
				g->lengths.unit);
		g->lines = NULL;
	}
	if (err)
		return err;
	if (p->sampled)
		samples_working_set(g);
	err = places_count(g);
	all = p->data_pages + p->other_pages;
	if (!err)
		err = moca_info_working_set(&p->used, g->trace);
	if (err)
		return err;
	for (i = 0; i < p->windows; i++)
		if (p->working_set[i] > all)
			p->working_set[i] = all;
	p->weighed = g->lengths.uses != NULL;
	find_seen(g);
	for (i = 0; i < p->count; i++) {
		lengths_scale(&g->lengths, p, &p->rows[i]);
		finish_object(p, &p->rows[i]);
	}
	p->lengths = NULL;
	qsort(p->rows, p->count, sizeof(*p->rows), by_accesses);
	return 0;
}

/* --- the interface ------------------------------------------------------ */

static uint64_t meta_ns(const struct moca_trace *t, const char *key)
{
	const char *s = moca_trace_meta(t, key);

	return s ? strtoull(s, NULL, 10) : 0;
}

/*
 * Windows no shorter than an interval is on average: within one, pages are
 * seen once. Some are longer than that: find_seen.
 */
static void set_windows(struct moca_profile *p, const struct moca_trace *t)
{
	uint64_t end = meta_ns(t, "end_ns"), begin = meta_ns(t, "start_ns");
	uint64_t last = 0, first = UINT64_MAX, chunks = 0;
	const struct moca_task *x;
	size_t i, n = moca_trace_task_count(t);

	for (i = 0; i < n; i++) {
		x = moca_trace_task(t, i);
		if (x->start_ns && x->start_ns < first)
			first = x->start_ns;
		if (x->end_ns > last)
			last = x->end_ns;
		if (x->chunks > chunks)
			chunks = x->chunks;
	}
	if (!begin)
		begin = first == UINT64_MAX ? 0 : first;
	if (!end)
		end = last;
	if (end <= begin)
		end = begin + 1000000000;
	p->windows = chunks < WINDOWS_MIN ? WINDOWS_MIN :
		     chunks > MOCA_PROFILE_WINDOWS ? MOCA_PROFILE_WINDOWS :
						     (unsigned)chunks;
	p->begin_ns = begin;
	p->window_ns = (end - begin) / p->windows + 1;
}

static void walk_free(struct moca_profile_walk *w)
{
	struct gather *g = &w->g;
	size_t i;

	for (i = 0; i < g->row_cap; i++)
		row_free(g->rows[i]);
	free(g->rows);
	free(g->places.pids);
	free(g->places.pid_of_space);
	free(g->sampled_in);
	free(g->sweeps);
	lines_free(g->lines);
	pages_free(&g->pages);
	windows_free(g->windows);
	lengths_free(&g->lengths);
	free(w);
}

static int begin(struct moca_profile_walk **out, struct moca_trace *t,
		 const struct moca_topology *topology, int phases_only)
{
	struct moca_profile_walk *w = calloc(1, sizeof(*w));
	struct moca_profile *p = calloc(1, sizeof(*p));
	int err = -ENOMEM, history;

	if (!w || !p)
		goto err_free;
	if (topology)
		p->topology = *topology;
	else
		moca_topology_of(&p->topology, t);
	w->g.p = p;
	w->g.trace = t;
	p->writes_known = moca_sharing_writes_known(t);
	set_windows(p, t);
	w->g.intervals = meta_ns(t, "intervals");
	memset(w->g.first_interval, 0xff, sizeof(w->g.first_interval));
	p->lengths = &w->g.lengths;
	err = samples_find(&w->g, t);
	if (!err && phases_only && p->sampled)
		err = -ENOTSUP;
	if (!err)
		err = lengths_find(&w->g.lengths, t, p, w->g.intervals);
	if (!err)
		err = moca_profile_place(p, t);
	if (!err)
		w->g.node_lanes = p->lanes / p->topology.nodes;
	history = p->sampled || w->g.lengths.uses;
	if (!err && phases_only) {
		w->g.windows = windows_begin(pages_limit(p->lanes, history));
		err = w->g.windows ? 0 : -ENOMEM;
	} else if (!err) {
		w->g.lines = lines_begin();
		w->g.places.pids = trace_pids(t, &w->g.places.task_count);
		err = w->g.lines && w->g.places.pids ? moves_begin(p) :
						       -ENOMEM;
		if (!err)
			err = pages_init(&w->g.pages, p->lanes, history);
	}
	if (err)
		goto err_free;
	*out = w;
	return 0;
err_free:
	if (w)
		walk_free(w);
	moca_profile_free(p);
	return err;
}

int moca_profile_begin(struct moca_profile_walk **out, struct moca_trace *t,
		       const struct moca_topology *topology)
{
	return begin(out, t, topology, 0);
}

int moca_profile_begin_phases(struct moca_profile_walk **out,
			      struct moca_trace *t)
{
	return begin(out, t, NULL, 1);
}

int moca_profile_end(struct moca_profile **out, struct moca_profile_walk *w,
		     struct moca_objects *o)
{
	struct moca_profile *p = w->g.p;
	int err = o ? w->g.err : -ECANCELED;

	p->objects = o;
	if (!err)
		err = finish(&w->g);
	walk_free(w);
	if (err) {
		/* Not ours unless it is a profile. */
		p->objects = NULL;
		moca_profile_free(p);
		return err;
	}
	*out = p;
	return 0;
}

int moca_profile_compute(struct moca_profile **out, struct moca_trace *t,
			 const struct moca_topology *topology)
{
	struct moca_objects_options opt = { .size = sizeof(opt) };
	struct moca_observers *observers;
	struct moca_objects *o = NULL;
	struct moca_profile_walk *w;
	int err, failed;

	if (moca_objects_exact_only(t))
		return moca_counts_profile(out, t, topology);
	observers = moca_observers_new();
	if (!observers)
		return -ENOMEM;
	err = moca_profile_begin(&w, t, topology);
	if (err) {
		moca_observers_end(observers);
		return err;
	}
	err = moca_observers_add(observers, moca_profile_take, w);
	if (!err) {
		opt.observe = moca_observers_put;
		opt.observe_arg = observers;
		err = moca_objects_compute(&o, t, &opt);
	}
	moca_observers_end(observers);
	failed = moca_profile_end(out, w, o);
	if (failed)
		moca_objects_free(o);
	return err ? err : failed;
}

void moca_profile_free(struct moca_profile *p)
{
	size_t i;

	if (!p)
		return;
	for (i = 0; p->rows && i < p->count; i++) {
		free(p->rows[i].parts);
		free(p->rows[i].reads_in);
		free(p->rows[i].writes_in);
		free(p->rows[i].touches_in);
		free(p->rows[i].remote_in);
		free(p->rows[i].code);
	}
	free(p->rows);
	free(p->lines.users);
	moca_uses_free(&p->stacks);
	free(p->lane_of);
	free(p->cpu_of);
	free(p->task_nodes);
	if (p->counts)
		moca_counts_free(p->counts);
	free(p->counts);
	moca_objects_free(p->objects);
	free(p);
}
