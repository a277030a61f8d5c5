// SPDX-License-Identifier: GPL-2.0-or-later
/* What phases alone need of accesses: their sums by row and window, and pages by window. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/profile/passes.h"
#include "lib/base/vec.h"

#define AHEAD 32u		/* accesses; a power of two */

/* Of a row, in the latest window. */
struct window_sum {
	uint64_t accesses;	/* by the length of their interval */
	uint32_t reads, writes;
};

/* An access whose page is being fetched. */
struct use {
	struct page_place place;
	uint64_t interval;
	unsigned window, weight;
	int write;
};

struct window_walk {
	struct page_windows pages;
	struct use ring[AHEAD];
	size_t used;
	unsigned now;		/* the latest window, and its sums by key */
	struct window_sum *sums;
	size_t sum_cap;
	uint64_t noted_interval;	/* what was noted last */
	unsigned noted_window;
};

struct window_walk *windows_begin(size_t limit)
{
	struct window_walk *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->pages.limit = limit;
	w->noted_interval = UINT64_MAX;
	return w;
}

void windows_free(struct window_walk *w)
{
	if (!w)
		return;
	page_windows_free(&w->pages);
	free(w->sums);
	free(w);
}

static void add(struct row *r, unsigned window, const struct window_sum *s)
{
	r->accesses += s->accesses;
	if (r->reads_in)
		r->reads_in[window] += s->reads;
	if (r->writes_in)
		r->writes_in[window] += s->writes;
}

/* The sums of the latest window go to their rows. */
static void end_window(struct gather *g)
{
	struct window_walk *w = g->windows;

	for (size_t i = 0; i < w->sum_cap; i++) {
		if (w->sums[i].accesses || w->sums[i].reads ||
		    w->sums[i].writes)
			add(g->rows[i], w->now, &w->sums[i]);
		w->sums[i] = (struct window_sum){ 0 };
	}
}

static int make_room(struct gather *g, uint32_t key)
{
	struct window_walk *w = g->windows;

	if (!row_at(g, key))
		return -ENOMEM;
	return moca_vec_fit_zeroed(w->sums, w->sum_cap, (size_t)key + 1);
}

static int take(struct gather *g, struct use *u)
{
	struct window_walk *w = g->windows;
	uint32_t key = u->place.key;
	struct window_sum one = { 0 }, *to = &one;
	int is_new, err = 0;

	if (key >= w->sum_cap || key >= g->row_cap || !g->rows[key])
		err = make_room(g, key);
	is_new = err ? err : page_windows_use(&w->pages, &u->place, u->window);
	if (is_new < 0 || is_new == PAGE_LEFT_OUT)
		return is_new < 0 ? is_new : 0;
	g->p->working_set[u->window] += (uint64_t)is_new;
	if (u->window > w->now) {
		end_window(g);
		w->now = u->window;
	}
	/* Few come late. */
	if (u->window == w->now)
		to = &w->sums[key];
	to->accesses += (uint64_t)lengths_weight(&g->lengths, u->interval) *
			u->weight;
	to->reads += u->write ? 0 : u->weight;
	to->writes += u->write ? u->weight : 0;
	if (to == &one)
		add(g->rows[key], u->window, &one);
	if (u->interval != w->noted_interval || u->window != w->noted_window) {
		note_interval(g, u->interval, u->window);
		w->noted_interval = u->interval;
		w->noted_window = u->window;
	}
	return 0;
}

void moca_profile_use(struct moca_profile_walk *walk,
		      const struct moca_settled *x)
{
	struct gather *g = &walk->g;
	struct window_walk *w = g->windows;
	struct use *u = &w->ring[w->used % AHEAD];

	if (x->interval >= UINT32_MAX || g->err)
		return;
	if (w->used >= AHEAD)
		g->err = take(g, u);
	w->used++;
	u->place = (struct page_place){ .page = x->addr >> PAGE_SHIFT,
					.space = x->space, .key = x->key };
	u->interval = x->interval;
	u->window = window_of(g, x->access->time_ns);
	u->weight = x->access->weight;
	u->write = x->access->type == MOCA_ACCESS_WRITE;
	page_windows_prefetch(&w->pages, &u->place);
}

int windows_end(struct gather *g)
{
	struct window_walk *w = g->windows;
	size_t i = w->used > AHEAD ? w->used - AHEAD : 0;

	for (; i < w->used && !g->err; i++)
		g->err = take(g, &w->ring[i % AHEAD]);
	if (!g->err)
		end_window(g);
	return g->err;
}
