/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table that the pass fills: rows, their objects (instances), and what was
 * seen of them page by page. Fast where an access is counted, and small: see
 * moca_table_count.
 */
#ifndef MOCA_OBJECTS_TABLE_H
#define MOCA_OBJECTS_TABLE_H

#include "analysis/objects/objects.h"
#include "lib/base/strings.h"
#include "lib/base/table.h"

struct moca_row {
	struct moca_object o;	/* pages, threads: filled at the end */
	uint64_t live;		/* objects that have not ended */
	uint32_t alias;		/* of another row, index + 1; 0 = none */
	int programs;		/* several use it: it is of none */
	int touched;		/* with keys_only: it has accesses */
	struct moca_sharing_sums by_thread, by_process;
	uint32_t site;		/* of allocations, index + 1; 0 = none */
};

/* What each access to a row changes: one cache line, until it goes into o. */
struct moca_row_count {
	_Alignas(64) uint64_t accesses;
	uint64_t reads, writes, wide;
	uint64_t node_unknown;
	uint32_t last_task[4];	/* that are known to have touched it */
	int wanted;		/* keep details (options.name) */
	int touched;		/* with keys_only: it has accesses */
};

/*
 * What was seen of a page in a row. A page has a history each time that its memory
 * begins anew: who used it before says nothing of who shares it now. The newest is
 * here, and of those before it how strongly any was shared.
 */
struct moca_page_stat {
	uint64_t page : 52;	/* number */
	uint64_t flags : 12;
	uint64_t first_task : 23;
	uint64_t writer : 23;	/* the first one */
	uint64_t era : 18;	/* a part of its number; 0: none is known */
	uint32_t space;
	uint32_t row;		/* index + 1; 0 = empty */
	uint32_t number;	/* as in struct moca_observed */
	uint32_t accesses;	/* while it was shared; at most UINT32_MAX */
};
#define MOCA_PAGE_NO_TASK ((1u << 23) - 1)	/* beyond all tasks of a trace */
#define MOCA_PAGE_ERAS ((1u << 18) - 1)

/* What each access needs of an instance. */
struct moca_inst_key {
	uint32_t row;
	uint32_t era;		/* that began with it */
};

/*
 * By space, page and row; in place, as there are tens of MB of them when memory
 * is at its peak, of which qsort wants as much again. table-sort.c.
 */
void moca_page_stats_sort(struct moca_page_stat *s, size_t n);

/* Which instance stands for a row at a place. */
struct moca_place {
	uint64_t addr;
	uint32_t row;
	uint32_t space;
	uint32_t id;		/* 0 = empty */
};

struct moca_touch {
	uint64_t ip;
	struct moca_module *module;	/* what the ip is in, once completed */
	uint64_t vaddr;
	uint32_t row;		/* index + 1; 0 = empty */
	uint32_t task;
	uint32_t space;
	uint32_t jit;		/* in t->jits, and 1; 0 = no such code */
	uint64_t reads, writes, accesses;
};

struct moca_heap;
struct moca_jits;

struct moca_table {
	const struct moca_objects_options *opt;
	const uint32_t *pids;		/* of tasks, by number */
	const struct moca_jits *jits;	/* names of code; NULL: none */
	struct moca_strings strings;
	struct moca_row *rows;
	struct moca_row_count *counts;	/* of each row */
	size_t row_count, row_cap;
	struct moca_index row_index;
	/* Instance 0 is none. Two arrays, as an access needs the row only. */
	struct moca_inst_key *inst_key;
	uint32_t era;		/* the last one that began */
	struct moca_instance *inst;
	size_t inst_count, inst_cap;
	uint64_t expected;		/* there are hardly more instances; 0: not known */
	uint32_t inst_free;		/* a chain by inst.object; 0 = end */
	struct moca_heap *heap;		/* is told of their ends; or NULL */
	struct moca_place *places;
	size_t place_count, place_cap;
	struct moca_page_stat *pages;
	size_t page_count, page_cap;
	uint64_t *threads;		/* row + 1 << 32 | task; 0 = empty */
	size_t thread_count, thread_cap;
	struct moca_touch *touches;
	size_t touch_count, touch_cap;
	struct moca_touch *new_touch;
	struct moca_range *ranges;	/* object + 1; 0 = empty */
	size_t range_count, range_cap;
};

/* Memory was given back or allocated anew: the number of the era that begins for
 * it, never 0. */
static inline uint32_t moca_table_era(struct moca_table *t)
{
	t->era += t->era != UINT32_MAX;
	return t->era;
}

/* Are two tasks threads of one process? */
static inline int same_process(const struct moca_table *t, uint32_t a,
			       uint32_t b)
{
	return t->pids[a] == t->pids[b];
}

#define MOCA_NAME_HEAP "[heap]"
/* Of one whose small objects were not all told. */
#define MOCA_NAME_THINNED "small objects, not told apart"
#define MOCA_NAME_ALLOCATOR "malloc's own memory"	/* of a known heap */

/* Are details of objects of that name to be kept? */
int moca_table_wants(const struct moca_table *t, const char *name);
/* Any name that the memory of an allocator may get in the end. */
static inline int moca_table_wants_heap(const struct moca_table *t)
{
	return moca_table_wants(t, MOCA_NAME_HEAP) ||
	       moca_table_wants(t, MOCA_NAME_THINNED) ||
	       moca_table_wants(t, MOCA_NAME_ALLOCATOR);
}

void moca_table_free(struct moca_table *t);

/*
 * The row of that key; strings must be of t->strings. New ones begin with
 * nothing known. Its index, or -ENOMEM.
 */
int64_t moca_table_row(struct moca_table *t, const char *program,
		       enum moca_object_kind kind, const char *name,
		       const char *site);
/*
 * A new object of the row, of size bytes at addr, from time on. Its id, or
 * -ENOMEM. counted: it is one of the row's instances.
 */
int64_t moca_table_instance(struct moca_table *t, uint32_t row, uint32_t pid,
			    uint64_t addr, uint64_t size, uint64_t time_ns,
			    int counted);
/*
 * The same, but the one that the row has at that place of that space already,
 * if it does.
 */
int64_t moca_table_place(struct moca_table *t, uint32_t row, uint32_t space,
			 uint32_t pid, uint64_t addr, uint64_t size,
			 uint64_t time_ns);
/* Of the row there are objects from then on that are not told one by one. */
void moca_table_lives(struct moca_table *t, uint32_t row, uint64_t time_ns);
/* It ends. drop: nobody has the id any more, it may be used again. */
void moca_table_end(struct moca_table *t, uint32_t id, uint64_t time_ns,
		    int drop);

/* An access with what it went to. */
struct moca_hit {
	const struct moca_access *a;
	size_t task_index;	/* in the trace */
	uint32_t task;		/* number */
	uint32_t space;		/* of the process */
	uint32_t where;		/* the same, or of what is mapped there; */
	uint64_t at;		/* address in that */
	uint32_t id;		/* instance */
	uint32_t page;		/* as in struct moca_observed; by _count */
	uint32_t era;		/* of the memory, if it was ever given back */
	uint64_t hash;		/* of row, space and page; by _prefetch */
	uint64_t interval;	/* of the task's chunk */
	uint64_t n;		/* number among the task's accesses */
	int mixed;		/* the page has other objects too */
	int whole;		/* all of the page is the instance's: it began
				   with that */
	int anew;		/* the page's first access in an era; by _count */
	int wide;
	int below;		/* no object was told at the address */
	uint64_t loads, stores;	/* if not 0: so many accesses; a is the first */
};

/* Add what a hit stands for. */
static inline void moca_weigh(const struct moca_hit *h, uint64_t *accesses,
			      uint64_t *reads, uint64_t *writes)
{
	if (h->loads | h->stores) {
		*accesses += h->loads + h->stores;
		*reads += h->loads;
		*writes += h->stores;
		return;
	}
	*accesses += h->a->weight;
	if (h->a->type == MOCA_ACCESS_WRITE)
		*writes += h->a->weight;
	else if (h->a->type != MOCA_ACCESS_UNKNOWN)
		*reads += h->a->weight;
}

/* Is h->where of memory that several processes may map? (shared.c) */
int moca_space_is_shared(uint32_t space);

/* Get what counting it will need nearer. */
void moca_table_prefetch(const struct moca_table *t, struct moca_hit *h);
/* Behind _prefetch. 0; 1: the first by this instruction, complete t->new_touch; -ENOMEM. */
int moca_table_count(struct moca_table *t, struct moca_hit *h);

/*
 * table-details.c: the rest of it, of a row that is wanted; as moca_table_count.
 */
int moca_table_count_details(struct moca_table *t, const struct moca_hit *h,
			     uint32_t row);

/* Fold rows into those they are aliases of, and fill in what is counted last. */
int moca_table_finish(struct moca_table *t);
/* The same of details: they are arrays then, and no hashes any more. */
void moca_table_finish_details(struct moca_table *t);

/* The row that a row counts for, as index. */
static inline uint32_t moca_table_target(const struct moca_table *t,
					 uint32_t row)
{
	/* Aliases are of rows that have none. */
	return t->rows[row].alias ? t->rows[row].alias - 1 : row;
}

#endif
