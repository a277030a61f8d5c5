// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the pages lie of what findings name: on all nodes, or on its users'. */
#include <stddef.h>

#include "try/findings.h"

#define CLEARLY 0.1		/* of its accesses: one node serves all of them */
#define KINDS \
	(1u << MOCA_FINDING_SERIAL_TOUCH | 1u << MOCA_FINDING_OTHER_TOUCH | \
	 1u << MOCA_FINDING_MOVING_PARTS | 1u << MOCA_FINDING_ONE_NODE | \
	 1u << MOCA_FINDING_SCATTERED)

static void fill_all(const struct try_subject *s, const struct moca_finding *f,
		     const struct moca_wish *w, struct try_wish *want)
{
	want->interleave = w->interleave;
}

/* The node that uses it most. */
static unsigned user(const struct moca_profile *p,
		     const struct moca_profile_object *o)
{
	uint64_t uses[MOCA_TOPOLOGY_NODES] = { 0 };
	unsigned lane, node, most = 0;

	for (lane = 0; lane < p->lanes; lane++) {
		node = moca_profile_node(p, lane);
		uses[node] += o->use[lane];
		most = uses[node] > uses[most] ? node : most;
	}
	return most;
}

/* Where fewer accesses would be remote than with pages on all nodes. */
static void fill_one(const struct try_subject *s, const struct moca_finding *f,
		     const struct moca_wish *w, struct try_wish *want)
{
	unsigned node;

	if (!w->interleave || s->profile->topology.what_if ||
	    !(f->remote[MOCA_POLICY_BIND] + CLEARLY <
	      f->remote[MOCA_POLICY_INTERLEAVE]))
		return;
	node = user(s->profile, f->object);
	want->bind = 1 + s->profile->topology.ids[node];
}

static const char *place(const struct try_subject *s, struct try_made *out,
			 void (*fill)(const struct try_subject *s,
				      const struct moca_finding *f,
				      const struct moca_wish *w,
				      struct try_wish *want))
{
	const char *why = try_findings(s, out, KINDS, fill);

	if (why || s->nodes > 1)
		return why;
	try_plan_free(&out->plan);
	return "this machine, or what the program may use of it, has one node of memory: where pages lie makes no difference here";
}

const char *try_interleave(const struct try_subject *s, struct try_made *out)
{
	out->title = "pages of what the findings name are spread over all nodes";
	return place(s, out, fill_all);
}

const char *try_bind(const struct try_subject *s, struct try_made *out)
{
	out->title = "what the findings name lies on the node that uses it most";
	return place(s, out, fill_one);
}
