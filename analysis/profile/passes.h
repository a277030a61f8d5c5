/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the passes share. */
#ifndef MOCA_ANALYSIS_PROFILE_PASSES_H
#define MOCA_ANALYSIS_PROFILE_PASSES_H

#include "analysis/profile/lines.h"
#include "analysis/profile/profile.h"

#define PAGE_SHIFT 12

enum page_flags {
	PAGE_WRITTEN_LATE = 1,	/* written after its first interval */
	PAGE_USED_LATE = 2,
	PAGE_BEGAN = 4,		/* its memory began anew in its last interval */
	PAGE_RECYCLED = 8,	/* there are several histories of it; */
	PAGE_OTHER = 16,	/* another one has more accesses */
	PAGE_PRESENT = 32,	/* it was accessed */
	PAGE_OUTSIDE = 64,	/* not in each sweep's sample, if its row is sampled */
	PAGE_UNWATCHED = 128,	/* of its history parts may be missing */
};

/*
 * What is known of a page of a row; of those of its histories (analysis/objects/
 * table.h) that the same lane began, together.
 */
struct page {
	uint32_t first_interval;
	uint32_t last_interval;
	uint32_t accesses;	/* by weight */
	uint32_t late_writes;	/* likewise */
	uint32_t visits;	/* intervals that it has records in */
	uint8_t last_window;
	uint8_t users;		/* of its last history: a bit of each lane % 8 */
	uint8_t first_lane;
	uint8_t last_lane;
	uint8_t home;		/* node; MOCA_TOPOLOGY_NO_NODE: not known */
	uint8_t returns;	/* of lanes, after another one; at most 255 */
	uint8_t flags;
	uint8_t first_window;
	uint16_t use[];		/* accesses of each lane; in proportion */
};

/* Behind use, where sweeps took samples, or intervals differ in length. */
struct page_history {
	uint32_t accesses;	/* by the lengths of intervals alone */
	uint32_t new_in;	/* window + 1, if its first record of all weighs 1 */
	float seldom, often;	/* struct length_uses, of intervals that use it */
};

/* Which page it is, apart: an access does not need it. */
struct page_id {
	uint64_t number : 52;	/* of the page */
	uint64_t era : 12;	/* of its memory when its last history began */
	uint32_t space;
	uint32_t key;		/* of the row */
};

/* Histories of a page that its entry does not hold: another lane began them. */
struct parked {
	uint32_t page;		/* its index + 1; 0: empty */
	uint32_t lane;
	size_t at;		/* index */
};

/* By struct moca_observed's page; what is parked is from the limit on downwards. */
struct pages {
	size_t entry;		/* bytes of one */
	size_t limit;
	size_t count;		/* up to the last that was accessed */
	char *entries;
	struct page_id *ids;
	struct parked *parked;
	size_t parked_count, parked_cap;
};

/* history: with room for struct page_history. */
int pages_init(struct pages *p, unsigned lanes, int history);
void pages_free(struct pages *p);
struct page *pages_at(const struct pages *p, size_t i);
/* The page of an access; NULL: no room. */
struct page *pages_get(struct pages *p, const struct moca_observed *x);
/*
 * The memory of the page begins anew with x, of this lane: its entry holds that
 * lane's histories from now on. 1: the kernel places it anew; 0: it stays where it
 * was, as who allocates keeps memory; or -ENOMEM.
 */
int pages_begin(struct pages *p, struct page *page,
		const struct moca_observed *x, unsigned lane);
/*
 * Room to find pages by where they are: a hash of their indices + 1, at most half full,
 * with zeros where none is. *mask: its size - 1. NULL: no memory. Freed by free().
 */
uint32_t *pages_index(const struct pages *p, size_t *mask);
/* Of all entries, with those that are parked: the index of the i-th. */
static inline size_t pages_all(const struct pages *p, size_t i)
{
	return i < p->count ? i : p->limit - 1 - (i - p->count);
}

/* How far ahead of the page at hand its place in such a hash is fetched. */
#define PAGES_AHEAD 16

/* places.c: which process each space is of. */
struct places {
	uint32_t *pids;		/* of tasks, by number */
	size_t task_count;
	uint32_t *pid_of_space;	/* of those that were seen and are no memories */
	size_t space_count;
};

/* x is the first access of its row to its page. 0 or -ENOMEM. */
int places_note(struct places *p, const struct moca_observed *x);

/* Bytes that pages take decide how many there may be: index and more are left out. */
size_t pages_limit(unsigned lanes, int history);

/* page-windows.c: a row of a page, when phases alone are wanted. */
struct page_use {
	uint32_t key;		/* of the row, + 1; 0: free */
	uint32_t windows;	/* the last one, + 1: 8 bits; and a bit for each of
				   those before it that it was used in */
};

struct page_windows {
	size_t count, limit;	/* rows of pages */
	struct page_leaf *leaves;	/* a hash */
	size_t leaf_cap, leaf_entries;
	struct leaf **slabs;
	size_t slab_cap, leaf_count;
	struct page_more *mores;	/* a hash */
	size_t more_cap, more_count;
	uint64_t near_number;	/* the leaf that was looked for last */
	uint32_t near_space, near;
};
#define PAGE_LEFT_OUT 2

struct page_place {
	uint64_t page;		/* number */
	uint32_t space;
	uint32_t key;		/* of the row */
	struct page_use *ways;	/* by _prefetch */
};

/* Get what _use will need nearer. */
void page_windows_prefetch(struct page_windows *p, struct page_place *x);
/* 1: the page is new in this window; 0; PAGE_LEFT_OUT; -ENOMEM. */
int page_windows_use(struct page_windows *p, struct page_place *x,
		     unsigned window);
void page_windows_free(struct page_windows *p);

/* A page of an object, by row, address space and address. */
struct order {
	uint32_t object;
	uint32_t space;
	uint32_t page;		/* index */
	uint64_t number;
};

/* What is gathered of a row (by key) while accesses come. */
struct row {
	uint64_t reads, writes, accesses;	/* by weight */
	uint64_t records;
	uint64_t remote, unknown;	/* likewise; 0 on a what-if machine */
	uint64_t pages;
	uint64_t steps, steps_next, steps_near;
	uint64_t touch_ip, touch_ns;	/* a majority vote of first touches */
	uint64_t touch_votes;
	uint32_t touch_task;
	int sampled;		/* some of its records do not weigh 1 */
	uint64_t swept;		/* records that weigh 1, of intervals with samples,
				   of pages that were there before, not of the core */
	uint64_t *last_page;		/* of each lane; 0 = none */
	uint64_t *written;		/* writes of each lane, by weight */
	uint32_t *reads_in, *writes_in, *touches_in, *remote_in;
	struct moca_profile_code *code;	/* as the object's */
	/* Of each lane, where it went on last in STREAMS places, the last of these
	   first; 0 = none. NULL: few pages. */
	uint64_t *streams;
};

struct seen {
	const struct moca_observed *x;
	struct row *row;
	struct page *page;
	unsigned lane;
	unsigned weight;	/* struct lengths, times what the record weighs */
	unsigned length;	/* struct lengths alone */
	unsigned window;
	int is_first;		/* the page's first access in this row */
	int is_new;		/* the first of such a history of it */
	int is_placed;		/* the kernel chooses the page's node by it */
};

/* What a record weighs, by its interval: 0 < weight <= UINT16_MAX / 2. */
struct lengths {
	unsigned unit;		/* where the length is the mean one; 1: where
				   all are, and there is nothing below */
	unsigned use_unit;	/* what struct page counts in `use`, of weights */
	size_t count;
	double median_ns;	/* of the lengths; 0: all are taken for equal */
	uint16_t *weight;
	/* In medians of their lengths: a use of a page in an interval, by how often a
	 * page is used; and this interval and all behind it. */
	struct length_uses {
		float seldom, often;
		double since;
	} *uses;
};
/* Of intervals of the median length, those that it is used in. */
#define LENGTHS_SELDOM 0.25f
#define LENGTHS_OFTEN 0.5f

struct gather {
	struct moca_profile *p;
	struct lengths lengths;
	struct line_walk *lines;
	struct pages pages;
	struct window_walk *windows;	/* for phases alone; or NULL */
	struct row **rows;	/* by key */
	size_t row_cap;
	size_t with_windows;
	unsigned node_lanes;	/* lanes of each node */
	unsigned near;		/* the window of the last access, */
	uint64_t near_begin, near_end;	/* and its time */
	uint64_t intervals;	/* of the trace, with those without accesses */
	struct places places;
	struct moca_trace *trace;
	uint8_t *sampled_in;	/* of each interval: it has records of samples;
				   NULL: nothing was sampled */
	size_t sampled_count;
	/*
	 * Pages in each window, where sweeps took samples: those that are new, and
	 * of the others the most that one sweep tells of.
	 */
	uint64_t new_pages[MOCA_PROFILE_WINDOWS];
	uint64_t most_pages[MOCA_PROFILE_WINDOWS];
	struct sweep {
		uint32_t window, pages;	/* the last window with records of it */
	} *sweeps;		/* by interval */
	size_t sweep_count;
	unsigned core;		/* stripes of this rank and more are let go by each
				   sweep; beyond all ranks: none is */
	/* Of each window's accesses; UINT64_MAX where none are. */
	uint64_t first_interval[MOCA_PROFILE_WINDOWS];
	int err;
};

struct moca_profile_walk {
	struct gather g;
};

/*
 * A pass: access is called for each access in order of time; page for each
 * page of a row, by space and number (of the page), i of n; object when that is done.
 * A page with several histories is passed for each: see page_counts().
 */
struct pass {
	const char *name;
	void (*access)(struct gather *g, const struct seen *s);
	void (*page)(const struct moca_profile *p,
		     struct moca_profile_object *o, const struct page *page,
		     uint64_t number, size_t i, size_t n);
	void (*object)(const struct moca_profile *p,
		       struct moca_profile_object *o);
};

/* places.c: fills p->data_pages, other_pages. 0 or -ENOMEM. */
int places_count(const struct gather *g);

/* windows.c: what phases alone need. */
struct window_walk *windows_begin(size_t limit);
/* The last accesses, too. 0 or -ENOMEM. */
int windows_end(struct gather *g);
void windows_free(struct window_walk *w);

/* profile.c. The row of a key; NULL: no memory. */
struct row *row_at(struct gather *g, uint32_t key);
/* Costs no division where it is that of the access before, as nearly always. */
unsigned window_of(struct gather *g, uint64_t time_ns);
void note_interval(struct gather *g, uint64_t interval, unsigned window);

extern const struct pass moca_pass_working_set, moca_pass_sharing,
	moca_pass_first_touch, moca_pass_distribution, moca_pass_remote,
	moca_pass_steps, moca_pass_reuse, moca_pass_temperature,
	moca_pass_code, moca_pass_patterns;

/* Adds what the row has to the object, or gives it away. */
void code_add(const struct moca_profile *p, struct moca_profile_object *o,
	      struct row *r);

/*
 * By the begins of intervals in the trace; so many are in it, 0: not known. 0 or
 * -errno.
 */
int lengths_find(struct lengths *l, struct moca_trace *t,
		 const struct moca_profile *p, uint64_t intervals);
void lengths_free(struct lengths *l);
/* Sets hot_ns and cold_ns of the profile: how often its hot and cold pages are used. */
void temperature_times(struct gather *g);
/* Fills p->top_weight, g->sampled_in, g->core. 0 or -errno. */
int samples_find(struct gather *g, struct moca_trace *t);
/* An access, where sweeps took samples. */
void samples_take(struct gather *g, const struct seen *s);
void samples_take_set(struct gather *g, const struct seen *s);
/* Fills p->working_set. */
void samples_working_set(const struct gather *g);
/* Which of an object's n pages tell of their histories, and o->watched_pages. */
void samples_watch(const struct gather *g, struct moca_profile_object *o,
		   const struct order *order, size_t n);
/* What was found with these, in proportion to all pages and accesses. */
void samples_extrapolate(struct moca_profile_object *o);
/*
 * Of each task, what its records of one interval weigh at most, by its number: how
 * much it does while it works, however long that is. `of` is zeroed. 0 or -errno.
 */
int lengths_peaks(struct moca_trace *t, uint64_t *of, uint32_t tasks);
static inline unsigned lengths_weight(const struct lengths *l,
				      uint64_t interval)
{
	return interval < l->count ? l->weight[interval] : l->unit;
}
/* What was gathered of an object by weight, in intervals of mean length. */
void lengths_scale(const struct lengths *l, const struct moca_profile *p,
		   struct moca_profile_object *o);
/*
 * Counts distinct pages, and fills what rows inherited; rows by id. 0 or
 * -ENOMEM.
 */
int owners_find(struct gather *g);
/* Is it the program's own data? */
int moca_profile_is_data(const struct moca_object *o);
/* Add a row to the sums of accesses that are not weighed by length. */
void moca_profile_count(struct moca_profile *p,
			const struct moca_profile_object *o);
/* Fills p->task_nodes, where several nodes were recorded. 0 or -ENOMEM. */
int moves_begin(struct moca_profile *p);
void moves_take(struct moca_profile *p, const struct moca_observed *x,
		unsigned weight);
/* Deal the tasks out over lanes. Fills p->lane_of, lanes. 0 or -errno. */
int moca_profile_place(struct moca_profile *p, struct moca_trace *t);

/* Is it to be counted as a page, not only for its accesses? */
static inline int page_counts(const struct page *page)
{
	return !(page->flags & PAGE_OTHER);
}

/* The same, by what was done with it from its first access to its last. */
static inline int page_tells(const struct page *page)
{
	return !(page->flags & (PAGE_OTHER | PAGE_UNWATCHED));
}

static inline size_t page_history_at(unsigned lanes)
{
	return (sizeof(struct page) + 2 * lanes + 3) & ~(size_t)3;
}

/* NULL: there is none. */
static inline struct page_history *page_history(const struct moca_profile *p,
						const struct page *page)
{
	char *at = (char *)page + page_history_at(p->lanes);

	return p->sampled || p->lengths->uses ?
		       (struct page_history *)(void *)at : NULL;
}

#endif
