// SPDX-License-Identifier: GPL-2.0-or-later
/* What becomes of pages after their first interval: written, read, nothing. */
#include "analysis/profile/passes.h"

#include <math.h>

static void access_(struct gather *g, const struct seen *s)
{
	if (s->is_new)
		s->page->first_window = (uint8_t)s->window;
	if (s->is_new || s->page->first_interval == s->x->interval)
		return;
	/* Prepared once more: it is not used yet. */
	if (s->x->anew || (s->page->flags & PAGE_BEGAN &&
			   s->page->last_interval == s->x->interval))
		return;
	s->page->flags &= (uint8_t)~PAGE_BEGAN;
	s->page->flags |= PAGE_USED_LATE;
	if (s->x->type != MOCA_ACCESS_WRITE)
		return;
	s->page->flags |= PAGE_WRITTEN_LATE;
	if (s->page->late_writes <= UINT32_MAX - s->weight)
		s->page->late_writes += s->weight;
}

/*
 * The interval in which it was last used has to end soon: in it, a page may be
 * used up to its end.
 */
static int is_brief(const struct moca_profile *p, const struct page *page)
{
	unsigned w, soon = page->first_window + p->windows / 16 + 1;

	if (4 * page->first_window >= 3 * p->windows)
		return 0;
	for (w = page->last_window; w <= soon && w < p->windows; w++)
		if (p->last_interval[w] > page->last_interval)
			return 1;
	return 0;
}

/* To the end of the program, where many free all that they have. */
static int is_kept(const struct moca_profile *p, const struct moca_object *o)
{
	return !o->end_ns ||
	       (o->instances == 1 && o->end_ns > p->begin_ns &&
		10 * (o->end_ns - p->begin_ns) >=
			9 * p->windows * p->window_ns);
}

static void page_(const struct moca_profile *p, struct moca_profile_object *o,
		  const struct page *page, uint64_t number, size_t i, size_t n)
{
	int quiet = page_counts(page) && !(page->flags & PAGE_RECYCLED) &&
		    is_kept(p, o->object) &&
		    page->last_interval < p->half_interval;

	o->late_writes += page->late_writes;
	o->quiet_pages += (uint64_t)quiet;
	if (!page_tells(page))
		return;
	o->late_pages += (page->flags & PAGE_USED_LATE) != 0;
	/* What has other histories was used before these, or afterwards. */
	if (page->flags & PAGE_RECYCLED)
		return;
	o->brief_pages += (uint64_t)is_brief(p, page);
	/* A page shows at the begin of an interval, however long that is. */
	o->idle_pages += (uint64_t)quiet;
}

/*
 * Samples of the second half tell of what was idle in it, as each draws anew: of
 * all pages so many were in one of them at least. Of what no sweep ever let go, as
 * far as one can see, nothing is known.
 */
static void object_(const struct moca_profile *p,
		    struct moca_profile_object *o)
{
	double sweeps = (double)p->intervals - 1 - (double)p->half_interval;
	double drawn, used;

	o->idle_known = moca_profile_watched(p, o);
	if (o->idle_known || !(sweeps > 0) ||
	    (!o->watched_pages && 100 * o->visits < 101 * o->pages))
		return;
	drawn = 1 - pow(1 - 1. / p->top_weight, sweeps);
	if (drawn * (double)o->pages < MOCA_PROFILE_WATCHED)
		return;
	used = fmin((double)(o->pages - o->quiet_pages) / drawn,
		    (double)o->pages);
	o->idle_known = 1;
	o->idle_pages = o->pages - (uint64_t)used;
}

const struct pass moca_pass_reuse = {
	.name = "reuse", .access = access_, .page = page_, .object = object_,
};
