// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/objects/table.h"

#include "analysis/objects/heap.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_SHIFT 12
#define HUGE ((size_t)2 << 20)
#define ROWS_MAX (UINT32_MAX - 1)

enum page_flags {
	PAGE_SHARED = 1,	/* two threads or more */
	PAGE_WRITTEN = 2,
	PAGE_MIXED = 4,		/* had other objects when it was seen */
	PAGE_WRITERS = 8,	/* written by two threads or more */
	PAGE_PROCESSES = 16,	/* the same of processes */
	PAGE_WRITER_PROCESSES = 32,
	/* enum moca_sharing of earlier eras, by threads and by processes. */
	PAGE_WAS_THREADS = 64 * 3,
	PAGE_WAS_PROCESSES = 256 * 3,
};
#define WAS_THREADS_SHIFT 6
#define WAS_PROCESSES_SHIFT 8

/* --- rows --------------------------------------------------------------- */

void moca_table_free(struct moca_table *t)
{
	moca_strings_free(&t->strings);
	free(t->rows);
	free(t->counts);
	moca_index_free(&t->row_index);
	free(t->inst_key);
	free(t->inst);
	free(t->places);
	free(t->pages);
	free(t->threads);
	free(t->touches);
	free(t->ranges);
}

static uint64_t hash_row(const struct moca_object *o)
{
	uint64_t h = moca_mix((uintptr_t)o->name + o->kind);

	h = moca_mix(h ^ (uintptr_t)o->site);
	return moca_mix(h ^ (uintptr_t)o->program);
}

static int same_row(const struct moca_object *a, const struct moca_object *b)
{
	return a->kind == b->kind && a->name == b->name && a->site == b->site &&
	       a->program == b->program;
}

int moca_table_wants(const struct moca_table *t, const char *name)
{
	const char *want = t->opt->name;

	/* A name may have brackets, which mean something else in a glob. */
	return !want || !strcmp(want, name) || !fnmatch(want, name, 0);
}

static int grow_rows(struct moca_table *t)
{
	size_t cap = t->row_cap ? 2 * t->row_cap : 64;
	struct moca_row_count *c = aligned_alloc(64, cap * sizeof(*c));
	struct moca_row *r = realloc(t->rows, cap * sizeof(*r));

	if (r)
		t->rows = r;
	if (!r || !c) {
		free(c);
		return -ENOMEM;
	}
	if (t->row_count)
		memcpy(c, t->counts, t->row_count * sizeof(*c));
	free(t->counts);
	t->counts = c;
	t->row_cap = cap;
	return 0;
}

int64_t moca_table_row(struct moca_table *t, const char *program,
		       enum moca_object_kind kind, const char *name,
		       const char *site)
{
	struct moca_object o = {
		.kind = kind, .name = name, .site = site, .program = program,
		.first_task = MOCA_NO_TASK,
	};
	uint64_t hash = hash_row(&o);
	struct moca_row_count *c;
	struct moca_row *r;
	uint32_t i;

	moca_index_each(i, &t->row_index, hash)
		if (same_row(&t->rows[i].o, &o))
			return i;
	if (t->row_count >= ROWS_MAX)
		return -ENOMEM;
	if (t->row_count == t->row_cap && grow_rows(t))
		return -ENOMEM;
	if (moca_index_add(&t->row_index, hash, (uint32_t)t->row_count))
		return -ENOMEM;
	r = &t->rows[t->row_count];
	*r = (struct moca_row){ .o = o };
	r->o.id = (uint32_t)t->row_count;
	c = &t->counts[t->row_count];
	*c = (struct moca_row_count){ .wanted = moca_table_wants(t, name) };
	memset(c->last_task, 0xff, sizeof(c->last_task));
	if (kind == MOCA_OBJECT_ALLOCATOR || kind == MOCA_OBJECT_ANONYMOUS)
		c->wanted |= moca_table_wants_heap(t);
	return (int64_t)t->row_count++;
}

/* --- instances ---------------------------------------------------------- */

#define INST_FIRST 256u
#define INST_ROOM (1u << 22)	/* as much as is asked for at once */

static int grow_instances(struct moca_table *t)
{
	size_t cap = t->inst_cap ? 2 * t->inst_cap : INST_FIRST;
	void *p;

	/* Room that is not used takes no memory, and a copy takes as much again. */
	if (!t->inst_cap && t->expected > cap)
		cap = t->expected < INST_ROOM ? t->expected : INST_ROOM;
	if (cap > UINT32_MAX)
		return -ENOMEM;
	/* With counts, it is accessed at random; no object in two lines. */
	p = moca_huge_alloc(cap, sizeof(*t->inst));
	if (!p && !t->inst_cap)
		p = moca_huge_alloc(cap = INST_FIRST, sizeof(*t->inst));
	if (!p)
		return -ENOMEM;
	if (t->inst_count)
		memcpy(p, t->inst, t->inst_count * sizeof(*t->inst));
	free(t->inst);
	t->inst = p;
	p = realloc(t->inst_key, cap * sizeof(*t->inst_key));
	if (!p)
		return -ENOMEM;
	t->inst_key = p;
	if (cap * sizeof(*t->inst_key) >= HUGE)
		madvise((void *)(((uintptr_t)p + HUGE - 1) & ~(HUGE - 1)),
			cap * sizeof(*t->inst_key) - HUGE + 1,
			MADV_HUGEPAGE);
	t->inst_cap = cap;
	if (!t->inst_count) {
		t->inst[0] = (struct moca_instance){ 0 };
		t->inst_key[0] = (struct moca_inst_key){ 0 };
		t->inst_count = 1;
	}
	return 0;
}

int64_t moca_table_instance(struct moca_table *t, uint32_t row, uint32_t pid,
			    uint64_t addr, uint64_t size, uint64_t time_ns,
			    int counted)
{
	struct moca_row *r = &t->rows[row];
	uint32_t id = t->inst_free;

	if (id) {
		t->inst_free = t->inst[id].object;
	} else {
		if (t->inst_count >= t->inst_cap && grow_instances(t))
			return -ENOMEM;
		id = (uint32_t)t->inst_count++;
	}
	t->inst[id] = (struct moca_instance){
		.object = row, .pid = pid, .addr = addr, .size = size,
		.begin_ns = time_ns,
	};
	t->inst_key[id] = (struct moca_inst_key){ row, moca_table_era(t) };
	if (!counted)
		return id;
	if (!r->o.instances++) {
		r->o.addr = addr;
		r->o.begin_ns = time_ns;
	}
	r->live++;
	if (__builtin_add_overflow(r->o.bytes, size, &r->o.bytes))
		r->o.bytes = UINT64_MAX;
	if (size > r->o.size)
		r->o.size = size;
	return id;
}

static uint64_t hash_place(const struct moca_place *x)
{
	return moca_mix(moca_mix(x->addr) ^ ((uint64_t)x->row << 32 | x->space));
}

static int same_place(const struct moca_place *a, const struct moca_place *b)
{
	return a->addr == b->addr && a->row == b->row && a->space == b->space;
}

static int used_place(const struct moca_place *x)
{
	return x->id != 0;
}

MOCA_TABLE(places, struct moca_place, hash_place, same_place, used_place);

int64_t moca_table_place(struct moca_table *t, uint32_t row, uint32_t space,
			 uint32_t pid, uint64_t addr, uint64_t size,
			 uint64_t time_ns)
{
	struct moca_place key = { addr, row, space, 0 }, *x;
	int64_t id;

	if (places_fit(&t->places, &t->place_cap, t->place_count))
		return -ENOMEM;
	x = places_at(t->places, t->place_cap, &key);
	if (x->id)
		return x->id;
	id = moca_table_instance(t, row, pid, addr, size, time_ns, 1);
	if (id < 0)
		return id;
	key.id = (uint32_t)id;
	*x = key;
	t->place_count++;
	return id;
}

void moca_table_lives(struct moca_table *t, uint32_t row, uint64_t time_ns)
{
	struct moca_row *r = &t->rows[row];

	if (!r->o.begin_ns || time_ns < r->o.begin_ns)
		r->o.begin_ns = time_ns;
	r->live++;
}

void moca_table_end(struct moca_table *t, uint32_t id, uint64_t time_ns,
		    int drop)
{
	struct moca_instance *i = &t->inst[id];
	struct moca_row *r = &t->rows[i->object];

	if (i->end_ns)
		return;
	/* 0 is for those that live on. */
	i->end_ns = time_ns ? time_ns : 1;
	if (t->heap)
		moca_heap_end(t->heap, id);
	if (r->live)
		r->live--;
	if (i->end_ns > r->o.end_ns)
		r->o.end_ns = i->end_ns;
	/* Who is called for each access may be told of it later. */
	if (drop && !t->opt->instances && !t->opt->each &&
	    !t->opt->observe) {
		i->object = t->inst_free;
		t->inst_free = id;
	}
}

/* --- accesses ----------------------------------------------------------- */

static uint64_t hash_page(uint32_t row, uint32_t space, uint64_t page)
{
	return moca_mix(page ^ (uint64_t)row << 40 ^ (uint64_t)space << 52 ^
			space >> 12);
}

/* Where the search for a page begins, in a table of any size below 2^32. */
static size_t home_of(const struct moca_table *t, uint64_t hash)
{
	return (size_t)((hash >> 32) * (uint64_t)t->page_cap >> 32);
}

void moca_table_prefetch(const struct moca_table *t, struct moca_hit *h)
{
	uint32_t row = t->inst_key[h->id].row;
	const struct moca_page_stat *s;

	__builtin_prefetch(&t->counts[row], 1);
	if (t->opt->keys_only)
		return;
	h->hash = hash_page(row, h->where, h->at >> PAGE_SHIFT);
	if (t->page_cap) {
		s = &t->pages[home_of(t, h->hash)];
		__builtin_prefetch(s, 1);
		/* A search goes on there, if it must. */
		__builtin_prefetch(s + 2, 1);
	}
	if (t->opt->instances)
		__builtin_prefetch(&t->inst[h->id], 1);
}

static uint64_t hash_stat(const struct moca_page_stat *s)
{
	return hash_page(s->row - 1, s->space, s->page);
}

static int same_stat(const struct moca_page_stat *a,
		     const struct moca_page_stat *b)
{
	return a->page == b->page && a->row == b->row && a->space == b->space;
}

/* The entry that is like *key, or the free one where it would be. */
static struct moca_page_stat *find_stat(const struct moca_table *t,
					uint64_t hash,
					const struct moca_page_stat *key)
{
	size_t at = home_of(t, hash);

	while (t->pages[at].row && !same_stat(&t->pages[at], key))
		at = at + 1 < t->page_cap ? at + 1 : 0;
	return &t->pages[at];
}

/*
 * It grows by half and by a third in turn: twice as much room as before is most of what
 * the walk takes, and stays half empty.
 */
static int fit_pages(struct moca_table *t)
{
	struct moca_page_stat *old = t->pages;
	size_t i, gone = 0, cap = t->page_cap, more;

	if (10 * t->page_count < 7 * cap)
		return 0;
	more = !cap ? 8 : cap & (cap - 1) ? cap / 3 * 4 : cap / 2 * 3;
	if (more > UINT32_MAX)
		return -ENOMEM;
	t->pages = moca_table_memory(more, sizeof(*t->pages));
	if (!t->pages) {
		t->pages = old;
		return -ENOMEM;
	}
	t->page_cap = more;
	for (i = 0; i < cap; i++) {
		if (old[i].row)
			*find_stat(t, hash_stat(&old[i]), &old[i]) = old[i];
		if ((i + 1) * sizeof(*old) - gone < MOCA_TABLE_PIECE)
			continue;
		moca_table_let_go(old, gone, (i + 1) * sizeof(*old));
		gone += MOCA_TABLE_PIECE;
	}
	free(old);
	return 0;
}

static struct moca_page_stat *page_stat(struct moca_table *t, uint32_t row,
					const struct moca_hit *h)
{
	struct moca_page_stat key = {
		.page = h->at >> PAGE_SHIFT, .space = h->where, .row = row + 1,
		.first_task = MOCA_PAGE_NO_TASK, .writer = MOCA_PAGE_NO_TASK,
		.number = t->page_count < MOCA_NO_PAGE ?
				  (uint32_t)t->page_count : MOCA_NO_PAGE,
	}, *s;

	if (fit_pages(t))
		return NULL;
	s = find_stat(t, h->hash, &key);
	if (!s->row) {
		*s = key;
		t->page_count++;
	}
	return s;
}

static uint64_t hash_key(const uint64_t *key)
{
	return moca_mix(*key);
}

static int same_key(const uint64_t *a, const uint64_t *b)
{
	return *a == *b;
}

static int used_key(const uint64_t *key)
{
	return *key != 0;
}

MOCA_TABLE(threads, uint64_t, hash_key, same_key, used_key);

/* Note that a task touched a row. */
static int add_thread(struct moca_table *t, uint32_t row, uint32_t task)
{
	uint64_t key = (uint64_t)(row + 1) << 32 | task, *p;

	if (threads_fit(&t->threads, &t->thread_cap, t->thread_count))
		return -ENOMEM;
	p = threads_at(t->threads, t->thread_cap, &key);
	t->thread_count += !*p;
	*p = key;
	return 0;
}

static void count_row(struct moca_table *t, uint32_t row,
		      const struct moca_hit *h)
{
	const struct moca_access *a = h->a;
	struct moca_row_count *c = &t->counts[row];
	struct moca_object *o = &t->rows[row].o;
	int weighed = (h->loads | h->stores) != 0;
	uint64_t before = c->accesses;

	/* Counts come at the end of their time; accesses in order. */
	if (o->first_task == MOCA_NO_TASK ||
	    (weighed && a->time_ns < o->first_ns)) {
		o->first_task = h->task;
		o->first_ns = a->time_ns;
	}
	moca_weigh(h, &c->accesses, &c->reads, &c->writes);
	c->wide += h->wide ? c->accesses - before : 0;
	if (weighed)
		c->node_unknown += c->accesses - before;
	else if (a->node >= 0 && a->node < MOCA_OBJECT_NODES)
		o->nodes[a->node] += a->weight;
	else
		c->node_unknown += a->weight;
}

/* How a page is shared by all of its eras: the strongest of them. */
static enum moca_sharing shared_by_threads(uint32_t flags)
{
	unsigned was = (flags & PAGE_WAS_THREADS) >> WAS_THREADS_SHIFT;
	unsigned now = moca_sharing_of(flags & PAGE_SHARED ? 2 : 1,
				       flags & PAGE_WRITERS ? 2 :
				       (flags & PAGE_WRITTEN) != 0);

	return (enum moca_sharing)(was > now ? was : now);
}

static enum moca_sharing shared_by_processes(uint32_t flags)
{
	unsigned was = (flags & PAGE_WAS_PROCESSES) >> WAS_PROCESSES_SHIFT;
	unsigned now = moca_sharing_of(flags & PAGE_PROCESSES ? 2 : 1,
				       flags & PAGE_WRITER_PROCESSES ? 2 :
				       (flags & PAGE_WRITTEN) != 0);

	return (enum moca_sharing)(was > now ? was : now);
}

/* Its memory was given back, or allocated anew: nobody has used it yet. */
static void begin_anew(struct moca_page_stat *s)
{
	uint32_t flags = s->flags;

	s->flags = (flags & PAGE_MIXED) |
		   shared_by_threads(flags) << WAS_THREADS_SHIFT |
		   shared_by_processes(flags) << WAS_PROCESSES_SHIFT;
	s->first_task = s->writer = MOCA_PAGE_NO_TASK;
}

/* Does the access begin an era of the page? */
static int note_era(const struct moca_table *t, const struct moca_hit *h,
		    struct moca_page_stat *s)
{
	uint32_t era = h->era;

	if (h->whole && t->inst_key[h->id].era > era)
		era = t->inst_key[h->id].era;
	if (era)
		era = era % MOCA_PAGE_ERAS + 1;
	if (s->first_task == MOCA_PAGE_NO_TASK) {
		s->era = era & MOCA_PAGE_ERAS;
		return 1;
	}
	if (!era || s->era == era)
		return 0;
	s->era = era & MOCA_PAGE_ERAS;
	begin_anew(s);
	return 1;
}

/* Who uses the page, by thread and by process. */
static void count_users(const struct moca_table *t, const struct moca_hit *h,
			struct moca_page_stat *s)
{
	uint64_t n = h->loads | h->stores ? h->loads + h->stores :
						  h->a->weight;
	int many = moca_space_is_shared(h->where);

	/* Of pages of one thread nothing is written: most are, and far apart. */
	if (s->flags & PAGE_SHARED)
		s->accesses = n > UINT32_MAX - s->accesses ?
				      UINT32_MAX : s->accesses + (uint32_t)n;
	if (s->first_task == MOCA_PAGE_NO_TASK) {
		s->first_task = h->task & MOCA_PAGE_NO_TASK;
	} else if (s->first_task != h->task) {
		s->flags |= PAGE_SHARED;
		if (many && !same_process(t, s->first_task, h->task))
			s->flags |= PAGE_PROCESSES;
	}
	if (h->a->type != MOCA_ACCESS_WRITE)
		return;
	if (s->writer == MOCA_PAGE_NO_TASK) {
		s->flags |= PAGE_WRITTEN;
		s->writer = h->task & MOCA_PAGE_NO_TASK;
	} else if (s->writer != h->task) {
		s->flags |= PAGE_WRITERS;
		if (many && !same_process(t, s->writer, h->task))
			s->flags |= PAGE_WRITER_PROCESSES;
	}
}

int moca_table_count(struct moca_table *t, struct moca_hit *h)
{
	uint32_t row = t->inst_key[h->id].row;
	struct moca_row_count *c = &t->counts[row];
	struct moca_page_stat *s;

	if (t->opt->keys_only) {
		c->touched = 1;
		return 0;
	}
	s = page_stat(t, row, h);
	if (!s)
		return -ENOMEM;
	h->page = s->number;
	h->anew = note_era(t, h, s);
	count_users(t, h, s);
	if (h->mixed)
		s->flags |= PAGE_MIXED;
	count_row(t, row, h);
	if (c->last_task[h->task & 3] != h->task) {
		if (add_thread(t, row, h->task))
			return -ENOMEM;
		c->last_task[h->task & 3] = h->task;
	}
	return c->wanted ? moca_table_count_details(t, h, row) : 0;
}

/* --- the end ------------------------------------------------------------ */

static void fold_row(struct moca_row *to, const struct moca_row *from)
{
	struct moca_object *o = &to->o;
	const struct moca_object *f = &from->o;
	unsigned i;

	if (f->instances && (!o->instances || f->begin_ns < o->begin_ns)) {
		o->addr = f->addr;
		o->begin_ns = f->begin_ns;
	}
	if (f->first_task != MOCA_NO_TASK &&
	    (o->first_task == MOCA_NO_TASK || f->first_ns < o->first_ns)) {
		o->first_task = f->first_task;
		o->first_ns = f->first_ns;
	}
	if (f->end_ns > o->end_ns)
		o->end_ns = f->end_ns;
	if (f->size > o->size)
		o->size = f->size;
	to->live += from->live;
	to->touched |= from->touched;
	o->instances += f->instances;
	if (__builtin_add_overflow(o->bytes, f->bytes, &o->bytes))
		o->bytes = UINT64_MAX;
	o->accesses += f->accesses;
	o->reads += f->reads;
	o->writes += f->writes;
	o->wide += f->wide;
	o->loads += f->loads;
	o->stores += f->stores;
	for (i = 0; i < MOCA_OBJECT_NODES; i++)
		o->nodes[i] += f->nodes[i];
	o->node_unknown += f->node_unknown;
}

/*
 * The entry of a row that was folded into the same as s: one page, which is shared
 * by the users of both if they are of one era.
 */
static uint32_t merge_page(const struct moca_table *t,
			   const struct moca_page_stat *s,
			   const struct moca_page_stat *x)
{
	uint32_t flags = x->flags & ~(PAGE_WAS_THREADS | PAGE_WAS_PROCESSES);
	int many = moca_space_is_shared(s->space);

	if (x->era != s->era)
		return x->flags & PAGE_MIXED;
	if (x->first_task != s->first_task)
		flags |= PAGE_SHARED |
			 (many && !same_process(t, x->first_task,
						s->first_task) ?
				  PAGE_PROCESSES : 0);
	if (x->writer != s->writer && x->writer != MOCA_PAGE_NO_TASK &&
	    s->writer != MOCA_PAGE_NO_TASK)
		flags |= PAGE_WRITERS |
			 (many && !same_process(t, x->writer, s->writer) ?
				  PAGE_WRITER_PROCESSES : 0);
	return flags;
}

/* One page's entries, n of them, by row. */
static void count_page(struct moca_table *t, const struct moca_page_stat *s,
		       size_t n)
{
	enum moca_sharing threads, processes, other;
	struct moca_object *o;
	struct moca_row *r;
	uint64_t accesses;
	uint32_t flags, mixed = 0;
	size_t i, j;

	for (i = 0; i < n; i++)
		mixed += (s[i].flags & PAGE_MIXED) != 0;
	for (i = 0; i < n; i = j) {
		r = &t->rows[s[i].row - 1];
		o = &r->o;
		flags = s[i].flags;
		accesses = s[i].accesses;
		threads = processes = MOCA_SHARING_PRIVATE;
		for (j = i + 1; j < n && s[j].row == s[i].row; j++) {
			flags |= merge_page(t, &s[i], &s[j]);
			accesses += s[j].accesses;
			other = shared_by_threads(s[j].flags);
			threads = other > threads ? other : threads;
			other = shared_by_processes(s[j].flags);
			processes = other > processes ? other : processes;
		}
		other = shared_by_threads(flags);
		threads = other > threads ? other : threads;
		other = shared_by_processes(flags);
		processes = other > processes ? other : processes;
		moca_sharing_add(&r->by_thread, threads, accesses);
		moca_sharing_add(&r->by_process, processes, accesses);
		o->pages++;
		o->pages_shared += threads != MOCA_SHARING_PRIVATE;
		o->shared_written += threads >= MOCA_SHARING_ONE_WRITER;
		if (j - i < n && mixed > 1 && flags & PAGE_MIXED)
			o->pages_split++;
	}
}

/* The page entries are sorted in place, and are no hash any more. */
static void finish_pages(struct moca_table *t)
{
	struct moca_page_stat *s = t->pages;
	size_t i, j, n = 0;

	for (i = 0; i < t->page_cap; i++) {
		if (!s[i].row)
			continue;
		s[n] = s[i];
		s[n].row = moca_table_target(t, s[n].row - 1) + 1;
		n++;
	}
	moca_page_stats_sort(s, n);
	for (i = 0; i < n; i = j) {
		for (j = i + 1; j < n && s[j].space == s[i].space &&
				s[j].page == s[i].page; j++)
			;
		count_page(t, s + i, j - i);
	}
	free(t->pages);
	t->pages = NULL;
	t->page_cap = t->page_count = 0;
}

static int compare_keys(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int finish_threads(struct moca_table *t)
{
	uint64_t *old = t->threads;
	size_t i, cap = t->thread_cap;
	uint32_t row;
	int err = 0;

	/* Again, since two rows that became one may have a thread in common. */
	t->threads = NULL;
	t->thread_cap = t->thread_count = 0;
	for (i = 0; i < cap && !err; i++) {
		if (!old[i])
			continue;
		row = (uint32_t)(old[i] >> 32) - 1;
		err = add_thread(t, moca_table_target(t, row), (uint32_t)old[i]);
	}
	free(old);
	for (i = 0; i < t->thread_cap; i++)
		if (t->threads[i])
			t->rows[(t->threads[i] >> 32) - 1].o.threads++;
	return err;
}

/* Those of a row's threads: the keys of the hash, sorted by row and process. */
static void finish_processes(struct moca_table *t)
{
	uint64_t *keys = t->threads, x;
	size_t i, n = 0;

	for (i = 0; i < t->thread_cap; i++) {
		x = keys[i];
		if (x)
			keys[n++] = x >> 32 << 32 | t->pids[(uint32_t)x];
	}
	if (n)
		qsort(keys, n, sizeof(*keys), compare_keys);
	for (i = 0; i < n; i++)
		if (!i || keys[i] != keys[i - 1])
			t->rows[(keys[i] >> 32) - 1].o.processes++;
	free(keys);
	t->threads = NULL;
	t->thread_cap = t->thread_count = 0;
}

static void finish_sharing(struct moca_table *t)
{
	struct moca_row *r;
	size_t i;

	for (i = 0; i < t->row_count; i++) {
		r = &t->rows[i];
		moca_sharing_rest(&r->by_thread, r->o.accesses);
		moca_sharing_rest(&r->by_process, r->o.accesses);
		r->o.sharing = moca_sharing_sum(&r->by_thread, r->o.threads,
						r->o.instances < 2);
		r->o.sharing_processes =
			moca_sharing_sum(&r->by_process, r->o.processes,
					 r->o.instances < 2);
		if (r->programs)
			r->o.program = "";
	}
}

/* Into the rows; for good, since nothing is counted any more. */
static void finish_counts(struct moca_table *t)
{
	const struct moca_row_count *c;
	struct moca_object *o;
	size_t i;

	for (i = 0; i < t->row_count; i++) {
		c = &t->counts[i];
		o = &t->rows[i].o;
		o->accesses = c->accesses;
		o->reads = c->reads;
		o->writes = c->writes;
		o->wide = c->wide;
		o->node_unknown = c->node_unknown;
		t->rows[i].touched = c->touched;
	}
	free(t->counts);
	t->counts = NULL;
}

int moca_table_finish(struct moca_table *t)
{
	uint32_t to;
	size_t i;

	finish_counts(t);
	for (i = 0; i < t->row_count; i++) {
		to = moca_table_target(t, (uint32_t)i);
		if (to != i)
			fold_row(&t->rows[to], &t->rows[i]);
	}
	for (i = 0; i < t->row_count; i++)
		if (t->rows[i].live)
			t->rows[i].o.end_ns = 0;
	finish_pages(t);
	for (i = 0; i < t->inst_count; i++)
		t->inst[i].object = moca_table_target(t, t->inst_key[i].row);
	moca_table_finish_details(t);
	if (finish_threads(t))
		return -ENOMEM;
	finish_processes(t);
	finish_sharing(t);
	return 0;
}
