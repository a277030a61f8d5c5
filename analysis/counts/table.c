// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/counts/users.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"

#define PAGE_SHIFT 12
#define CELLS_MAX 2500000u	/* 48 bytes each, 200 MB with the hash's gaps */
#define LINES_MAX 1400000u	/* 176 bytes each */
#define LINE_MASK ((1u << 21) - 1)	/* their numbers in the index */
#define BATCH 64u
#define OBJECTS_WITH_SERIES 4000u	/* 8 KiB each */

void moca_counts_init(struct moca_counts_table *t,
		      const struct moca_trace *trace)
{
	memset(t, 0, sizeof(*t));
	t->trace = trace;
	t->joined = 1;
}

static void free_series(struct moca_counts_series **s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		free(s[i]);
	free(s);
}

void moca_counts_free(struct moca_counts_table *t)
{
	free(t->cells);
	free(t->lines);
	free(t->line_index);
	free(t->users);
	free(t->batch);
	free(t->contended);
	free(t->heavy);
	free_series(t->tasks, t->task_cap);
	free_series(t->objects, t->object_cap);
	memset(t, 0, sizeof(*t));
}

/* --- pages -------------------------------------------------------------- */

/* Neighbours stand together: rows come by address. */
static uint64_t hash_cell(uint32_t object, uint32_t space, uint32_t task,
			  uint64_t group)
{
	return moca_mix(group >> 3 ^ moca_mix((uint64_t)object << 32 | task) ^
			(uint64_t)space << 40) << 3 | (group & 7);
}

static uint64_t hash_of(const struct moca_counts_cell *c)
{
	return hash_cell(c->object, c->space, c->task, c->group);
}

static int same_cell(const struct moca_counts_cell *a,
		     const struct moca_counts_cell *b)
{
	return a->group == b->group && a->task == b->task &&
	       a->object == b->object && a->space == b->space;
}

static int used_cell(const struct moca_counts_cell *c)
{
	return c->used;
}

MOCA_TABLE(cells, struct moca_counts_cell, hash_of, same_cell, used_cell);

/* Add from to its entry; 1 if that is new. */
static int add_cell(struct moca_counts_cell *cells, size_t cap,
		    const struct moca_counts_cell *from)
{
	struct moca_counts_cell *c = cells_at(cells, cap, from);

	if (!c->used) {
		*c = *from;
		c->used = 1;
		return 1;
	}
	c->loads += from->loads;
	c->stores += from->stores;
	if (from->first_ns && (!c->first_ns || from->first_ns < c->first_ns))
		c->first_ns = from->first_ns;
	return 0;
}

/* Into a hash of cap entries, with groups by so much coarser. */
static int rehash(struct moca_counts_table *t, size_t cap, unsigned coarser)
{
	struct moca_counts_cell *p = moca_table_memory(cap, sizeof(*p));
	size_t i, n = 0;

	if (!p)
		return -ENOMEM;
	for (i = 0; i < t->cell_cap; i++) {
		if (!t->cells[i].used)
			continue;
		t->cells[i].group >>= coarser;
		n += (size_t)add_cell(p, cap, &t->cells[i]);
	}
	free(t->cells);
	t->cells = p;
	t->cell_cap = cap;
	t->cell_count = n;
	t->page_shift += coarser;
	return 0;
}

static int grow_cells(struct moca_counts_table *t)
{
	size_t cap = t->cell_cap ? 2 * t->cell_cap : 4096;

	if (t->cell_count < CELLS_MAX)
		return 10 * t->cell_count >= 7 * t->cell_cap ?
			       rehash(t, cap, 0) : 0;
	/* Groups of twice as many pages, until a quarter of them is gone. */
	while (t->cell_count > CELLS_MAX / 4 * 3 &&
	       t->page_shift < 64 - PAGE_SHIFT - 1)
		if (rehash(t, t->cell_cap, 1))
			return -ENOMEM;
	return 0;
}

static int count_cell(struct moca_counts_table *t, const struct moca_counted *x)
{
	const struct moca_counts_cell c = {
		.group = x->addr >> PAGE_SHIFT >> t->page_shift,
		.loads = x->loads, .stores = x->stores,
		.first_ns = x->first_ns, .object = x->key, .space = x->space,
		.task = x->task,
	};

	t->cell_count += (size_t)add_cell(t->cells, t->cell_cap, &c);
	return 0;
}

/* --- granules ----------------------------------------------------------- */

static uint64_t hash_line(uint32_t space, uint64_t granule)
{
	return moca_mix(granule >> 4 ^ (uint64_t)space << 44) << 4 |
	       (granule & 15);
}

/* An entry of the index: the line's number + 1, and a part of its hash. */
static uint32_t tag_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32) & ~LINE_MASK;
}

/* The place of a line in the index, where it is or would be. */
static uint32_t *line_at(const struct moca_counts_table *t, uint32_t space,
			 uint64_t granule, uint64_t hash)
{
	size_t at = hash & (t->index_cap - 1);
	const struct moca_counts_line *l;
	uint32_t i;

	for (;; at = (at + 1) & (t->index_cap - 1)) {
		i = t->line_index[at];
		if (!i)
			return &t->line_index[at];
		if ((i & ~LINE_MASK) != tag_of(hash))
			continue;
		l = &t->lines[(i & LINE_MASK) - 1];
		if (l->granule == granule && l->space == space)
			return &t->line_index[at];
	}
}

/* Room for one more line, and for its place. */
static int grow_lines(struct moca_counts_table *t)
{
	size_t i, at, cap = t->index_cap ? 2 * t->index_cap : 8192;
	uint64_t hash;
	uint32_t *p;
	void *lines;

	if (t->line_count >= LINES_MAX)
		return 0;
	if (t->line_count == t->line_cap) {
		at = t->line_cap ? t->line_cap + t->line_cap / 2 : 2048;
		lines = realloc(t->lines, at * sizeof(*t->lines));
		if (!lines)
			return -ENOMEM;
		t->lines = lines;
		t->line_cap = at;
	}
	if (2 * t->line_count < t->index_cap)
		return 0;
	p = moca_table_memory(cap, sizeof(*p));
	if (!p)
		return -ENOMEM;
	for (i = 0; i < t->line_count; i++) {
		hash = hash_line(t->lines[i].space, t->lines[i].granule);
		at = hash & (cap - 1);
		while (p[at])
			at = (at + 1) & (cap - 1);
		p[at] = (uint32_t)(i + 1) | tag_of(hash);
	}
	free(t->line_index);
	t->line_index = p;
	t->index_cap = cap;
	return 0;
}

/* All of the task's accesses in the slice are known. */
static void close_task(struct moca_counts_line *l, struct moca_counts_open *o)
{
	if (!o->own)
		return;
	o->sum += o->own;
	if (o->sum_stores && o->own_stores)
		l->writers = 2;
	o->sum_stores += o->own_stores;
	if (o->own > o->top)
		o->top = o->own;
	o->own = o->own_stores = 0;
}

/* And all tasks' of the slice. */
static void close_slice(struct moca_counts_line *l, struct moca_counts_open *o)
{
	uint64_t others, n;

	close_task(l, o);
	others = o->sum - o->top;
	n = others < o->sum_stores ? others : o->sum_stores;
	if (n) {
		l->contended += n;
		l->slices++;
	}
	*o = (struct moca_counts_open){ 0 };
}

static int leave_out(struct moca_counts_table *t, const struct moca_counted *x,
		     uint64_t granule, uint64_t hash)
{
	uint64_t n = x->loads + x->stores;
	struct moca_counts_heavy *h;

	t->lines_left_out++;
	if (!t->heavy)
		t->heavy = calloc(MOCA_COUNTS_HEAVY, sizeof(*t->heavy));
	if (!t->heavy)
		return -ENOMEM;
	/* The low bits are those of neighbours. */
	h = &t->heavy[(hash ^ hash >> 32) % MOCA_COUNTS_HEAVY];
	if (h->granule == granule && h->space == x->space)
		h->accesses += n;
	else if (h->accesses >= n)
		h->accesses -= n;
	else
		*h = (struct moca_counts_heavy){ .granule = granule,
						 .space = x->space,
						 .accesses = n - h->accesses };
	return 0;
}

static int count_line(struct moca_counts_table *t, const struct moca_counted *x)
{
	uint64_t granule = x->addr / x->granularity;
	uint32_t slice = x->slice < UINT32_MAX - 1 ? (uint32_t)x->slice + 1 :
						     UINT32_MAX;
	uint64_t hash = hash_line(x->space, granule);
	struct moca_counts_line *l;
	struct moca_counts_open *o;
	uint32_t *at;

	if (grow_lines(t))
		return -ENOMEM;
	at = line_at(t, x->space, granule, hash);
	if (*at) {
		l = &t->lines[(*at & LINE_MASK) - 1];
	} else {
		if (t->line_count >= LINES_MAX)
			return leave_out(t, x, granule, hash);
		l = &t->lines[t->line_count];
		*l = (struct moca_counts_line){
			.granule = granule, .space = x->space,
			.object = x->key, .only = x->task, .writers = 1,
			.number = (uint32_t)t->line_count,
		};
		*at = (uint32_t)++t->line_count | tag_of(hash);
	}
	o = &l->open[slice & 1];
	if (o->slice != slice)
		close_slice(l, o);
	else if (o->task != x->task)
		close_task(l, o);
	o->slice = slice;
	o->task = x->task;
	if (counts_use(t, l, x))
		return -ENOMEM;
	l->several |= x->shared != 0;
	o->own += x->loads + x->stores;
	o->own_stores += x->stores;
	l->loads += x->loads;
	l->stores += x->stores;
	return 0;
}

/* --- time --------------------------------------------------------------- */

static void fold(struct moca_counts_series *s)
{
	unsigned i;

	for (i = 0; i < MOCA_COUNTS_BINS / 2; i++) {
		s->loads[i] = s->loads[2 * i] + s->loads[2 * i + 1];
		s->stores[i] = s->stores[2 * i] + s->stores[2 * i + 1];
	}
	memset(s->loads + i, 0, sizeof(s->loads) / 2);
	memset(s->stores + i, 0, sizeof(s->stores) / 2);
}

/* Twice as many slices to a bin. */
static void join_bins(struct moca_counts_table *t)
{
	unsigned i, k;
	size_t n;

	for (n = 0; n < t->task_cap; n++)
		if (t->tasks[n])
			fold(t->tasks[n]);
	for (n = 0; n < t->object_cap; n++)
		if (t->objects[n])
			fold(t->objects[n]);
	for (i = 0; i < MOCA_COUNTS_BINS / 2; i++) {
		k = 2 * i + 1;
		t->bin_begin[i] = t->bin_begin[2 * i] ? t->bin_begin[2 * i] :
							t->bin_begin[k];
		t->bin_end[i] = t->bin_end[k] ? t->bin_end[k] :
						t->bin_end[2 * i];
	}
	memset(t->bin_begin + i, 0, sizeof(t->bin_begin) / 2);
	memset(t->bin_end + i, 0, sizeof(t->bin_end) / 2);
	t->joined *= 2;
}

/* The series of a number; *out NULL if there are max already. 0 or -ENOMEM. */
static int series(struct moca_counts_series ***all, size_t *cap, uint32_t i,
		  size_t *count, size_t max, struct moca_counts_series **out)
{
	*out = NULL;
	if (moca_vec_fit_zeroed(*all, *cap, (size_t)i + 1))
		return -ENOMEM;
	if (!(*all)[i] && *count < max) {
		(*all)[i] = calloc(1, sizeof(***all));
		if (!(*all)[i])
			return -ENOMEM;
		++*count;
	}
	*out = (*all)[i];
	return 0;
}

static int count_time(struct moca_counts_table *t, const struct moca_counted *x)
{
	struct moca_counts_series *s;
	size_t none = 0, bin;

	while (x->slice / t->joined >= MOCA_COUNTS_BINS)
		join_bins(t);
	bin = x->slice / t->joined;
	if (!t->bin_begin[bin] || x->begin_ns < t->bin_begin[bin])
		t->bin_begin[bin] = x->begin_ns;
	if (x->end_ns > t->bin_end[bin])
		t->bin_end[bin] = x->end_ns;
	if (x->slice >= t->slices)
		t->slices = x->slice + 1;
	if (!t->begin_ns || x->begin_ns < t->begin_ns)
		t->begin_ns = x->begin_ns;
	if (x->end_ns > t->end_ns)
		t->end_ns = x->end_ns;
	if (series(&t->tasks, &t->task_cap, x->task, &none, SIZE_MAX, &s))
		return -ENOMEM;
	s->loads[bin] += x->loads;
	s->stores[bin] += x->stores;
	if (series(&t->objects, &t->object_cap, x->key, &t->object_count,
		   OBJECTS_WITH_SERIES, &s))
		return -ENOMEM;
	if (!s)
		return 0;
	s->loads[bin] += x->loads;
	s->stores[bin] += x->stores;
	return 0;
}

static void prefetch(const struct moca_counts_table *t,
		     const struct moca_counted *x)
{
	uint64_t group = x->addr >> PAGE_SHIFT >> t->page_shift, hash;
	const char *c;

	if (t->cell_cap) {
		c = (const char *)&t->cells[hash_cell(x->key, x->space, x->task,
						      group) &
					    (t->cell_cap - 1)];
		__builtin_prefetch(c, 1);
		__builtin_prefetch(c + 64, 1);
	}
	if (t->index_cap && x->granularity < 1u << PAGE_SHIFT) {
		hash = hash_line(x->space, x->addr / x->granularity);
		__builtin_prefetch(&t->line_index[hash & (t->index_cap - 1)]);
	}
}

static int flush(struct moca_counts_table *t)
{
	const struct moca_counted *x;
	size_t i;
	int err = 0;

	for (i = 0; i < t->batched; i++)
		prefetch(t, &t->batch[i]);
	for (i = 0; !err && i < t->batched; i++) {
		x = &t->batch[i];
		err = grow_cells(t);
		if (!err)
			err = count_cell(t, x);
		if (!err && x->granularity < 1u << PAGE_SHIFT)
			err = count_line(t, x);
		if (!err)
			err = count_time(t, x);
	}
	t->batched = 0;
	return err;
}

void moca_counts_add(void *table, const struct moca_counted *x)
{
	struct moca_counts_table *t = table;

	if (t->err)
		return;
	if (!t->batch)
		t->batch = malloc(BATCH * sizeof(*t->batch));
	if (!t->batch) {
		t->err = -ENOMEM;
		return;
	}
	t->granularity = x->granularity;
	t->batch[t->batched++] = *x;
	if (t->batched == BATCH)
		t->err = flush(t);
}

/* --- the end ------------------------------------------------------------ */

static int compare_cells(const void *a, const void *b)
{
	const struct moca_counts_cell *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->space != y->space)
		return x->space < y->space ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->task < y->task ? -1 : x->task > y->task;
}

/* Rows that were found to be one object may have the same cell twice. */
static void sort_cells(struct moca_counts_table *t, const struct moca_objects *o)
{
	struct moca_counts_cell *c = t->cells;
	size_t i, n = 0, k = 0;

	for (i = 0; i < t->cell_cap; i++) {
		if (!c[i].used)
			continue;
		c[n] = c[i];
		c[n].object = moca_objects_row_of(o, c[n].object)->id;
		n++;
	}
	if (n)
		qsort(c, n, sizeof(*c), compare_cells);
	for (i = 0; i < n; i++) {
		if (!k || compare_cells(&c[k - 1], &c[i])) {
			c[k++] = c[i];
			continue;
		}
		c[k - 1].loads += c[i].loads;
		c[k - 1].stores += c[i].stores;
		if (c[i].first_ns && (!c[k - 1].first_ns ||
				      c[i].first_ns < c[k - 1].first_ns))
			c[k - 1].first_ns = c[i].first_ns;
	}
	t->cell_count = k;
}

static int compare_lines(const void *a, const void *b)
{
	const struct moca_counts_line *x = a, *y = b;

	if (x->space != y->space)
		return x->space < y->space ? -1 : 1;
	return x->granule < y->granule ? -1 : x->granule > y->granule;
}

static int sort_lines(struct moca_counts_table *t, const struct moca_objects *o)
{
	struct moca_counts_line *l = t->lines;
	size_t i, rows;

	moca_objects_rows(o, &rows);
	t->contended = calloc(rows + 1, sizeof(*t->contended));
	if (!t->contended)
		return -ENOMEM;
	/* Numbers change: no line is looked up by its hash any more. */
	free(t->line_index);
	t->line_index = NULL;
	for (i = 0; i < t->line_count; i++) {
		close_slice(&l[i], &l[i].open[0]);
		close_slice(&l[i], &l[i].open[1]);
		l[i].object = moca_objects_row_of(o, l[i].object)->id;
		t->contended[l[i].object] += l[i].contended;
	}
	if (t->line_count)
		qsort(l, t->line_count, sizeof(*l), compare_lines);
	counts_sort_users(t);
	return 0;
}

static int name_series(struct moca_counts_table *t, const struct moca_objects *o)
{
	struct moca_counts_series **p, *to;
	size_t i, k, n;
	uint32_t id;

	moca_objects_rows(o, &n);
	p = calloc(n + 1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	for (i = 0; i < t->object_cap; i++) {
		if (!t->objects[i])
			continue;
		id = moca_objects_row_of(o, (uint32_t)i)->id;
		if (!p[id]) {
			p[id] = t->objects[i];
			continue;
		}
		to = p[id];
		for (k = 0; k < MOCA_COUNTS_BINS; k++) {
			to->loads[k] += t->objects[i]->loads[k];
			to->stores[k] += t->objects[i]->stores[k];
		}
		free(t->objects[i]);
	}
	free(t->objects);
	t->objects = p;
	t->object_cap = n;
	return 0;
}

int moca_counts_finish(struct moca_counts_table *t,
		       const struct moca_objects *o)
{
	if (t->err || t->finished)
		return t->err;
	t->err = flush(t);
	if (t->err)
		return t->err;
	sort_cells(t, o);
	t->err = sort_lines(t, o);
	if (!t->err)
		t->err = name_series(t, o);
	t->finished = 1;
	return t->err;
}

const struct moca_counts_cell *
moca_counts_of(const struct moca_counts_table *t, uint32_t object,
	       size_t *count)
{
	size_t lo = 0, hi = t->cell_count, mid, end;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (t->cells[mid].object < object)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (end = lo; end < t->cell_count && t->cells[end].object == object;)
		end++;
	*count = end - lo;
	return t->cells + lo;
}

const struct moca_counts_line *
moca_counts_line(const struct moca_counts_table *t, uint32_t space,
		 uint64_t granule)
{
	const struct moca_counts_line key = { .space = space,
					      .granule = granule };

	return t->line_count ? bsearch(&key, t->lines, t->line_count,
				       sizeof(key), compare_lines) : NULL;
}
