// SPDX-License-Identifier: GPL-2.0-or-later
/* All threads use all of an object, and one node has to serve them. */
#include "analysis/advice/rules.h"

int rule_one_node(struct rules *r, const struct moca_profile_object *o)
{
	double now = share_remote(o, MOCA_POLICY_FIRST_TOUCH), on_home;
	double gain = now * o->accesses / r->p->accesses;
	const struct moca_profile *p = r->p;
	struct moca_finding *f;
	unsigned node = home_node(p, o, &on_home);
	const char *name = name_text(r, o);
	char task[96];

	const struct condition needed[] = {
		AT_LEAST("size", PAGES, o->pages, PAGES_MIN),
		AT_LEAST("its accesses from other nodes", SHARE, now,
			 REMOTE_MIN),
		AT_LEAST("its pages on one node", SHARE, on_home, 0.9),
		AT_LEAST("its accesses to pages used in turn", SHARE,
			 by_history(r, o, of(o->shared_accesses, o)), 0.5),
		AT_LEAST("gain", SHARE, gain, 2 * GAIN_MIN),
		AT_LEAST("nodes that use it", NUMBER,
			 nodes_using(p, o, 0.5 / p->topology.nodes),
			 p->topology.nodes),
		/* If interleaving makes clearly more accesses remote, the trace
		 * does not tell whether it helps. */
		AT_MOST("remote if interleaved", SHARE,
			share_remote(o, MOCA_POLICY_INTERLEAVE), now + 0.05),
		/* What is only read is in each cache, or to be replicated. */
		HOLDS("all that use it write it", all_users_write(p, o)),
	};

	if (!CONDITIONS(r, MOCA_FINDING_ONE_NODE, o, needed))
		return 0;
	f = finding_add(r, MOCA_FINDING_ONE_NODE, o, gain);
	if (!f)
		return 0;
	f->after = f->remote[MOCA_POLICY_INTERLEAVE];
	f->confidence = MOCA_CONFIDENCE_MEDIUM;
	finding_set(r, &f->title, "%s is used from all nodes and lies on one",
		    name);
	evidence_use(r, f);
	finding_line(r, f->evidence,
		     "%.0f %% of its pages are on node %u, first touched mostly by %s",
		     100 * on_home, node,
		     task_text(r, o->touch_task, task, sizeof(task)));
	finding_set(r, &f->cause,
		    "Pages that all threads use have no best node; but the memory of node %u alone serves all of them, and its bandwidth is their limit.",
		    node);
	finding_set(r, &f->fix,
		    "Spread %s over all nodes: as many of its accesses stay remote (%.0f %%), but each node serves only its %.0f %%.",
		    name, 100 * f->after, 100. / p->topology.nodes);
	finding_line(r, f->try_, "numactl --interleave=all ./program");
	if (!advice_takes_c(r, f))
		return 1;
	finding_line(r, f->try_,
		     "numa_interleave_memory(%s, size, numa_all_nodes_ptr);   /* before its first use; -lnuma */",
		     name_in_code(r, o));
	return 1;
}
