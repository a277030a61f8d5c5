// SPDX-License-Identifier: GPL-2.0-or-later
/* A table that all nodes read, that nobody writes, and that no cache holds. */
#include <inttypes.h>

#include "analysis/advice/rules.h"
#include "analysis/caches.h"

/*
 * Of the recorded machine's caches each node has an equal part, and so has each half
 * of a machine of one node. What another supposed machine has is not known.
 */
double advice_cache(struct rules *r, int *told)
{
	const struct moca_topology *t = &r->p->topology;
	double pages = 0;

	*told = !t->what_if || t->assumed == MOCA_ASSUMED_ONE_NODE;
	if (*told && r->cache == 0) {
		pages = (double)moca_last_level_caches(
				moca_trace_machine(r->trace)) /
			4096 / t->nodes;
		r->cache = pages > 0 ? pages : -1;
	}
	*told &= r->cache > 0;
	if (!*told)
		return PAGES_OF_CACHE;
	return r->cache > PAGES_MIN ? r->cache : PAGES_MIN;
}

int rule_replicate(struct rules *r, const struct moca_profile_object *o)
{
	double now = share_remote(o, MOCA_POLICY_FIRST_TOUCH);
	double gain = now * o->accesses / r->p->accesses;
	const struct moca_profile *p = r->p;
	struct moca_finding *f;
	const char *name = name_text(r, o);
	int told = 0, few = are_few(r);
	/* hwloc is asked for what may be large enough only. */
	double cache = o->pages < PAGES_MIN ? PAGES_MIN :
					      advice_cache(r, &told);
	/* Who has not seen all writes does not know that nobody writes it. */
	const struct condition needed[] = {
		HOLDS("all writes are known", p->writes_known),
		/* Smaller tables are in each node's last-level cache already. */
		AT_LEAST("size", PAGES, o->pages, cache),
		AT_LEAST("its accesses from other nodes", SHARE, now,
			 REMOTE_MIN),
		AT_LEAST("gain", SHARE, gain, 2 * GAIN_MIN),
		AT_LEAST("its accesses to pages used in turn", SHARE,
			 by_history(r, o, of(o->shared_accesses, o)), 0.5),
		AT_MOST("late writes", SHARE, of(o->late_writes, o),
			few ? 0 : 0.005),
		HOLDS("all read each page, interval by interval",
		      !few || has_mixed_users(r, o)),
		AT_LEAST("nodes that use it", NUMBER,
			 nodes_using(p, o, 0.5 / p->topology.nodes), 2),
	};

	if (!CONDITIONS(r, MOCA_FINDING_REPLICATE, o, needed))
		return 0;
	f = finding_add(r, MOCA_FINDING_REPLICATE, o, gain);
	if (!f)
		return 0;
	f->after = 0;
	f->confidence = few ? MOCA_CONFIDENCE_LOW : MOCA_CONFIDENCE_MEDIUM;
	finding_set(r, &f->title, "%s is read from all nodes and never written",
		    name);
	evidence_use(r, f);
	finding_line(r, f->evidence,
		     "writes after a page's first interval: %.2f %% of the accesses",
		     100. * o->late_writes / o->accesses);
	finding_line(r, f->evidence,
		     "%.1f MiB; the last-level cache of a node holds %.1f MiB%s",
		     o->pages * 4096. / (1 << 20), cache * 4096 / (1 << 20),
		     told ? "" : " (supposed: the trace does not tell it)");
	if (few)
		finding_line(r, f->evidence,
			     "the trace has %" PRIu64 " intervals only: in these, threads came back to each page after one another",
			     r->p->intervals);
	finding_set(r, &f->cause,
		    "With one copy, %.0f %% of the reads come from another node; no place of its pages avoids that.",
		    100 * now);
	finding_set(r, &f->fix,
		    "Give each node a copy of %s (%.0f MiB each), made by a thread of that node; or at least spread it over all nodes.",
		    name, o->pages * 4096. / (1 << 20));
	if (advice_takes_c(r, f))
		finding_line(r, f->try_,
		     "copy[n] = numa_alloc_onnode(size, n); memcpy(copy[n], %s, size);   /* read copy[numa_node_of_cpu(sched_getcpu())] */",
		     name_in_code(r, o));
	finding_line(r, f->try_,
		     "numactl --interleave=all ./program   # without a change: %.0f %% remote, on all nodes evenly",
		     100 * f->remote[MOCA_POLICY_INTERLEAVE]);
	return 1;
}
