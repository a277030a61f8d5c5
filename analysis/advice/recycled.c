// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages of the heap that another object had before: malloc kept them when that
 * was freed, and they are on the node of who touched them first then.
 */
#include <inttypes.h>
#include <string.h>

#include "analysis/advice/rules.h"

#define GIVEN_BACK 1.25		/* first touches per page: else homes are new */

static const struct moca_object *earlier(const struct rules *r,
					 const struct moca_profile_object *o)
{
	size_t n;
	const struct moca_object *rows = moca_objects_rows(r->p->objects, &n);

	return &rows[o->inherited_from];
}

/* As recorded it is known where pages are; else only if they were kept. */
static int kept(const struct rules *r)
{
	struct moca_certificate c;

	moca_trace_certificate(r->trace, &c);
	return !r->p->topology.what_if ||
	       c.pages_touched <= GIVEN_BACK * r->p->distinct;
}

static const char *at(const struct moca_object *o)
{
	return *o->site ? " at " : "";
}

static void say(struct rules *r, struct moca_finding *f)
{
	const struct moca_profile_object *o = f->object;
	const struct moca_object *by = earlier(r, o);
	const char *name = name_text(r, o);

	finding_set(r, &f->title,
		    "%s lies where an earlier owner of its memory placed it: %.80s",
		    name, by->name);
	evidence_use(r, f);
	finding_line(r, f->evidence,
		     "%.0f %% of its pages belonged to freed objects before, such as %.80s (%.160s); %s was allocated there (%.160s)",
		     100. * o->inherited_pages / o->pages, by->name,
		     *by->site ? by->site : "site unknown", name,
		     *o->object->site ? o->object->site : "site unknown");
	finding_line(r, f->evidence,
		     "%.0f %% of the accesses to these pages come from other nodes than their first owner's; were each page at its user, %.0f %% would",
		     100. * o->inherited_remote / o->inherited_accesses,
		     100. * o->inherited_best / o->inherited_accesses);
	finding_set(r, &f->cause,
		    "Linux places a page once, when it is first touched. malloc keeps freed memory and gives it out again: who touches %s first does not place it any more.",
		    name);
	finding_set(r, &f->fix,
		    "Have memory for %s that nobody touched before: allocate it once, before %.80s or at its own place, each thread touching its part; or have malloc give large blocks back to the kernel when they are freed.",
		    name, by->name);
	if (advice_takes_c(r, f))
		finding_line(r, f->try_,
		     "%.80s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);   /* new pages%s%.120s */",
		     name_in_code(r, o), at(o->object), o->object->site);
	finding_line(r, f->try_,
		     "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=1048576 ./program   # each block of 1 MiB and more has pages of its own; costs a fault for each page");
}

int rule_recycled(struct rules *r, const struct moca_profile_object *o)
{
	uint64_t accesses = o->inherited_accesses;
	double now = accesses ? (double)o->inherited_remote / accesses : 0;
	double then = accesses ? (double)o->inherited_best / accesses : 0;
	double gain = (now - then) * accesses / r->p->accesses;
	struct moca_finding *f;
	const struct condition needed[] = {
		AT_LEAST("pages that had an earlier owner", PAGES,
			 o->inherited_pages, PAGES_MIN),
		AT_LEAST("of its pages, those", SHARE,
			 (double)o->inherited_pages / o->pages, 0.5),
		AT_LEAST("accesses to them from other nodes", SHARE, now,
			 REMOTE_MIN),
		AT_MOST("of these, those that the best places leave", SHARE,
			now > 0 ? then / now : 1, 0.5),
		AT_LEAST("gain", SHARE, gain, GAIN_MIN),
		HOLDS("freed memory was kept, not given back", kept(r)),
	};

	if (!o->inherited_pages ||
	    !CONDITIONS(r, MOCA_FINDING_RECYCLED, o, needed))
		return 0;
	f = finding_add(r, MOCA_FINDING_RECYCLED, o, gain);
	if (!f)
		return 0;
	f->remote[MOCA_POLICY_FIRST_TOUCH] = of(o->inherited_remote, o);
	f->after = of(o->inherited_best, o);
	/* Of a supposed machine, that malloc kept them is all that is known. */
	f->confidence = r->p->topology.what_if ? MOCA_CONFIDENCE_MEDIUM :
						 MOCA_CONFIDENCE_HIGH;
	say(r, f);
	return 1;
}
