// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads work on parts of an object, each in one piece, but on other parts each
 * time: no page has a thread that it could be near. Threads that all walk over
 * all of it look alike where an interval is as long as a walk: it tells who came
 * first to each page. So there the finding is a guess and promises nothing.
 */
#include <inttypes.h>
#include <math.h>

#include "analysis/advice/rules.h"

static void say(struct rules *r, struct moca_finding *f)
{
	const struct moca_profile_object *o = f->object;
	const char *name = name_text(r, o);
	int sure = f->confidence != MOCA_CONFIDENCE_LOW;

	finding_set(r, &f->title,
		    "the parts of %s go from thread to thread: no page has a thread of its own",
		    name);
	evidence_use(r, f);
	finding_line(r, f->evidence,
		     "yet each thread stays in small parts of it: %.0f %% of its steps from page to page go less than 1 MiB",
		     100. * o->steps_near / o->steps);
	finding_line(r, f->evidence,
		     "%.0f %% of the accesses come from another node than the page's; with the best place for each page it would still be %.0f %%",
		     100 * f->remote[MOCA_POLICY_FIRST_TOUCH],
		     100 * f->remote[MOCA_POLICY_PARALLEL_INIT]);
	if (sure)
		finding_set(r, &f->cause,
			    "The work on %s is dealt out anew each time, as dynamic schedules and queues do: a part is worked on by whichever thread is free.",
			    name);
	else
		finding_set(r, &f->cause,
			    "Either the work on %s is dealt out anew each time, as dynamic schedules and queues do, or several threads walk over all of it: an interval is as long as a walk, so the trace tells only who came first. Shorter intervals (--interval 5ms --budget 100%%) tell these apart.",
			    name);
	finding_set(r, &f->fix,
		    "Give each thread the same neighbouring parts of %s each time, of equal work rather than equal length where parts differ, and let it touch them first.",
		    name);
	try_static_schedule(r, f);
	try_equal_work(r, f);
	if (advice_openmp(r))
		finding_line(r, f->try_,
			     "OMP_PROC_BIND=spread OMP_PLACES=cores ./program");
	finding_line(r, f->try_,
		     "numactl --interleave=all ./program   # if it must stay dynamic: still %.0f %% remote, but on all nodes evenly",
		     100 * f->remote[MOCA_POLICY_INTERLEAVE]);
}

/* The share of the accesses that a node must have to count as a user. */
static double least_share(const struct moca_profile *p)
{
	return p->topology.nodes > 5 ? 0.5 / p->topology.nodes : 0.1;
}

/*
 * Most of its pages in an interval: whoever comes second in a walk is not seen.
 * moca_profile_object.accesses has one per page, thread that came first and interval.
 */
static int walks_hide(const struct moca_profile *p,
		      const struct moca_profile_object *o)
{
	return 2 * o->accesses > p->intervals * o->pages;
}

int rule_moving_parts(struct rules *r, const struct moca_profile_object *o)
{
	double now = share_remote(o, MOCA_POLICY_FIRST_TOUCH);
	double gain = now * o->accesses / r->p->accesses;
	struct moca_finding *f;
	int hidden = walks_hide(r->p, o);
	/*
	 * Used in turn, by more than at borders; written, as all threads may
	 * well read all of a table; and not at random.
	 */
	const struct condition needed[] = {
		AT_LEAST("size", PAGES, o->pages, PAGES_MIN),
		AT_LEAST("its accesses from other nodes", SHARE, now,
			 REMOTE_MIN),
		AT_LEAST("gain", SHARE, gain, GAIN_MIN),
		AT_LEAST("what the best places leave of them", SHARE,
			 share_remote(o, MOCA_POLICY_PARALLEL_INIT),
			 REMOTE_MIN / 2),
		AT_LEAST("its accesses to pages used in turn", SHARE,
			 by_history(r, o, of(o->shared_accesses, o)), 0.5),
		AT_LEAST("late writes", SHARE, of(o->late_writes, o), 0.05),
		AT_LEAST("steps per page", NUMBER,
			 page_steps(r, o), 1),
		AT_LEAST("steps under 1 MiB", SHARE,
			 o->steps ? (double)o->steps_near / o->steps : 0, 0.7),
		HOLDS("all that use it write it", all_users_write(r->p, o)),
		AT_LEAST("nodes that use it", NUMBER,
			 nodes_using(r->p, o, least_share(r->p)), 2),
		/* Fixed parts would be another program. */
		HOLDS("not all threads walk over all of it", hidden ||
		      10 * o->even_pages < 8 * o->shared_pages),
	};

	if (!CONDITIONS(r, MOCA_FINDING_MOVING_PARTS, o, needed))
		return 0;
	f = finding_add(r, MOCA_FINDING_MOVING_PARTS, o, gain);
	if (!f)
		return 0;
	/* With fixed parts all but their borders would be local. */
	f->after = hidden ? NAN : 0;
	f->confidence = hidden ? MOCA_CONFIDENCE_LOW :
			10 * o->shared_pages >= 8 * o->pages ?
			MOCA_CONFIDENCE_HIGH : MOCA_CONFIDENCE_MEDIUM;
	say(r, f);
	return 1;
}
