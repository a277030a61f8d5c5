// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/info/info.h"

#define THIN_MAX 10	/* include/abi/alloc-events.h */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/info/walk.h"
#include "analysis/intervals.h"
#include "analysis/trace.h"
#include "lib/base/vec.h"
#include "lib/format/trace.h"

/* What the numbers of intervals in a (perhaps corrupt) file may reach. */
#define INTERVALS_MAX (1u << 22)
#define GAPS_MAX 256
/* Records whose pages are held at once when intervals are counted. */
#define BATCH_RECORDS 500000
#define BATCH_INTERVALS 16384
/* Processes have lower numbers. */
#define SHARED_OWNER (1u << 31)

/* What is shared is of its memory, all else of its process and by name. */
struct member {
	const struct moca_mapping *m;
	uint32_t of;
};

static int by_group(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	if (x->of)
		return 0;
	if (x->m->pid != y->m->pid)
		return x->m->pid < y->m->pid ? -1 : 1;
	if ((x->m->flags ^ y->m->flags) & MOCA_MAP_MOCA)
		return x->m->flags & MOCA_MAP_MOCA ? 1 : -1;
	return strcmp(x->m->name, y->m->name);
}

static int add_group(struct moca_info *s, uint32_t pid, const char *name)
{
	struct moca_info_mapping *m;

	m = moca_vec_add(s->mappings, s->mapping_count, s->mapping_room);
	if (!m)
		return -ENOMEM;
	memset(m, 0, sizeof(*m));
	m->pid = pid;
	m->name = name;
	return 0;
}

static int add_member(struct walk *w, const struct member *x, int is_new)
{
	struct moca_info *s = w->s;
	struct moca_info_mapping *g;
	int err = is_new ? add_group(s, x->m->pid, x->m->name) : 0;

	if (err)
		return err;
	g = &s->mappings[s->mapping_count - 1];
	g->of = x->of;
	g->memory = x->m->memory;
	g->own = (x->m->flags & MOCA_MAP_MOCA) != 0;
	if (x->m->pid < g->pid)
		g->pid = x->m->pid;
	if (x->m->len > g->bytes)
		g->bytes = x->m->len;
	w->group_of[x->m - w->maps] = s->mapping_count - 1;
	return 0;
}

/* The memory of each mapping, and the groups. */
static int make_groups(struct walk *w)
{
	struct member *x;
	size_t i;
	int err = 0;

	w->group_of = calloc(w->map_count + 1, sizeof(*w->group_of));
	w->of = calloc(w->map_count + 1, sizeof(*w->of));
	x = calloc(w->map_count + 1, sizeof(*x));
	if (!w->group_of || !w->of || !x) {
		free(x);
		return -ENOMEM;
	}
	for (i = 0; i < w->map_count; i++) {
		const struct moca_mapping *m = &w->maps[i];

		if (!(m->flags & MOCA_MAP_MOCA))
			w->of[i] = moca_identities_find(&w->identities,
							m->memory, m->dev,
							m->ino, m->name);
		x[i].m = m;
		x[i].of = m->flags & MOCA_MAP_SHARED ? w->of[i] : 0;
	}
	qsort(x, w->map_count, sizeof(*x), by_group);
	for (i = 0; i < w->map_count && !err; i++)
		err = add_member(w, &x[i], !i || by_group(&x[i - 1], &x[i]));
	free(x);
	return err;
}

/* The group of pages that no known mapping holds. */
static int unmapped_group(struct walk *w, uint32_t pid, size_t *group)
{
	static const char name[] = "[unknown]";
	struct moca_info_mapping *m = w->s->mappings;
	size_t i = w->unmapped;
	int err;

	if (i >= w->s->mapping_count || m[i].pid != pid || m[i].name != name)
		for (i = 0; i < w->s->mapping_count; i++)
			if (m[i].pid == pid && m[i].name == name)
				break;
	if (i == w->s->mapping_count) {
		err = add_group(w->s, pid, name);
		if (err)
			return err;
	}
	*group = w->unmapped = i;
	return 0;
}

const struct moca_mapping *moca_info_find_mapping(struct walk *w, uint32_t pid,
						const struct moca_access *a)
{
	const struct moca_mapping *m = w->last;

	if (!m || m->pid != pid || a->addr - m->addr >= m->len ||
	    a->time_ns < m->begin_ns || (m->end_ns && a->time_ns >= m->end_ns))
		m = moca_trace_find_mapping(w->t, pid, a->addr, a->time_ns);
	if (!m || m < w->maps || m >= w->maps + w->map_count)
		return NULL;
	w->last = m;
	return m;
}

/*
 * Of a private mapping of a file: has its process a copy of the page? By what
 * was told so far, which is all that its first thread did at least.
 */
static int is_copied(struct walk *w, uint32_t pid, const struct moca_access *a,
		     int *copied)
{
	uint64_t page = a->addr >> w->page_shift;
	int ret;

	*copied = 1;
	if (a->type == MOCA_ACCESS_WRITE) {
		ret = page_set_add(&w->written, pid, page);
		return ret < 0 ? ret : 0;
	}
	*copied = page_set_has(&w->written, pid, page);
	return 0;
}

int moca_info_place(struct walk *w, uint32_t pid, const struct moca_mapping *m,
		  const struct moca_access *a, struct place *out)
{
	uint32_t of = m ? w->of[m - w->maps] : 0;
	int err = 0, copied = 0;

	*out = (struct place){ .owner = pid,
			       .page = a->addr >> w->page_shift };
	if (!m)
		return unmapped_group(w, pid, &out->group);
	out->group = w->group_of[m - w->maps];
	out->own = (m->flags & MOCA_MAP_MOCA) != 0;
	if (of && !(m->flags & MOCA_MAP_SHARED))
		err = is_copied(w, pid, a, &copied);
	if (!of || copied || err)
		return err;
	out->owner = SHARED_OWNER | of;
	out->page = (a->addr - m->addr + m->offset) >> w->page_shift;
	return 0;
}

int moca_info_count_process(struct walk *w, uint32_t pid, size_t group)
{
	struct moca_info_mapping *g = &w->s->mappings[group];
	int ret;

	if (!g->of) {
		g->processes = 1;
		return 0;
	}
	ret = page_set_add(&w->users, g->of, pid);
	g->processes += ret > 0;
	return ret < 0 ? ret : 0;
}

static void count(struct moca_info_counts *n, const struct moca_access *a)
{
	n->accesses += a->weight;
	if (a->type == MOCA_ACCESS_WRITE)
		n->writes += a->weight;
	else if (a->type == MOCA_ACCESS_UNKNOWN)
		n->unknown += a->weight;
	else
		n->reads += a->weight;
	if (a->mode == MOCA_MODE_KERNEL)
		n->kernel += a->weight;
}

static int count_page(struct page_set *set, struct moca_info_counts *n,
		      uint32_t owner, uint64_t page)
{
	int ret = page_set_add(set, owner, page);

	if (ret > 0)
		n->pages++;
	return ret < 0 ? ret : 0;
}

uint64_t moca_info_group_page(const struct place *at)
{
	return at->owner & SHARED_OWNER ? at->page | 1ull << 63 : at->page;
}

static int add_access(struct walk *w, const struct moca_task *task,
		      struct moca_info_counts *n, const struct moca_access *a)
{
	struct place at;
	int err;

	err = moca_info_place(w, task->pid,
			    moca_info_find_mapping(w, task->pid, a), a, &at);
	if (err)
		return err;
	if (at.own) {
		count(&w->s->own, a);
		return count_page(&w->process_pages, &w->s->own, at.owner,
				  at.page);
	}
	count(n, a);
	w->s->records++;
	count(&w->s->total, a);
	count(&w->s->mappings[at.group].n, a);
	err = count_page(&w->task_pages, n, at.owner, at.page);
	if (!err)
		err = count_page(&w->process_pages, &w->s->total, at.owner,
				 at.page);
	if (!err)
		err = count_page(&w->group_pages, &w->s->mappings[at.group].n,
				 (uint32_t)at.group, moca_info_group_page(&at));
	if (!err)
		err = nodes_add(&w->s->nodes, (size_t)(n - w->s->tasks),
				at.owner, at.page, a);
	return err ? err : moca_info_count_process(w, task->pid, at.group);
}

static int add_interval(struct moca_info *s, const struct moca_chunk *c)
{
	struct moca_info_interval *v;

	if (c->interval >= INTERVALS_MAX)
		return 0;
	if (moca_vec_fit_zeroed(s->intervals, s->interval_count,
				c->interval + 1))
		return -ENOMEM;
	v = &s->intervals[c->interval];
	if (!v->begin_ns || c->begin_ns < v->begin_ns)
		v->begin_ns = c->begin_ns;
	if (c->end_ns > v->end_ns)
		v->end_ns = c->end_ns;
	v->records += c->count;
	return 0;
}

/* The begin and end of the trace, and of the chunk's interval, span the chunk. */
static int add_span(struct moca_info *s, const struct moca_chunk *c)
{
	if (!s->begin_ns || c->begin_ns < s->begin_ns)
		s->begin_ns = c->begin_ns;
	if (c->end_ns > s->end_ns)
		s->end_ns = c->end_ns;
	return add_interval(s, c);
}

static int add_chunk(struct walk *w, const struct moca_chunk *c,
		     uint32_t *task_id)
{
	struct moca_info *s = w->s;
	size_t i, index = trace_task_index(w->t, c->task);
	const struct moca_task *task;
	int err;

	if (index == SIZE_MAX)
		return 0;
	task = moca_trace_task(w->t, index);
	if (c->task != *task_id) {
		page_set_clear(&w->task_pages);
		*task_id = c->task;
	}
	s->bytes += c->bytes;
	err = add_span(s, c);
	for (i = 0; i < c->count && !err; i++)
		err = add_access(w, task, &s->tasks[index], &c->accesses[i]);
	return err;
}

static int walk_chunks(struct walk *w)
{
	const struct moca_chunk *c;
	struct moca_cursor *cursor;
	uint32_t task_id = MOCA_NO_TASK;
	int ret;

	ret = moca_cursor_open(&cursor, w->t, NULL);
	if (ret)
		return ret;
	while ((ret = moca_cursor_chunk(cursor, &c)) > 0) {
		ret = add_chunk(w, c, &task_id);
		if (ret)
			break;
	}
	moca_cursor_close(cursor);
	return ret;
}

static int add_gap(struct moca_info *s, const struct moca_change *e)
{
	struct moca_info_gap *g;
	size_t i;

	for (i = 0; i < s->gap_count; i++)
		if (!strcmp(s->gaps[i].name, e->name))
			break;
	if (i == s->gap_count) {
		if (i == GAPS_MAX)
			return 0;
		if (moca_vec_fit(s->gaps, s->gap_room, i + 1))
			return -ENOMEM;
		g = s->gaps;
		g[i].name = strdup(e->name);
		if (!g[i].name)
			return -ENOMEM;
		g[i].events = g[i].bytes = g[i].ns = 0;
		s->gap_count++;
	}
	/* One that tells its length only ends what was told before. */
	s->gaps[i].events += !e->offset;
	s->gaps[i].bytes += e->len;
	s->gaps[i].ns += e->offset;
	return 0;
}

static int walk_changes(struct walk *w)
{
	const struct moca_change *e;
	int told = moca_trace_meta(w->t, "exact.native") != NULL, ret;
	struct moca_cursor *cursor;
	uint32_t task;

	ret = moca_cursor_open(&cursor, w->t, NULL);
	if (ret)
		return ret;
	while ((ret = moca_cursor_change(cursor, &e, &task)) > 0) {
		/* The metadata tell these, with what came of them. */
		ret = e->type == MOCA_CHANGE_GAP &&
				      !(told && e->flags & MOCA_GAP_NATIVE) ?
			      add_gap(w->s, e) : 0;
		if (ret)
			break;
	}
	moca_cursor_close(cursor);
	return ret;
}

static int by_id(const void *key, const void *kind)
{
	uint32_t id = *(const uint32_t *)key;
	uint32_t other = ((const struct moca_info_kind *)kind)->type->id;

	return id < other ? -1 : id > other;
}

static int by_count(const void *a, const void *b)
{
	const struct moca_info_kind *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->type->id < y->type->id ? -1 : 1;
}

static void add_event(struct moca_info *s, struct moca_info_kind *k,
		       const struct moca_event *m)
{
	if (!k->count++ || m->time_ns < k->first_ns)
		k->first_ns = m->time_ns;
	if (m->time_ns > k->last_ns)
		k->last_ns = m->time_ns;
	if (m->time_ns > s->events_end_ns)
		s->events_end_ns = m->time_ns;
	s->events++;
}

uint64_t moca_info_events(const struct moca_info *s, const struct moca_trace *t,
			 size_t task)
{
	uint64_t n = moca_trace_task(t, task)->events;

	/* Damaged events are told by headers and never seen. */
	return n > s->task_allocations[task] ? n - s->task_allocations[task] :
					       0;
}

/* What a task lost is the program's, if it has events of its own. */
uint64_t moca_info_events_lost(const struct moca_info *s,
			      const struct moca_trace *t, size_t task)
{
	return s->has_allocations && !moca_info_events(s, t, task) ?
		       0 : moca_trace_task(t, task)->events_lost;
}

static void add_losses(struct walk *w)
{
	struct moca_info *s = w->s;
	const struct moca_task *task;
	uint64_t own;
	size_t i;

	for (i = 0; i < s->task_count; i++) {
		task = moca_trace_task(w->t, i);
		own = moca_info_events_lost(s, w->t, i);
		s->events_torn += task->events_torn;
		s->events_lost += own;
		s->allocations_lost += task->events_lost - own;
	}
}

/* Take the kinds that are libmoca-alloc's and samplers' out. */
static void split_allocations(struct moca_info *s)
{
	size_t i, n = 0;

	for (i = 0; i < s->kind_count; i++) {
		if (s->kinds[i].is_allocation) {
			s->has_allocations = 1;
			s->allocations += s->kinds[i].count;
			s->events -= s->kinds[i].count;
		} else if (s->kinds[i].is_rate) {
			s->samples += s->kinds[i].count;
			s->events -= s->kinds[i].count;
		} else {
			s->kinds[n++] = s->kinds[i];
		}
	}
	s->kind_count = n;
}

static uint64_t integer(const struct moca_event *m, size_t field)
{
	struct moca_value v;

	return !moca_event_value(m, field, &v) && v.count ?
		       moca_value_integer(&v, 0) : 0;
}

/* Less was recorded of allocations from there on. */
static void add_thinned(struct moca_info *s, const struct moca_event *m)
{
	uint64_t level = integer(m, 0), min = integer(m, 1);

	if (!level || level > THIN_MAX)
		return;
	if (!s->thin_level)
		s->thin_ns = m->time_ns;
	if (m->time_ns < s->thin_ns)
		s->thin_ns = m->time_ns;
	if (s->thin_level < level)
		s->thin_level = level;
	if (s->thin_min < min)
		s->thin_min = min;
}

static int walk_events(struct walk *w)
{
	const struct moca_event_type *const *types;
	struct moca_info *s = w->s;
	struct moca_info_kind *k = NULL;
	const struct moca_event *m;
	struct moca_cursor *cursor;
	uint32_t id;
	size_t i;
	int ret;

	types = moca_trace_event_types(w->t, &s->kind_count);
	s->kinds = calloc(s->kind_count + 1, sizeof(*s->kinds));
	s->task_allocations = calloc(s->task_count + 1,
				     sizeof(*s->task_allocations));
	if (!s->kinds || !s->task_allocations)
		return -ENOMEM;
	for (i = 0; i < s->kind_count; i++) {
		s->kinds[i].type = types[i];
		s->kinds[i].is_allocation = trace_is_allocation(types[i]);
		s->kinds[i].is_rate = trace_is_rate(types[i]) ||
				      trace_is_memory(types[i]);
	}
	ret = moca_cursor_open(&cursor, w->t, NULL);
	if (ret)
		return ret;
	while ((ret = moca_cursor_event(cursor, &m, &id)) > 0) {
		if (!k || k->type != m->type)
			k = bsearch(&m->type->id, s->kinds, s->kind_count,
				    sizeof(*k), by_id);
		add_event(s, k, m);
		if (k->is_allocation && !strcmp(m->type->name, "thinned"))
			add_thinned(s, m);
		if (k->is_allocation || k->is_rate)
			s->task_allocations[trace_task_index(w->t, id)]++;
	}
	moca_cursor_close(cursor);
	split_allocations(s);
	add_losses(w);
	qsort(s->kinds, s->kind_count, sizeof(*s->kinds), by_count);
	return ret;
}

/* Distinct pages of the intervals first..end - 1, in one walk. */
static int count_batch(struct walk *w, size_t first, size_t end,
		       struct page_set *sets)
{
	struct moca_info_interval *v = w->s->intervals;
	struct moca_query q = { .size = sizeof(q), .begin_ns = UINT64_MAX };
	const struct moca_chunk *c;
	struct moca_cursor *cursor;
	struct place at;
	size_t i;
	int ret;

	for (i = first; i < end; i++) {
		if (!v[i].records)
			continue;
		if (v[i].begin_ns < q.begin_ns)
			q.begin_ns = v[i].begin_ns;
		if (v[i].end_ns >= q.end_ns)
			q.end_ns = v[i].end_ns + 1;
	}
	if (!q.end_ns)
		return 0;
	ret = moca_cursor_open(&cursor, w->t, &q);
	if (ret)
		return ret;
	while ((ret = moca_cursor_chunk(cursor, &c)) > 0) {
		size_t index = trace_task_index(w->t, c->task);
		uint32_t pid;

		if (index == SIZE_MAX || c->interval < first ||
		    c->interval >= end)
			continue;
		pid = moca_trace_task(w->t, index)->pid;
		for (i = 0; i < c->count && ret >= 0; i++) {
			const struct moca_access *a = &c->accesses[i];

			ret = moca_info_place(w, pid,
					    moca_info_find_mapping(w, pid, a), a,
					    &at);
			if (ret < 0 || at.own)
				continue;
			ret = page_set_add(&sets[c->interval - first], at.owner,
					   at.page);
			if (ret > 0)
				v[c->interval].weight += a->weight;
			if (ret > 0 && w->counts_all)
				ret = count_page(&w->process_pages,
						 &w->s->total, at.owner, at.page);
		}
		if (ret < 0)
			break;
	}
	moca_cursor_close(cursor);
	for (i = first; i < end; i++) {
		v[i].pages = sets[i - first].pages;
		page_set_free(&sets[i - first]);
	}
	return ret;
}

/* The working set of each interval, and of all the most and the median. */
static int find_used(struct moca_info *s)
{
	size_t i, n = s->interval_count;
	uint64_t *sets = malloc((n + 1) * sizeof(*sets));
	uint64_t *begins = malloc((n + 1) * sizeof(*begins));
	int err = sets && begins ? 0 : -ENOMEM;

	for (i = 0; i < n && !err; i++) {
		s->intervals[i].pages = moca_interval_set(
			s->intervals[i].pages, s->intervals[i].weight,
			s->total.pages);
		sets[i] = s->intervals[i].pages;
		begins[i] = s->intervals[i].begin_ns;
	}
	if (!err)
		err = moca_intervals_pages(&s->used, sets, begins, n,
					   s->begin_ns, s->end_ns);
	free(sets);
	free(begins);
	return err;
}

static int count_intervals(struct walk *w)
{
	struct moca_info *s = w->s;
	struct page_set *sets;
	size_t first, end;
	uint64_t records;
	int ret = 0;

	while (s->interval_count && !s->intervals[s->interval_count - 1].end_ns)
		s->interval_count--;
	sets = calloc(BATCH_INTERVALS, sizeof(*sets));
	if (!sets)
		return -ENOMEM;
	for (first = 0; first < s->interval_count && !ret; first = end) {
		records = 0;
		end = first;
		do
			records += s->intervals[end++].records;
		while (end < s->interval_count &&
		       end - first < BATCH_INTERVALS &&
		       records + s->intervals[end].records < BATCH_RECORDS);
		ret = count_batch(w, first, end, sets);
	}
	free(sets);
	return ret ? ret : find_used(s);
}

static int by_size(const void *a, const void *b)
{
	const struct moca_info_mapping *x = a, *y = b;

	if (x->n.pages != y->n.pages)
		return x->n.pages > y->n.pages ? -1 : 1;
	if (x->n.accesses != y->n.accesses)
		return x->n.accesses > y->n.accesses ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Mappings of Moca's, whose accesses are not counted as the program's. */
static void leave_out_own(struct moca_info *s)
{
	size_t i, n = 0;

	for (i = 0; i < s->mapping_count; i++)
		if (!s->mappings[i].own)
			s->mappings[n++] = s->mappings[i];
	s->mapping_count = n;
}

static int walk_intervals(struct walk *w)
{
	const struct moca_chunk *c;
	struct moca_cursor *cursor;
	int ret = moca_cursor_open(&cursor, w->t, NULL);

	if (ret)
		return ret;
	moca_chunks_only(cursor);
	while ((ret = moca_cursor_chunk(cursor, &c)) > 0) {
		if (trace_task_index(w->t, c->task) == SIZE_MAX)
			continue;
		ret = add_span(w->s, c);
		if (ret)
			break;
	}
	moca_cursor_close(cursor);
	return ret;
}

/* What all walks need. 0 or -errno. */
static int begin_walk(struct walk *w)
{
	int err;

	w->page_shift = trace_page_shift(w->t);
	err = moca_trace_mappings(w->t, &w->maps, &w->map_count);
	if (!err)
		err = moca_identities_build(&w->identities, w->t);
	return err ? err : make_groups(w);
}

static void end_walk(struct walk *w)
{
	page_set_free(&w->group_pages);
	page_set_free(&w->task_pages);
	page_set_free(&w->process_pages);
	page_set_free(&w->written);
	page_set_free(&w->users);
	free(w->group_of);
	free(w->of);
	moca_identities_free(&w->identities);
}

int moca_info_working_set(struct moca_interval_pages *out,
			  struct moca_trace *t)
{
	struct moca_info s = { 0 };
	struct walk w = { .s = &s, .t = t,
			  .counts_all = moca_trace_top_weight(t) != 1 };
	int err = begin_walk(&w);

	if (!err)
		err = walk_intervals(&w);
	if (!err)
		err = count_intervals(&w);
	*out = s.used;
	end_walk(&w);
	moca_info_free(&s);
	return err;
}

int moca_info_counted_pages(uint64_t *out, struct moca_trace *t)
{
	struct moca_info s = { 0 };
	struct walk w = { .s = &s, .t = t };
	int err = begin_walk(&w);

	s.tasks = calloc(moca_trace_task_count(t) + 1, sizeof(*s.tasks));
	if (!err)
		err = s.tasks ? moca_info_walk_counts(&w) : -ENOMEM;
	*out = s.total.pages + s.own.pages;
	end_walk(&w);
	moca_info_free(&s);
	return err;
}

int moca_info_compute(struct moca_info *s, struct moca_trace *t)
{
	struct walk w = { .s = s, .t = t };
	int err;

	memset(s, 0, sizeof(*s));
	s->task_count = moca_trace_task_count(t);
	s->tasks = calloc(s->task_count + 1, sizeof(*s->tasks));
	err = s->tasks ? nodes_init(&s->nodes, t) : -ENOMEM;
	if (!err)
		err = begin_walk(&w);
	if (!err)
		err = walk_chunks(&w);
	if (!err && !s->records)
		err = moca_info_walk_counts(&w);
	if (!err)
		err = walk_changes(&w);
	if (!err)
		err = walk_events(&w);
	/* As a working set alone is found; and memory is not held for long. */
	page_set_free(&w.group_pages);
	page_set_free(&w.task_pages);
	page_set_free(&w.process_pages);
	page_set_free(&w.written);
	if (!err)
		err = count_intervals(&w);
	end_walk(&w);
	leave_out_own(s);
	qsort(s->mappings, s->mapping_count, sizeof(*s->mappings), by_size);
	if (err)
		moca_info_free(s);
	return err;
}

void moca_info_free(struct moca_info *s)
{
	size_t i;

	for (i = 0; i < s->gap_count; i++)
		free(s->gaps[i].name);
	nodes_free(&s->nodes);
	free(s->gaps);
	free(s->kinds);
	free(s->task_allocations);
	free(s->tasks);
	free(s->mappings);
	free(s->intervals);
	memset(s, 0, sizeof(*s));
}
