// SPDX-License-Identifier: GPL-2.0-or-later
/* What becomes of pages after their first interval: written, read, nothing. */
#include "analysis/profile/passes.h"

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
	if (g->p->sampled)
		samples_take_late(g, s);
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
	o->late_writes += page->late_writes;
	if (!page_tells(page))
		return;
	o->late_pages += (page->flags & PAGE_USED_LATE) != 0;
	/* What has other histories was used before these, or afterwards. */
	if (page->flags & PAGE_RECYCLED)
		return;
	o->brief_pages += (uint64_t)is_brief(p, page);
	/* A page shows at the begin of an interval, however long that is. */
	if (is_kept(p, o->object) && page->last_interval < p->half_interval)
		o->idle_pages++;
}

const struct pass moca_pass_reuse = {
	.name = "reuse", .access = access_, .page = page_,
};
