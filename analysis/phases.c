// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/phases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is looked at: the data with most accesses. */
struct chosen {
	const struct moca_profile_object *o[MOCA_PHASE_OBJECTS];
	size_t n;
};

static void choose(struct chosen *c, const struct moca_profile *p)
{
	size_t i;

	for (c->n = 0, i = 0; i < p->count && c->n < MOCA_PHASE_OBJECTS; i++)
		if (p->rows[i].data && p->rows[i].accesses &&
		    p->rows[i].reads_in && p->rows[i].writes_in)
			c->o[c->n++] = &p->rows[i];
}

/* Shares of each window's accesses; a window in which nothing is used has
 * zeros. */
static double *make_table(const struct chosen *c, const struct moca_profile *p)
{
	double *v = calloc(c->n * p->windows * 2, sizeof(*v)), sum;
	unsigned w, seen;
	size_t i, k;

	for (w = 0; v && w < p->windows; w++) {
		seen = p->seen_in[w];
		for (sum = 0, i = 0; i < c->n; i++)
			sum += c->o[i]->reads_in[seen] +
			       c->o[i]->writes_in[seen];
		for (i = 0; sum > 0 && i < c->n; i++) {
			k = (i * p->windows + w) * 2;
			v[k] = c->o[i]->reads_in[seen] / sum;
			v[k + 1] = c->o[i]->writes_in[seen] / sum;
		}
	}
	return v;
}

static void describe(struct moca_phase *x, const struct chosen *c,
		     const struct moca_profile *p, const struct moca_area *area)
{
	uint64_t reads, writes;
	unsigned w, k, at;
	size_t i;

	x->begin_ns = p->begin_ns + area->begin * p->window_ns;
	x->end_ns = p->begin_ns + area->end * p->window_ns;
	for (w = area->begin; w < area->end; w++)
		if (x->pages < p->working_set[w])
			x->pages = p->working_set[w];
	for (i = 0; i < c->n; i++) {
		for (reads = writes = 0, w = area->begin; w < area->end; w++) {
			reads += c->o[i]->reads_in[w];
			writes += c->o[i]->writes_in[w];
		}
		x->accesses += reads + writes;
		for (at = 0; at < MOCA_PHASE_TOP; at++)
			if (reads + writes >
			    x->top[at].reads + x->top[at].writes)
				break;
		if (at == MOCA_PHASE_TOP)
			continue;
		for (k = MOCA_PHASE_TOP - 1; k > at; k--)
			x->top[k] = x->top[k - 1];
		x->top[at].object = c->o[i];
		x->top[at].reads = reads;
		x->top[at].writes = writes;
	}
}

/* Where the trade is best; but as few phases as a reader can take in. */
static double best_trade(const struct moca_quality *q, size_t n)
{
	double p = moca_aggregate_knee(q, n), end;
	size_t i;

	for (i = 0; i < n; i++) {
		end = i + 1 < n ? q[i + 1].p_begin : 1;
		if (end > p && q[i].areas <= MOCA_PHASES_MAX)
			return p > q[i].p_begin ? p : (q[i].p_begin + end) / 2;
	}
	return 1;
}

static int divide(struct moca_phases *out, const struct chosen *c,
		  const struct moca_profile *p, double detail)
{
	struct moca_aggregate_input in = { .slices = p->windows,
					   .leaves = c->n, .states = 2 };
	struct moca_aggregate *a = NULL;
	struct moca_area *areas = NULL;
	double *table = make_table(c, p);
	int err = -ENOMEM;
	size_t n, i;

	in.values = table;
	if (table)
		err = moca_aggregate_create(&a, &in);
	if (!err)
		err = moca_aggregate_qualities(a, &out->qualities,
					       &out->quality_count);
	if (!err) {
		out->p = detail >= 0 ? detail :
			 best_trade(out->qualities, out->quality_count);
		err = moca_aggregate_best(a, out->p, &areas, &n, NULL);
	}
	if (!err) {
		out->phases = calloc(n, sizeof(*out->phases));
		err = out->phases ? 0 : -ENOMEM;
	}
	for (i = 0; !err && i < n; i++)
		describe(&out->phases[out->count++], c, p, &areas[i]);
	free(areas);
	free(table);
	moca_aggregate_free(a);
	return err;
}

int moca_phases_compute(struct moca_phases *out, const struct moca_profile *p,
			double detail)
{
	struct chosen c;
	int err;

	memset(out, 0, sizeof(*out));
	choose(&c, p);
	if (!c.n)
		return 0;
	err = divide(out, &c, p, detail);
	if (err)
		moca_phases_free(out);
	return err;
}

void moca_phases_free(struct moca_phases *x)
{
	free(x->phases);
	free(x->qualities);
	memset(x, 0, sizeof(*x));
}
