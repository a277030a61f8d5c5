// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory of one allocation site that grows from the begin to the end of the run,
 * and of which each page is used for a moment only: a leak, or a cache or log
 * without a bound.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/advice/rules.h"
#include "lib/base/shell.h"

#define QUARTERS 4
/* One buffer that is filled bit by bit has the size that it was asked for. */
#define ALLOCATIONS_MIN 16

/*
 * Pages of the object that are first touched in each quarter of the CPU time: while
 * the program has no CPU or nothing to do, nothing grows. Of the time, where CPU time
 * was not sampled.
 */
static void count_touches(const struct moca_profile *p, const double *cpu_in,
			  const struct moca_profile_object *o,
			  uint64_t quarter[QUARTERS])
{
	double all = 0, until = 0, at;
	unsigned w;

	memset(quarter, 0, QUARTERS * sizeof(*quarter));
	for (w = 0; w < p->windows; w++)
		all += cpu_in ? cpu_in[w] : 1;
	for (w = 0; o->touches_in && all > 0 && w < p->windows; w++) {
		at = (until + (cpu_in ? cpu_in[w] : 1) / 2) / all;
		quarter[at < 1 ? (unsigned)(at * QUARTERS) : QUARTERS - 1] +=
			o->touches_in[w];
		until += cpu_in ? cpu_in[w] : 1;
	}
}

/* Of the time, what brief_pages are of. */
static uint64_t count_settled(const struct moca_profile *p,
			      const struct moca_profile_object *o)
{
	uint64_t n = 0;
	unsigned w;

	for (w = 0; o->touches_in && 4 * w < 3 * p->windows; w++)
		n += o->touches_in[w];
	return n;
}

static double least_share(const uint64_t quarter[QUARTERS], uint64_t pages)
{
	uint64_t least = quarter[0];
	unsigned i;

	for (i = 1; i < QUARTERS; i++)
		if (quarter[i] < least)
			least = quarter[i];
	return pages ? (double)least / pages : 0;
}

static void say(struct rules *r, struct moca_finding *f,
		const uint64_t quarter[QUARTERS], double brief, int of_cpu)
{
	const struct moca_profile_object *o = f->object;
	const struct moca_profile *p = r->p;
	double mib = o->pages * 4096. / (1 << 20);
	const char *name = name_text(r, o);
	char word[4096];

	/* Where objects were freed, others of the site may have their memory. */
	f->confidence = o->object->end_ns ? MOCA_CONFIDENCE_MEDIUM :
					    MOCA_CONFIDENCE_HIGH;
	f->after = NAN;
	finding_set(r, &f->title, "%s grows all the time, by %.1f MiB a second, and what is in it is not used again",
		    name, mib / moca_profile_seconds(p));
	evidence_use(r, f);
	finding_line(r, f->evidence,
		     "%" PRIu64 " allocations, %.0f MiB together%s%s; first touched in each quarter of the %s: %.0f, %.0f, %.0f and %.0f %% of its pages",
		     o->object->instances, o->object->bytes / (double)(1 << 20),
		     *o->object->site ? ", in " : "", o->object->site,
		     of_cpu ? "CPU time" : "time",
		     100. * quarter[0] / o->pages, 100. * quarter[1] / o->pages,
		     100. * quarter[2] / o->pages, 100. * quarter[3] / o->pages);
	finding_line(r, f->evidence,
		     "%.0f %% of the pages of the first three quarters are used within a sixteenth of the time, and never after that",
		     100 * brief);
	finding_set(r, &f->cause,
		    "What is allocated there is kept, and nothing comes back to it: a leak, or a cache, a log or a list without a bound.");
	finding_set(r, &f->fix,
		    "Free what is done with, or bound %s: a longer run needs as much more memory.",
		    name);
	if (moca_shell_word(word, sizeof(word), o->object->name))
		finding_line(r, f->try_,
			     "moca objects DIR %s --by function   # who fills it",
			     word);
}

int rule_growing(struct rules *r, const struct moca_profile_object *o)
{
	const struct moca_profile *p = r->p;
	double bytes = 4096. * o->pages, brief;
	const double *cpu_in = NULL;
	uint64_t quarter[QUARTERS], settled;
	struct moca_finding *f;

	if ((o->object->kind != MOCA_OBJECT_HEAP &&
	     o->object->kind != MOCA_OBJECT_SMALL) || !moca_profile_watched(r->p, o))
		return 0;
	if (o->pages >= 4 * PAGES_MIN)
		cpu_in = advice_cpu_in(r);
	count_touches(p, cpu_in, o, quarter);
	settled = count_settled(p, o);
	brief = settled ? (double)o->brief_pages / settled : 0;

	const struct condition needed[] = {
		AT_LEAST("size", PAGES, o->pages, 4 * PAGES_MIN),
		AT_LEAST("of all data, its pages", SHARE,
			 (double)o->pages / p->pages, 0.25),
		AT_LEAST("seconds", NUMBER, moca_profile_seconds(p),
			 SECONDS_MIN),
		AT_LEAST("allocations", NUMBER, o->object->instances,
			 ALLOCATIONS_MIN),
		AT_LEAST(cpu_in ?
			 "of its pages, what is new in each quarter of the CPU time" :
			 "of its pages, what is new in each quarter of the time",
			 SHARE, least_share(quarter, o->pages), 0.1),
		AT_LEAST("of its pages, what is used for a moment only", SHARE,
			 brief, 0.75),
		/* More: what was freed is allocated again. */
		AT_MOST("bytes allocated per byte of its pages", NUMBER,
			o->object->bytes / bytes, 1.5),
	};

	if (!CONDITIONS(r, MOCA_FINDING_GROWING, o, needed))
		return 0;
	f = finding_add(r, MOCA_FINDING_GROWING, o,
			GAIN_MIN * o->pages / p->pages);
	if (!f)
		return 0;
	say(r, f, quarter, brief, cpu_in != NULL);
	return 1;
}
