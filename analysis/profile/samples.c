// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sweeps that took samples (doc/format.md, "Weights"): of which pages the whole
 * history is known, and how sure sums of accesses are.
 *
 * Each sweep lets go other stripes, by chance. Of a page of these it is not known in
 * which intervals it was not used, and in which it was not looked at. But some stripes,
 * the core, are let go by each sweep: what their records tell of when pages are used,
 * and by whom in turn, is as with full sweeps, and they stand for the object's other
 * pages. First touches are known of all.
 */
#include "analysis/profile/passes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/trace.h"
#include "lib/base/stripe.h"
#include "lib/base/vec.h"
#include "lib/format/trace.h"

#define NO_CORE (MOCA_STRIPE_RANK_MAX + 1)
#define STRIPE_PAGES (MOCA_STRIPE_BYTES >> PAGE_SHIFT)
/* Of watched stripes: fewer say little of the rest of an object. */
#define STRIPES_MIN 8
/* Records of each page, at least, by which an object is known to be swept whole. */
#define SWEPT_MIN 1
/* What the numbers of intervals in a (perhaps corrupt) file may reach. */
#define INTERVALS_MAX (1u << 22)

int samples_find(struct gather *g, struct moca_trace *t)
{
	struct moca_profile *p = g->p;
	const struct moca_chunk *c;
	struct moca_cursor *cursor;
	unsigned top = moca_trace_top_weight(t);
	uint64_t core;
	int ret;

	p->sampled = top != 1;
	p->top_weight = top ? top : 1;
	if (!p->sampled)
		return 0;
	core = trace_meta_u64(t, META_SAMPLE_CORE, UINT64_MAX);
	g->core = core && core <= MOCA_STRIPE_RANK_MAX ? (unsigned)core :
							 NO_CORE;
	ret = moca_cursor_open(&cursor, t, NULL);
	if (ret)
		return ret;
	moca_chunks_only(cursor);
	while ((ret = moca_cursor_chunk(cursor, &c)) > 0) {
		if (c->interval >= INTERVALS_MAX || c->top_weight <= 1)
			continue;
		if (moca_vec_fit_zeroed(g->sampled_in, g->sampled_count,
					(size_t)c->interval + 1)) {
			ret = -ENOMEM;
			break;
		}
		g->sampled_in[c->interval] = 1;
	}
	moca_cursor_close(cursor);
	return ret;
}

void samples_take(struct gather *g, const struct seen *s)
{
	const struct moca_observed *x = s->x;
	struct page_history *h = page_history(g->p, s->page);

	if (h->accesses <= UINT32_MAX - s->length)
		h->accesses += s->length;
	if (x->rank < g->core)
		s->page->flags |= PAGE_OUTSIDE;
	/* 0: a write to what was not let go. */
	if (x->weight > 1)
		s->row->sampled = 1;
	else if (x->weight && x->rank < g->core && !s->is_new && !x->anew &&
		 x->interval > s->page->last_interval &&
		 x->interval < g->sampled_count && g->sampled_in[x->interval])
		s->row->swept++;
}

/*
 * Each sweep of a window draws anew, and what it has stands for all pages that are
 * used in its interval: those of several are not to be added up. First touches
 * are complete.
 */
void samples_take_set(struct gather *g, const struct seen *s)
{
	struct page_history *h = page_history(g->p, s->page);
	int again = !s->is_first && s->page->last_window == s->window;
	const struct moca_observed *x = s->x;
	struct sweep *sweep;

	g->p->working_set[s->window] += !again;
	if (s->is_first && x->weight == 1) {
		h->new_in = s->window + 1;
		g->new_pages[s->window]++;
	}
	if (!x->weight || h->new_in == s->window + 1 ||
	    x->interval >= INTERVALS_MAX ||
	    (again && s->page->last_interval == x->interval))
		return;
	if (moca_vec_fit_zeroed(g->sweeps, g->sweep_count,
				(size_t)x->interval + 1)) {
		g->err = -ENOMEM;
		return;
	}
	sweep = &g->sweeps[x->interval];
	if (sweep->window != s->window)
		*sweep = (struct sweep){ .window = s->window };
	if (sweep->pages <= UINT32_MAX - x->weight)
		sweep->pages += x->weight;
	if (g->most_pages[s->window] < sweep->pages)
		g->most_pages[s->window] = sweep->pages;
}

/* At least what has records. */
void samples_working_set(const struct gather *g)
{
	struct moca_profile *p = g->p;
	uint64_t n;
	unsigned w;

	for (w = 0; w < p->windows; w++) {
		n = g->new_pages[w] + g->most_pages[w];
		if (p->working_set[w] < n)
			p->working_set[w] = n;
	}
}

/* The stripes of an object, one after the other. */
struct stripes {
	uint64_t number;	/* of the present one, and 1 */
	uint32_t space;
	uint64_t accesses, as_seen;	/* of it; without what its records weigh */
	uint64_t watched;
};

/*
 * A stripe was in a sample by chance, and stands for others like it: with w for its
 * weight, and a chance of 1/w, the variance of what it adds is (w - 1) / w of that
 * squared.
 */
static void end_stripe(struct moca_profile_object *o, struct stripes *s)
{
	if (s->accesses > s->as_seen)
		o->variance += (double)s->accesses *
			       (double)(s->accesses - s->as_seen);
	s->accesses = s->as_seen = 0;
}

void samples_watch(const struct gather *g, struct moca_profile_object *o,
		   const struct order *order, size_t n)
{
	int all = !g->p->sampled ||
		  (!o->sampled && o->swept >= SWEPT_MIN * o->pages);
	struct stripes s = { 0 };
	struct page *page;
	size_t i;

	for (i = 0; i < n; i++) {
		page = pages_at(&g->pages, order[i].page);
		if (g->p->sampled &&
		    (s.number != order[i].number / STRIPE_PAGES + 1 ||
		     s.space != order[i].space)) {
			end_stripe(o, &s);
			s.number = order[i].number / STRIPE_PAGES + 1;
			s.space = order[i].space;
			s.watched += !(page->flags & PAGE_OUTSIDE);
		}
		s.accesses += page->accesses;
		s.as_seen += g->p->sampled ? page_history(g->p, page)->accesses :
					     page->accesses;
		if (!all && page->flags & PAGE_OUTSIDE) {
			page->flags |= PAGE_UNWATCHED;
			continue;
		}
		o->watched_pages += (uint64_t)page_counts(page);
		o->watched_accesses += page->accesses;
	}
	end_stripe(o, &s);
	if (all || s.watched >= STRIPES_MIN)
		return;
	o->watched_pages = o->watched_accesses = 0;
	for (i = 0; i < n; i++)
		pages_at(&g->pages, order[i].page)->flags |= PAGE_UNWATCHED;
}

static void extrapolate(uint64_t *n, uint64_t to, uint64_t from)
{
	if (from && to != from)
		*n = (uint64_t)llround((double)*n * (double)to / (double)from);
}

/* From the watched pages to all. */
void samples_extrapolate(struct moca_profile_object *o)
{
	uint64_t *const pages[] = {
		&o->private_pages, &o->migratory_pages, &o->shared_pages,
		&o->even_pages, &o->late_pages, &o->idle_pages, &o->brief_pages,
		&o->hot_pages, &o->cold_pages, &o->border_pages,
		&o->inherited_pages,
	};
	uint64_t *const accesses[] = {
		&o->shared_accesses, &o->cold_accesses, &o->inherited_accesses,
		&o->inherited_remote, &o->inherited_best,
		&o->remote[MOCA_POLICY_PARALLEL_INIT],
	};
	size_t i;

	for (i = 0; i < sizeof(pages) / sizeof(*pages); i++)
		extrapolate(pages[i], o->pages, o->watched_pages);
	for (i = 0; i < sizeof(accesses) / sizeof(*accesses); i++)
		extrapolate(accesses[i], o->accesses, o->watched_accesses);
}

double moca_profile_share_error(const struct moca_profile *p,
				const struct moca_profile_object *o)
{
	double all = (double)p->accesses, share;

	if (!(all > 0))
		return 0;
	share = (double)o->accesses / all;
	return sqrt((1 - share) * (1 - share) * o->variance +
		    share * share * fmax(p->variance - o->variance, 0)) / all;
}

double moca_profile_most_error(const struct moca_profile *p)
{
	double most = 0;
	size_t i;

	for (i = 0; i < p->count; i++)
		if (p->rows[i].data)
			most = fmax(most, moca_profile_share_error(
						  p, &p->rows[i]));
	return most;
}
