// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All threads write all over an object, in no order: the target of a sort, a
 * histogram, a hash table. Each page has users on all nodes, wherever it is.
 */
#include "analysis/advice/rules.h"

#define NEAR_MOST 0.7		/* of the steps: else parts move, as one knows */

static void say(struct rules *r, struct moca_finding *f)
{
	const struct moca_profile_object *o = f->object;
	const char *name = name_text(r, o);

	finding_set(r, &f->title,
		    "all threads write all over %s: wherever its pages are, most users are elsewhere",
		    name);
	evidence_use(r, f);
	finding_line(r, f->evidence,
		     "%.0f %% of the accesses come from another node than the page's; with the best place for each page it would still be %.0f %%",
		     100 * f->remote[MOCA_POLICY_FIRST_TOUCH],
		     100 * f->remote[MOCA_POLICY_PARALLEL_INIT]);
	finding_line(r, f->evidence,
		     "%.0f %% of the steps from page to page go further than 1 MiB; %.0f %% of the accesses are writes after a page's first interval",
		     100. * (o->steps - o->steps_near) / o->steps,
		     100 * of(o->late_writes, o));
	finding_set(r, &f->cause,
		    "Where an access goes depends on the data, not on the thread: no placement and no schedule brings pages and threads together.");
	finding_set(r, &f->fix,
		    "Let each thread write a part of %s of its own: a copy that is merged at the end if it is small, else sort what is to be written by the owner of its place first (partition by owner), and let the owner write it.",
		    name);
	try_note(r, f, "histogram: own[t][bin]++ in each thread; then, each thread a range of bins: sum[bin] += own[t][bin]");
	try_note(r, f, "sort, hash table: buffer[t][owner(key)] first; then each owner takes its buffers of all threads");
	if (f->remote[MOCA_POLICY_INTERLEAVE] <
	    f->remote[MOCA_POLICY_FIRST_TOUCH] + 0.05)
		finding_line(r, f->try_,
			     "numactl --interleave=all ./program   # without a change: %.0f %% remote, on all nodes evenly",
			     100 * f->remote[MOCA_POLICY_INTERLEAVE]);
}

int rule_scattered(struct rules *r, const struct moca_profile_object *o)
{
	double now = share_remote(o, MOCA_POLICY_FIRST_TOUCH);
	double gain = now * o->accesses / r->p->accesses;
	const struct moca_profile *p = r->p;
	struct moca_finding *f;
	const struct condition needed[] = {
		AT_LEAST("size", PAGES, o->pages, PAGES_MIN),
		AT_LEAST("its accesses from other nodes", SHARE, now,
			 REMOTE_MIN),
		AT_LEAST("gain", SHARE, gain, 2 * GAIN_MIN),
		AT_LEAST("what the best places leave of them", SHARE,
			 now > 0 ? share_remote(o, MOCA_POLICY_PARALLEL_INIT) /
					   now : 0, 0.5),
		AT_LEAST("its accesses to pages used in turn", SHARE,
			 by_history(r, o, of(o->shared_accesses, o)), 0.5),
		AT_LEAST("late writes", SHARE, of(o->late_writes, o), 0.05),
		AT_LEAST("steps per page", NUMBER,
			 page_steps(r, o), 1),
		AT_MOST("steps under 1 MiB", SHARE,
			o->steps ? (double)o->steps_near / o->steps : 1,
			NEAR_MOST),
		HOLDS("all that use it write it", all_users_write(p, o)),
		AT_LEAST("nodes that use it", NUMBER,
			 nodes_using(p, o, 0.5 / p->topology.nodes),
			 p->topology.nodes),
	};

	if (!CONDITIONS(r, MOCA_FINDING_SCATTERED, o, needed))
		return 0;
	f = finding_add(r, MOCA_FINDING_SCATTERED, o, gain);
	if (!f)
		return 0;
	/* What a thread buffers for others is written by it and read once. */
	f->after = share_remote(o, MOCA_POLICY_PARALLEL_INIT) / 2;
	f->confidence = MOCA_CONFIDENCE_MEDIUM;
	say(r, f);
	return 1;
}
