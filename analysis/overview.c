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
	err = moca_aggregate_detail(a, detail, &out->qualities,
				    &out->quality_count, &out->p);
	if (!err)
		err = moca_aggregate_best(a, out->p, &areas, &n, NULL);
	if (!err)
		err = describe(out, in, p, areas, n);
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
	free(x->areas);
	free(x->qualities);
	memset(x, 0, sizeof(*x));
}
