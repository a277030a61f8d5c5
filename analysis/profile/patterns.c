// SPDX-License-Identifier: GPL-2.0-or-later
/* Names for what the other passes found. */
#include <stddef.h>

#include "analysis/profile/passes.h"

#define MOST(part, whole) (10 * (part) >= 9 * (whole))
#define ABOVE(part, whole, percent) \
	(100 * (uint64_t)(part) >= (uint64_t)(percent) * (whole))

/* Read-mostly: writes are at most so much of all accesses, the first ones too, % */
#define READ_MOSTLY_WRITES 20
#define STEPS_MIN 64		/* fewer say nothing of an order */
#define HOT_PAGES 8
#define HUGE_PAGES 16384u	/* 64 MiB: beyond what TLBs reach by 4 KiB */

const char *moca_pattern_name(unsigned bit)
{
	static const char *const names[MOCA_PATTERNS] = {
		"private", "migratory", "shared", "read-mostly", "write-once",
		"master/worker", "streaming", "local", "random", "halo",
		"hot spot", "unbalanced", "abandoned", "huge-page candidate",
	};

	return bit < MOCA_PATTERNS ? names[bit] : NULL;
}

/* Shared pages where the part of one main user ends and another's begins. */
static void page_(const struct moca_profile *p, struct moca_profile_object *o,
		  const struct page *page, uint64_t number, size_t i, size_t n)
{
	unsigned part = (unsigned)(i * MOCA_PROFILE_PARTS / n), lane, users = 0;
	const uint32_t *use = o->parts + (size_t)part * p->lanes;

	if (page->returns < 2 || !page_tells(page))
		return;
	for (lane = 0; lane < p->lanes; lane++)
		users += use[lane] != 0;
	o->border_pages += users > 1;
}

static unsigned users(const struct moca_profile *p,
		      const struct moca_profile_object *o, unsigned *top)
{
	unsigned lane, n = 0;

	*top = 0;
	for (lane = 0; lane < p->lanes; lane++) {
		n += (unsigned)moca_profile_uses(p, o, lane);
		if (o->use[lane] > o->use[*top])
			*top = lane;
	}
	return n;
}

static unsigned sharing(const struct moca_profile_object *o)
{
	/* By threads, as everywhere; lanes tell how it is shared. */
	if (o->object->sharing == MOCA_SHARING_PRIVATE)
		return MOCA_PATTERN_PRIVATE;
	if (2 * o->shared_pages >= o->pages)
		return MOCA_PATTERN_SHARED;
	if (2 * o->migratory_pages >= o->pages)
		return MOCA_PATTERN_MIGRATORY;
	return 0;
}

static unsigned order(const struct moca_profile_object *o)
{
	if (o->steps < STEPS_MIN)
		return 0;
	if (ABOVE(o->steps_next, o->steps, 70))
		return MOCA_PATTERN_STREAMING;
	if (o->pages < 4 * 256)
		return 0;	/* all of it is near */
	if (ABOVE(o->steps_near, o->steps, 70))
		return MOCA_PATTERN_LOCAL;
	return ABOVE(o->steps - o->steps_near, o->steps, 50) ?
	       MOCA_PATTERN_RANDOM : 0;
}

/*
 * Without those that fill it: of pages that are used later on, too. Where most
 * are not, all writes are of what there is to tell.
 */
static uint64_t later_writes(const struct moca_profile_object *o)
{
	return 2 * o->late_pages >= o->pages ? o->late_writes : o->writes;
}

static int first_by_one(const struct moca_profile *p,
			const struct moca_profile_object *o)
{
	unsigned lane;

	for (lane = 0; lane < p->lanes; lane++)
		if (MOST(o->first[lane], o->pages))
			return 1;
	return 0;
}

static void object_(const struct moca_profile *p,
		    struct moca_profile_object *o)
{
	unsigned top, n = users(p, o, &top), m;

	if (!o->pages || !o->data)
		return;
	if (!o->watched_pages) {
		/* Too few of its pages were looked at each time. */
		o->patterns = order(o);
		return;
	}
	m = sharing(o) | order(o);
	if (p->writes_known && moca_profile_watched(p, o) && !o->late_writes && o->late_pages && o->writes)
		m |= MOCA_PATTERN_WRITE_ONCE;
	else if (p->writes_known && o->accesses > 2 * o->pages &&
		 100 * o->writes <= READ_MOSTLY_WRITES * o->accesses &&
		 ABOVE(o->accesses - later_writes(o), o->accesses, 95))
		m |= MOCA_PATTERN_READ_MOSTLY;
	if (n > 1 && o->pages >= 16 && !(m & MOCA_PATTERN_PRIVATE) &&
	    first_by_one(p, o))
		m |= MOCA_PATTERN_MASTER_WORKER;
	if (n > 1 && o->border_pages && o->pages >= 64 && o->runs >= n &&
	    o->runs <= 2 * n && ABOVE(o->border_pages, o->shared_pages, 80) &&
	    5 * o->shared_pages <= o->pages)
		m |= MOCA_PATTERN_HALO;
	if (n > 1 && o->pages <= HOT_PAGES && o->late_writes &&
	    o->accesses / o->pages >= p->intervals / 2 &&
	    m & MOCA_PATTERN_SHARED && p->intervals >= 10)
		m |= MOCA_PATTERN_HOT_SPOT;
	if (n > 1 && o->pages >= 64 && m & MOCA_PATTERN_PRIVATE &&
	    o->use[top] * n >= 3 * o->accesses / 2 &&
	    p->intervals >= 10)
		m |= MOCA_PATTERN_UNBALANCED;
	if (p->intervals >= 10 && MOST(o->idle_pages, o->pages) &&
	    o->pages >= 16 && (o->object->kind == MOCA_OBJECT_HEAP ||
			       o->object->kind == MOCA_OBJECT_ANONYMOUS))
		m |= MOCA_PATTERN_ABANDONED;
	if (o->pages >= HUGE_PAGES && m & MOCA_PATTERN_RANDOM &&
	    ABOVE(o->pages * 4096, o->object->bytes, 90) &&
	    o->accesses >= MOCA_TLB_REACH * p->intervals)
		m |= MOCA_PATTERN_HUGE;
	o->patterns = m;
}

const struct pass moca_pass_patterns = {
	.name = "patterns", .page = page_, .object = object_,
};
