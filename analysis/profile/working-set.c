// SPDX-License-Identifier: GPL-2.0-or-later
/* How many pages are used in each window, how often, and by which lanes. */
#include "analysis/profile/passes.h"

static void access_(struct gather *g, const struct seen *s)
{
	struct row *r = s->row;
	unsigned write = s->x->type == MOCA_ACCESS_WRITE;
	unsigned read = s->x->type == MOCA_ACCESS_READ ||
		   s->x->type == MOCA_ACCESS_EXEC;

	if (g->p->sampled)
		samples_take_set(g, s);
	else if (s->is_first || s->page->last_window != s->window)
		g->p->working_set[s->window]++;
	g->p->lane_activity[s->window][s->lane] += s->x->weight;
	r->records++;
	r->accesses += s->weight;
	r->reads += read * s->weight;
	r->writes += write * s->weight;
	r->written[s->lane] += write * s->weight;
	if (r->reads_in)
		r->reads_in[s->window] += !write * s->x->weight;
	if (r->writes_in)
		r->writes_in[s->window] += write * s->x->weight;
}

const struct pass moca_pass_working_set = {
	.name = "working set", .access = access_,
};
