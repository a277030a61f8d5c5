// SPDX-License-Identifier: GPL-2.0-or-later
/* A large object that is used all over in no order: a TLB miss each time. */
#include <math.h>

#include "analysis/advice/rules.h"

int rule_huge_pages(struct rules *r, const struct moca_profile_object *o)
{
	const struct moca_profile *p = r->p;
	struct moca_finding *f;
	const char *name = name_text(r, o);

	if (!(o->patterns & MOCA_PATTERN_HUGE) ||
	    5 * o->accesses < p->accesses || o->steps < 4 * o->pages)
		return 0;
	f = finding_add(r, MOCA_FINDING_HUGE_PAGES, o,
			GAIN_MIN * o->accesses / p->accesses);
	if (!f)
		return 0;
	f->confidence = MOCA_CONFIDENCE_MEDIUM;
	f->after = NAN;
	finding_set(r, &f->title, "%s is large and used at random: huge pages would spare TLB misses",
		    name);
	evidence_use(r, f);
	finding_line(r, f->evidence,
		     "%.0f MiB, all of it used; %.0f %% of the steps from page to page go further than 1 MiB",
		     o->pages * 4096. / (1 << 20),
		     100. * (o->steps - o->steps_near) / o->steps);
	finding_set(r, &f->cause,
		    "TLBs reach 6 to 12 MiB by pages of 4 KiB (1,536 to 3,072 entries). Whether the program has huge pages without the recorder, which needs small ones, the trace does not tell: see AnonHugePages in /proc/PID/smaps.");
	finding_set(r, &f->fix, "Ask for huge pages for %s.", name);
	finding_line(r, f->try_,
		     "%s = aligned_alloc(2 << 20, size); madvise(%s, size, MADV_HUGEPAGE);   /* before its first use */",
		     name, name);
	finding_line(r, f->try_,
		     "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 ./program");
	return 1;
}
