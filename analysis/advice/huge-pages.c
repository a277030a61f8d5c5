// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A large object that is used all over in no order: a TLB miss each time. How often
 * that is within an interval a trace of pages does not tell, so no gain is promised.
 */
#include <math.h>

#include "analysis/advice/rules.h"

#define LARGE 16384		/* 64 MiB: as the pattern has it */

/*
 * Half of it is used seldom, and a small part of it all the time: where nearly all
 * accesses are. A few pages of many come into half of the intervals by chance.
 */
static int has_hot_part(const struct moca_profile_object *o)
{
	return 64 * o->hot_pages >= o->cold_pages &&
	       4 * o->hot_pages <= o->cold_pages &&
	       2 * o->cold_pages >= o->pages;
}

int rule_huge_pages(struct rules *r, const struct moca_profile_object *o)
{
	const struct moca_profile *p = r->p;
	struct moca_finding *f;
	const char *name = name_text(r, o);

	const struct condition needed[] = {
		AT_LEAST("size", PAGES, o->pages, LARGE),
		HOLDS("it is used at random",
		      o->patterns & MOCA_PATTERN_RANDOM),
		HOLDS("it is used all over", o->patterns & MOCA_PATTERN_HUGE),
		HOLDS("it is not so that a small part is used all the time and most of it seldom",
		      !has_hot_part(o)),
		AT_LEAST("size of what is used in an interval", PAGES,
			 (double)o->accesses / p->intervals, MOCA_TLB_REACH),
		AT_LEAST("share of all accesses", SHARE,
			 (double)o->accesses / p->accesses, 0.2),
		AT_LEAST("steps per page", NUMBER,
			 page_steps(r, o), 4),
	};

	if (!is_used(r, o) || !CONDITIONS(r, MOCA_FINDING_HUGE_PAGES, o, needed))
		return 0;
	f = finding_add(r, MOCA_FINDING_HUGE_PAGES, o,
			GAIN_MIN * o->accesses / p->accesses);
	if (!f)
		return 0;
	f->confidence = MOCA_CONFIDENCE_LOW;
	f->after = NAN;
	finding_set(r, &f->title, "%s is large and used at random: huge pages would spare TLB misses",
		    name);
	evidence_use(r, f);
	finding_line(r, f->evidence,
		     "%.0f MiB, all of it used; %.0f %% of the steps from page to page go further than 1 MiB",
		     o->pages * 4096. / (1 << 20),
		     100. * (o->steps - o->steps_near) / o->steps);
	finding_line(r, f->evidence,
		     "what that gains is not predicted: the trace has a page's first use in an interval, not each TLB miss; in virtual machines, and in short runs, huge pages may gain nothing or cost time. Measure both");
	finding_set(r, &f->cause,
		    "TLBs reach 6 to 12 MiB by pages of 4 KiB (1,536 to 3,072 entries). Whether the program has huge pages without the recorder, which needs small ones, the trace does not tell: see AnonHugePages in /proc/PID/smaps.");
	finding_set(r, &f->fix, "Try huge pages for %s, and keep them if the program is faster.", name);
	if (advice_takes_c(r, f))
		finding_line(r, f->try_,
		     "%s = aligned_alloc(2 << 20, size); madvise(%s, size, MADV_HUGEPAGE);   /* before its first use */",
		     name_in_code(r, o), name_in_code(r, o));
	/* What the program maps, or declares, malloc's settings do not reach. */
	if (o->object->kind != MOCA_OBJECT_HEAP ||
	    2 * o->object->mapped >= o->object->instances)
		return 1;
	finding_set(r, &f->setting, "GLIBC_TUNABLES=glibc.malloc.hugetlb=1");
	finding_line(r, f->try_, "%s ./program", f->setting ? f->setting : "");
	return 1;
}
