// SPDX-License-Identifier: GPL-2.0-or-later
/* An object is divided among threads, in parts of unequal size. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/advice/rules.h"
#include "analysis/profile/where.h"

#define LARGEST 1.5		/* the largest part, in mean ones */
/* The same where CPU time tells who rests; less is what schedules leave. */
#define LARGEST_SURE 1.2
#define IDLE 0.3		/* of the time of the busiest, others are idle */
#define ALONE 0.5		/* of the time in which others work, the busiest is
				   idle: more, and they work in turn */
#define OWN_PAGES 0.2		/* of its pages, a part: twice what may have other
				   users than who came first */
#define WAITED 0.3		/* of what threads ran: more, and who is idle may
				   only wait for a CPU */
#define CODE_NEAR 12		/* bits: instructions of no known function that are
				   so near are taken for one's */
#define CPU_MIN_NS 1e8		/* less CPU time was sampled too seldom */
#define FAULTS_MOST 0.4		/* of CPU time, recording's own faults: more, and it
				   tells who had most of these */

/*
 * Has it a part of the object: uses it much, or was the first in a good part of its
 * pages? Nearly all pages are of one thread, so these are its own, and that it hardly
 * works on them is what the rule asks for.
 */
static int has_part(const struct moca_profile *p,
		    const struct moca_profile_object *o, unsigned lane)
{
	return moca_profile_uses(p, o, lane) ||
	       (o->use[lane] && (double)o->first[lane] >= OWN_PAGES * (double)o->pages);
}

/* Lanes that have a part; the busiest of them. */
static unsigned users(const struct moca_profile *p,
		      const struct moca_profile_object *o, unsigned *top)
{
	unsigned i, n = 0;

	for (*top = 0, i = 0; i < p->lanes; i++) {
		n += (unsigned)has_part(p, o, i);
		if (o->use[i] > o->use[*top])
			*top = i;
	}
	return n;
}

/*
 * Of the windows in which the busiest lane works, the share in which another
 * user of the object touches nothing at all, on average.
 */
static double idle_share(const struct moca_profile *p,
			 const struct moca_profile_object *o, unsigned top)
{
	unsigned w, i, busy = 0, idle = 0, others = 0;

	for (i = 0; i < p->lanes; i++)
		others += i != top && has_part(p, o, i);
	for (w = 0; w < p->windows; w++) {
		if (!p->lane_activity[w][top])
			continue;
		busy++;
		for (i = 0; i < p->lanes; i++)
			idle += i != top && has_part(p, o, i) &&
				!p->lane_activity[w][i];
	}
	return busy >= 20 && others ? (double)idle / busy / others : 0;
}

/*
 * Of the windows in which another user of the object works, the share in which the
 * busiest touches nothing at all: of threads that work in turn, none waits for the
 * busiest one's part.
 */
static double alone_share(const struct moca_profile *p,
			  const struct moca_profile_object *o, unsigned top)
{
	unsigned w, i, works = 0, alone = 0;

	for (w = 0; w < p->windows; w++) {
		for (i = 0; i < p->lanes; i++)
			if (i != top && has_part(p, o, i) &&
			    p->lane_activity[w][i])
				break;
		if (i == p->lanes)
			continue;
		works++;
		alone += !p->lane_activity[w][top];
	}
	return works ? (double)alone / works : 0;
}

/* What faults that recording made took, of all threads, ns. */
static double faults_ns(const struct rules *r)
{
	return advice_meta(r, "cost.repeated.ns") +
	       advice_meta(r, "cost.copied.ns") +
	       advice_meta(r, "cost.touch.ns") +
	       advice_meta(r, "cost.again.ns");
}

/*
 * What threads waited for a CPU, of what they ran: as the recorder made prices
 * dearer for it.
 */
static double waited(const struct rules *r)
{
	double prices = faults_ns(r);

	return prices > 0 ? advice_meta(r, "cost.busy.ns") / prices : 0;
}

struct rest {
	int known;		/* CPU time tells who rests */
	double share;		/* what the others had less than the busiest */
	double busiest_ns;
	double others_ns;	/* on average */
};

/*
 * By the CPU time of the threads that use it. CPU time is of all that a thread does,
 * so the busiest must be the one with the largest part. The share is the least that
 * the samples leave: in a run of a few samples the others may have worked as much.
 * 0: so it is not, or it is not known.
 */
static void look_who_rests(struct rules *r, const struct moca_profile_object *o,
			   unsigned top, struct rest *rest)
{
	const double *cpu_ns = advice_cpu_ns(r);
	const double *more_ns = advice_cpu_more_ns(r);
	double all_ns = 0, most_ns = 0;
	unsigned i, n = 0;

	if (!cpu_ns || cpu_ns[top] < CPU_MIN_NS)
		return;
	for (i = 0; i < r->p->lanes; i++)
		all_ns += cpu_ns[i];
	if (faults_ns(r) > FAULTS_MOST * all_ns)
		return;
	rest->known = 1;
	for (i = 0; i < r->p->lanes; i++) {
		if (i == top || !has_part(r->p, o, i))
			continue;
		if (cpu_ns[i] >= cpu_ns[top])
			return;
		rest->others_ns += cpu_ns[i];
		most_ns += fmin(cpu_ns[i] + more_ns[i], cpu_ns[top]);
		n++;
	}
	if (!n)
		return;
	rest->others_ns /= n;
	rest->busiest_ns = cpu_ns[top];
	rest->share = 1 - most_ns / n / cpu_ns[top];
}

/* The C library's functions are everybody's: what calls them is not told. */
static int is_of_libc(const char *path)
{
	const char *base = strrchr(path, '/');

	return base && (!strncmp(base, "/libc.so", 8) ||
			!strncmp(base, "/libc-", 6));
}

enum sameness { OTHER, SAME, UNTOLD };

/* Are two instructions of one function? */
static enum sameness is_same_code(const struct rules *r,
				  const struct moca_profile_code *a,
				  const struct moca_profile_code *b)
{
	struct moca_location at, bt;
	const char *apath, *bpath;
	int told = !moca_where_code(r->p, r->trace, a->task, a->ip, a->ns, &at,
				    &apath);

	if (told && is_of_libc(apath))
		return UNTOLD;
	if (moca_where_code(r->p, r->trace, b->task, b->ip, b->ns, &bt, &bpath))
		told = 0;
	else if (is_of_libc(bpath))
		return UNTOLD;
	if (told)
		return !strcmp(at.function, bt.function) &&
		       !strcmp(apath, bpath) ? SAME : OTHER;
	return (a->ip ^ b->ip) >> CODE_NEAR ? OTHER : SAME;
}

/* The same of what two lanes execute most; a, b: MOCA_PROFILE_CODES each. */
static enum sameness compare_code(const struct rules *r,
				  const struct moca_profile_code *a,
				  const struct moca_profile_code *b)
{
	enum sameness is, all = UNTOLD;
	unsigned i, k;

	for (i = 0; i < MOCA_PROFILE_CODES; i++)
		for (k = 0; a[i].votes && k < MOCA_PROFILE_CODES; k++) {
			is = b[k].votes ? is_same_code(r, &a[i], &b[k]) : UNTOLD;
			if (is == SAME)
				return SAME;
			if (is == OTHER)
				all = OTHER;
		}
	return all;
}

/*
 * 1 unless the busiest lane works on it with other functions than each other lane
 * that has a part: what the stages of a pipeline have are no parts of one work.
 */
static int is_one_work(const struct rules *r,
		       const struct moca_profile_object *o, unsigned top)
{
	unsigned lane, others = 0;
	enum sameness is;

	if (!o->code || o->object->processes > 1)
		return 1;
	for (lane = 0; lane < r->p->lanes; lane++) {
		if (lane == top || !has_part(r->p, o, lane))
			continue;
		is = compare_code(r, o->code + top * MOCA_PROFILE_CODES,
				  o->code + lane * MOCA_PROFILE_CODES);
		if (is == SAME)
			return 1;
		others += is == OTHER;
	}
	return !others;
}

static void say_idle(struct rules *r, struct moca_finding *f, double idle,
		     const struct rest *rest)
{
	if (rest)
		finding_line(r, f->evidence,
			     "it had %.2f s of CPU time, the others %.2f s on average",
			     rest->busiest_ns / 1e9, rest->others_ns / 1e9);
	else
		finding_line(r, f->evidence,
			     "while it works, the others touch nothing in %.0f %% of the time",
			     100 * idle);
}

int rule_unbalanced(struct rules *r, const struct moca_profile_object *o)
{
	const struct moca_profile *p = r->p;
	struct moca_finding *f;
	unsigned top, n = users(p, o, &top);
	double share = (double)o->use[top] / o->accesses;
	struct rest rest = { 0 };
	double idle;
	int sure, candidate;

	if (!is_used(r, o))
		return 0;
	candidate = n > 1 && p->threads <= p->lanes && share * n >= LARGEST_SURE;
	/* CPU time and code are looked up for what may be it only. */
	if (candidate)
		look_who_rests(r, o, top, &rest);
	sure = rest.known && share * n >= LARGEST_SURE;
	idle = sure ? rest.share : idle_share(p, o, top);
	const struct condition needed[] = {
		AT_LEAST("threads that use it", NUMBER, n, 2),
		/* Else a lane is several. */
		AT_MOST("threads of the program", NUMBER, p->threads,
			p->lanes),
		/* Else they are as many programs of their own. */
		HOLDS("it is of one process, or processes share it",
		      o->object->processes < 2 ||
		      o->object->sharing_processes != MOCA_SHARING_PRIVATE),
		HOLDS("it is a structure of the program, not all of its language's heap",
		      !is_of_runtime(r, o->object)),
		HOLDS("its parts are worked on by the same code",
		      !candidate || is_one_work(r, o, top)),
		AT_LEAST("size", PAGES, o->pages, PAGES_MIN / 4),
		AT_LEAST("pages of one thread each", SHARE,
			 by_history(r, o, (double)o->private_pages / o->pages),
			 0.9),
		AT_LEAST("share of all accesses", SHARE,
			 (double)o->accesses / p->accesses, 0.2),
		AT_LEAST("the busiest thread's part, in mean ones", NUMBER,
			 share * n, sure ? LARGEST_SURE : LARGEST),
		AT_LEAST("time in which others are idle", SHARE, idle, IDLE),
		AT_MOST("time in which others work without the busiest", SHARE,
			alone_share(p, o, top), ALONE),
		AT_MOST("time that threads waited for a CPU, of what they ran",
			SHARE, sure ? 0 : waited(r), WAITED),
	};

	if (!CONDITIONS(r, MOCA_FINDING_UNBALANCED, o, needed))
		return 0;
	f = finding_add(r, MOCA_FINDING_UNBALANCED, o,
			idle * o->accesses / p->accesses);
	if (!f)
		return 0;
	f->confidence = MOCA_CONFIDENCE_MEDIUM;
	f->after = NAN;
	finding_set(r, &f->title, "%s is divided into parts of unequal work",
		    name_text(r, o));
	evidence_use(r, f);
	finding_line(r, f->evidence,
		     "of the %u threads that have a part in it, the busiest has %.0f %% of the accesses, %.1f times the mean",
		     n, 100 * share, share * n);
	say_idle(r, f, idle, sure ? &rest : NULL);
	finding_set(r, &f->cause,
		    "Each thread has pages of its own, but not equally many: the others wait for the busiest.");
	finding_set(r, &f->fix,
		    "Divide by work instead of by count, in neighbouring parts; or deal out small parts dynamically, if one node has the memory.");
	try_small_chunks(r, f);
	try_equal_work(r, f);
	return 1;
}
