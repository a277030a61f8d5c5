/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the passes share. */
#ifndef MOCA_ANALYSIS_PROFILE_PASSES_H
#define MOCA_ANALYSIS_PROFILE_PASSES_H

#include "analysis/profile/lines.h"
#include "analysis/profile/profile.h"

#define PAGE_SHIFT 12
#define NO_PAGE UINT32_MAX

enum page_flags {
	PAGE_WRITTEN_LATE = 1,	/* written after its first interval */
	PAGE_USED_LATE = 2,
};

/* What is known of a page of a row. */
struct page {
	uint32_t first_interval;
	uint32_t last_interval;
	uint32_t accesses;	/* 0: none yet */
	uint32_t late_writes;
	uint16_t last_window;
	uint8_t first_lane;
	uint8_t last_lane;
	uint8_t home;		/* node; MOCA_TOPOLOGY_NO_NODE: not known */
	uint8_t returns;	/* of lanes, after another one; at most 255 */
	uint8_t flags;
	uint8_t first_window;
	uint16_t use[];		/* accesses, of each lane; in proportion */
};

/* Which page it is, apart: an access does not need it. */
struct page_id {
	uint64_t number;	/* of the page */
	uint32_t space;
	uint32_t key;		/* of the row */
};

/* By struct moca_observed's page. */
struct pages {
	size_t entry;		/* bytes of one */
	size_t limit;
	size_t count;		/* up to the last that was accessed */
	char *entries;
	struct page_id *ids;
};

int pages_init(struct pages *p, unsigned lanes);
void pages_free(struct pages *p);
struct page *pages_at(const struct pages *p, size_t i);
/* The page of an access; NULL: no room. */
struct page *pages_get(struct pages *p, const struct moca_observed *x);

/* What is gathered of a row (by key) while accesses come. */
struct row {
	uint64_t reads, writes, accesses, pages;
	uint64_t remote, unknown;	/* as recorded; 0 on a what-if machine */
	uint64_t steps, steps_next, steps_near;
	uint64_t touch_ip, touch_ns;	/* a majority vote of first touches */
	uint64_t touch_votes;
	uint32_t touch_task;
	uint64_t *last_page;		/* of each lane; 0 = none */
	uint64_t *written;		/* writes of each lane */
	uint32_t *reads_in, *writes_in, *touches_in, *remote_in;
};

struct seen {
	const struct moca_observed *x;
	struct row *row;
	struct page *page;
	unsigned lane;
	unsigned window;
	int is_new;		/* the page's first access in this row */
};

struct gather {
	struct moca_profile *p;
	struct line_walk *lines;
	struct pages pages;
	struct row **rows;	/* by key */
	size_t row_cap;
	size_t with_windows;
	uint64_t intervals;	/* of the trace, with those without accesses */
	/* Of each window's accesses; UINT64_MAX where none are. */
	uint64_t first_interval[MOCA_PROFILE_WINDOWS];
	int err;
};

/*
 * A pass: access is called for each access in order of time; page for each
 * page of a row, by space and number (of the page), i of n; object when that is done.
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

extern const struct pass moca_pass_working_set, moca_pass_sharing,
	moca_pass_first_touch, moca_pass_distribution, moca_pass_remote,
	moca_pass_steps, moca_pass_reuse, moca_pass_temperature,
	moca_pass_patterns;

/*
 * Counts distinct pages, and fills what rows inherited; rows by id. 0 or
 * -ENOMEM.
 */
int owners_find(struct gather *g);
/* Is it the program's own data? */
int moca_profile_is_data(const struct moca_object *o);
/* Fills p->task_nodes, where several nodes were recorded. 0 or -ENOMEM. */
int moves_begin(struct moca_profile *p);
void moves_take(struct moca_profile *p, const struct moca_observed *x);
/* Deal the tasks out over lanes. Fills p->lane_of, lanes. 0 or -ENOMEM. */
int moca_profile_place(struct moca_profile *p, const struct moca_trace *t);

/* The lane that used a page most. */
static inline unsigned page_main_lane(const struct moca_profile *p,
				      const struct page *page)
{
	unsigned i, best = 0;

	for (i = 1; i < p->lanes; i++)
		if (page->use[i] > page->use[best])
			best = i;
	return best;
}

#endif
