// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/overview.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Slices of time: a partition takes their number to the third. */
#define SLICES 48
#define FEW 1000		/* one of so many accesses is not told apart */

struct input {
	const struct moca_profile_object *o[MOCA_OVERVIEW_OBJECTS];
	size_t n;
	unsigned step;		/* windows of a slice */
	unsigned slices;
	double *values;
	uint32_t parent[MOCA_OVERVIEW_OBJECTS + 1];
};

static void choose(struct input *in, const struct moca_profile *p)
{
	size_t i;

	for (i = 0; i < p->count && in->n < MOCA_OVERVIEW_OBJECTS; i++)
		if (p->rows[i].data && p->rows[i].accesses &&
		    p->rows[i].accesses * FEW >= p->accesses &&
		    p->rows[i].reads_in && p->rows[i].writes_in)
			in->o[in->n++] = &p->rows[i];
	in->step = (p->windows + SLICES - 1) / SLICES;
	in->slices = (p->windows + in->step - 1) / in->step;
	for (i = 0; i < in->n; i++)
		in->parent[i] = (uint32_t)in->n;
	in->parent[in->n] = MOCA_AGGREGATE_ROOT;
}

/* Reads and writes of object i in slices [begin, end). */
static void count(const struct input *in, const struct moca_profile *p,
		  size_t i, unsigned begin, unsigned end, uint64_t *reads,
		  uint64_t *writes)
{
	unsigned w;

	for (w = begin * in->step; w < end * in->step && w < p->windows; w++) {
		*reads += in->o[i]->reads_in[w];
		*writes += in->o[i]->writes_in[w];
	}
}

static int fill(struct input *in, const struct moca_profile *p)
{
	uint64_t reads, writes;
	unsigned s;
	size_t i;

	in->values = calloc(in->n * in->slices * 2, sizeof(*in->values));
	if (!in->values)
		return -ENOMEM;
	for (i = 0; i < in->n; i++)
		for (s = 0; s < in->slices; s++) {
			reads = writes = 0;
			count(in, p, i, s, s + 1, &reads, &writes);
			in->values[(i * in->slices + s) * 2] = (double)reads;
			in->values[(i * in->slices + s) * 2 + 1] =
				(double)writes;
		}
	return 0;
}

static int describe(struct moca_overview *out, const struct input *in,
		    const struct moca_profile *p, const struct moca_area *areas,
		    size_t n)
{
	uint64_t slice_ns = in->step * p->window_ns;
	struct moca_overview_area *x;
	size_t i, k;

	out->areas = calloc(n, sizeof(*out->areas));
	if (!out->areas)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		x = &out->areas[out->count++];
		x->begin_ns = p->begin_ns + areas[i].begin * slice_ns;
		x->end_ns = p->begin_ns + areas[i].end * slice_ns;
		if (areas[i].node < in->n)
			x->object = in->o[areas[i].node];
		for (k = 0; k < in->n; k++)
			if (!x->object || k == areas[i].node)
				count(in, p, k, areas[i].begin, areas[i].end,
				      &x->reads, &x->writes);
	}
	return 0;
}

/* The number of the quality that p has. */
static size_t quality_of(const struct moca_overview *x, double p)
{
	size_t i = 0;

	while (i + 1 < x->quality_count && x->qualities[i + 1].p_begin <= p)
		i++;
	return i;
}

/* In the middle of what is best for it, where no other is as good. */
static double middle(const struct moca_overview *x, size_t i)
{
	double end = i + 1 < x->quality_count ? x->qualities[i + 1].p_begin : 1;

	return (x->qualities[i].p_begin + end) / 2;
}

static int add_level(struct moca_overview *x, struct moca_aggregate *a,
		     size_t i)
{
	struct moca_overview_level *l = &x->levels[x->level_count];
	int err;

	l->p = middle(x, i);
	err = moca_aggregate_best(a, l->p, &l->areas, &l->count, &l->quality);
	if (err)
		return err;
	l->quality.p_begin = x->qualities[i].p_begin;
	x->level_count++;
	return 0;
}

static int add_levels(struct moca_overview *x, struct moca_aggregate *a)
{
	size_t n = x->quality_count, chosen = quality_of(x, x->p), i, q, next;
	int err = 0;

	if (n > MOCA_OVERVIEW_LEVELS)
		n = MOCA_OVERVIEW_LEVELS;
	x->levels = calloc(n, sizeof(*x->levels));
	if (!x->levels)
		return -ENOMEM;
	for (i = 0; !err && i < n; i++) {
		q = n > 1 ? i * (x->quality_count - 1) / (n - 1) : 0;
		next = n > 1 ? (i + 1) * (x->quality_count - 1) / (n - 1) : 1;
		/* The ends stay; one between gives way to the chosen one. */
		if (i && i + 1 < n && q < chosen && chosen < next)
			q = chosen;
		err = add_level(x, a, q);
	}
	return err;
}

static int keep_counts(struct moca_overview *out, const struct input *in,
		       const struct moca_profile *p)
{
	size_t cells = in->n * in->slices, i;
	unsigned s;

	memcpy(out->rows, in->o, sizeof(out->rows));
	out->begin_ns = p->begin_ns;
	out->slice_ns = in->step * p->window_ns;
	out->slices = in->slices;
	out->reads = calloc(cells, sizeof(*out->reads));
	out->writes = calloc(cells, sizeof(*out->writes));
	if (!out->reads || !out->writes)
		return -ENOMEM;
	for (i = 0; i < in->n; i++)
		for (s = 0; s < in->slices; s++)
			count(in, p, i, s, s + 1,
			      &out->reads[i * in->slices + s],
			      &out->writes[i * in->slices + s]);
	return 0;
}

static int aggregate(struct moca_overview *out, const struct input *in,
		     const struct moca_profile *p, double detail)
{
	struct moca_aggregate_input table = {
		.slices = in->slices, .leaves = in->n, .states = 2,
		.values = in->values, .parent = in->parent,
		.nodes = in->n + 1,
	};
	struct moca_area *areas = NULL;
	struct moca_aggregate *a;
	int err = moca_aggregate_create(&a, &table);
	size_t n;

	if (err)
		return err;
	err = moca_aggregate_qualities(a, &out->qualities,
				       &out->quality_count);
	if (!err) {
		out->p = detail >= 0 ? detail :
			 moca_aggregate_knee(out->qualities,
					     out->quality_count);
		err = moca_aggregate_best(a, out->p, &areas, &n, NULL);
	}
	if (!err)
		err = describe(out, in, p, areas, n);
	if (!err)
		err = add_levels(out, a);
	if (!err)
		err = keep_counts(out, in, p);
	free(areas);
	moca_aggregate_free(a);
	return err;
}

int moca_overview_compute(struct moca_overview *out,
			  const struct moca_profile *p, double detail)
{
	struct input in = { .n = 0 };
	int err;

	memset(out, 0, sizeof(*out));
	choose(&in, p);
	if (!in.n)
		return 0;
	out->objects = in.n;
	err = fill(&in, p);
	if (!err)
		err = aggregate(out, &in, p, detail);
	free(in.values);
	if (err)
		moca_overview_free(out);
	return err;
}

void moca_overview_free(struct moca_overview *x)
{
	size_t i;

	for (i = 0; i < x->level_count; i++)
		free(x->levels[i].areas);
	free(x->levels);
	free(x->reads);
	free(x->writes);
	free(x->areas);
	free(x->qualities);
	memset(x, 0, sizeof(*x));
}
