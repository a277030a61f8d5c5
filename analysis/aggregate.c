// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/aggregate-measure.h"

#define MEMORY_MAX ((size_t)1 << 30)
#define EPSILON AGGREGATE_EPSILON

/* How an area is best divided. */
enum { AS_ONE = -1, BY_CHILDREN = -2 };	/* else: before that slice */

struct best {
	double quality;
	uint32_t areas;
	int32_t cut;
};

struct list {
	struct moca_area *areas;
	size_t count;
	struct measure sum;
};

static size_t at(const struct moca_aggregate *a, size_t node, size_t i,
		 size_t j)
{
	return aggregate_at(a, node, i, j);
}

static double x_log_x(double x)
{
	return x > 0 ? x * log2(x) : 0;
}

/*
 * Add one state: sums over [i, j] of r, of r log r, of n leaves each. Loss is
 * sum r log r - (sum r) log R.
 */
static void add(struct measure *m, double sum, double entropy, double cells)
{
	double mean = sum / cells;

	m->gain += x_log_x(mean) - entropy;
	m->loss += entropy - (mean > 0 ? sum * log2(mean) : 0);
}

/* One state of one node, of which sum and entropy are by slice. */
static void measure_state(struct moca_aggregate *a, size_t node,
			  const double *sum, const double *entropy,
			  double leaves)
{
	double s, e;
	size_t i, j;

	for (i = 0; i < a->slices; i++) {
		s = e = 0;
		for (j = i; j < a->slices; j++) {
			s += sum[j];
			e += entropy[j];
			add(&a->measures[at(a, node, i, j)], s, e,
			    leaves * (double)(j - i + 1));
		}
	}
}

/* Sums by node and slice of one state; leaves are scaled by max. */
static void sum_state(const struct moca_aggregate *a,
		      const struct moca_aggregate_input *in, size_t state,
		      double max, double *sum, double *entropy)
{
	size_t n, t;
	double v;

	memset(sum, 0, a->nodes * a->slices * sizeof(*sum));
	memset(entropy, 0, a->nodes * a->slices * sizeof(*entropy));
	for (n = 0; n < a->nodes; n++)
		for (t = 0; t < a->slices; t++) {
			size_t k = n * a->slices + t;

			if (n < a->leaves) {
				v = in->values[k * a->states + state] / max;
				sum[k] = v;
				entropy[k] = x_log_x(v);
			}
			if (!a->flat &&
			    a->parent[n] != MOCA_AGGREGATE_ROOT) {
				sum[a->parent[n] * a->slices + t] += sum[k];
				entropy[a->parent[n] * a->slices + t] +=
					entropy[k];
			}
		}
}

static int measure(struct moca_aggregate *a,
		   const struct moca_aggregate_input *in, double max)
{
	size_t cells = (a->flat ? a->leaves : a->nodes) * a->slices, n, x;
	size_t nodes = a->flat ? a->leaves : a->nodes;
	double *sum = malloc(cells * sizeof(*sum));
	double *entropy = malloc(cells * sizeof(*entropy));
	size_t measured = a->nodes;
	int err = sum && entropy ? 0 : -ENOMEM;

	for (x = 0; !err && x < a->states; x++) {
		/* Without a hierarchy leaves are added up, each by itself. */
		a->nodes = nodes;
		sum_state(a, in, x, max, sum, entropy);
		a->nodes = measured;
		for (n = 0; n < nodes; n++)
			measure_state(a, a->flat ? 0 : n, sum + n * a->slices,
				      entropy + n * a->slices,
				      a->flat ? 1 : a->size[n]);
	}
	free(sum);
	free(entropy);
	return err;
}

static int check(const struct moca_aggregate_input *in, double *max)
{
	size_t i, cells;

	if (!in->slices || !in->leaves || !in->states ||
	    in->slices > UINT16_MAX || in->leaves > UINT32_MAX / 2 ||
	    in->states > UINT16_MAX || (in->parent && in->nodes < in->leaves))
		return -EINVAL;
	cells = in->slices * in->leaves * in->states;
	for (*max = 0, i = 0; i < cells; i++) {
		if (!(in->values[i] >= 0) || isinf(in->values[i]))
			return -EINVAL;
		if (in->values[i] > *max)
			*max = in->values[i];
	}
	if (*max <= 0)
		*max = 1;
	for (i = 0; in->parent && i < in->nodes; i++)
		if (i + 1 == in->nodes ? in->parent[i] != MOCA_AGGREGATE_ROOT :
		    in->parent[i] <= i || in->parent[i] < in->leaves ||
		    in->parent[i] >= in->nodes)
			return -EINVAL;
	return 0;
}

static int copy_tree(struct moca_aggregate *a,
		     const struct moca_aggregate_input *in)
{
	size_t i;

	a->parent = malloc(a->nodes * sizeof(*a->parent));
	a->size = calloc(a->nodes, sizeof(*a->size));
	if (!a->parent || !a->size)
		return -ENOMEM;
	for (i = 0; i < a->nodes; i++) {
		a->parent[i] = a->flat ? MOCA_AGGREGATE_ROOT : in->parent[i];
		if (i < a->leaves)
			a->size[i] = 1;
		if (!a->size[i])
			return -EINVAL;	/* a node without leaves */
		if (a->parent[i] != MOCA_AGGREGATE_ROOT)
			a->size[a->parent[i]] += a->size[i];
	}
	return 0;
}

static int best_areas(struct moca_aggregate *a, double p, struct list *l);

static int measure_most(struct moca_aggregate *a)
{
	struct list l;
	int err = best_areas(a, 1, &l);

	if (err)
		return err;
	a->most = l.sum;
	free(l.areas);
	return 0;
}

int moca_aggregate_create(struct moca_aggregate **out,
			  const struct moca_aggregate_input *in)
{
	struct moca_aggregate *a;
	size_t triangle;
	double max;
	int err = check(in, &max);

	if (err)
		return err;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->slices = in->slices;
	a->leaves = in->leaves;
	a->states = in->states;
	a->flat = !in->parent;
	a->nodes = a->flat ? 1 : in->nodes;
	triangle = a->slices * (a->slices + 1) / 2;
	err = -E2BIG;
	if (triangle > MEMORY_MAX / a->nodes /
		       (sizeof(*a->measures) + sizeof(*a->best)))
		goto err_free;
	a->measures = calloc(a->nodes * triangle, sizeof(*a->measures));
	a->best = calloc(a->nodes * triangle, sizeof(*a->best));
	err = a->measures && a->best ? copy_tree(a, in) : -ENOMEM;
	if (!err)
		err = measure(a, in, max);
	if (err)
		goto err_free;
	err = measure_most(a);
	if (err)
		goto err_free;
	*out = a;
	return 0;
err_free:
	moca_aggregate_free(a);
	return err;
}

void moca_aggregate_free(struct moca_aggregate *a)
{
	if (!a)
		return;
	if (!a->is_twin) {
		free(a->parent);
		free(a->size);
		free(a->measures);
	}
	free(a->best);
	free(a);
}

int moca_aggregate_twin(struct moca_aggregate **out,
			const struct moca_aggregate *a)
{
	size_t triangle = a->slices * (a->slices + 1) / 2;
	struct moca_aggregate *twin = malloc(sizeof(*twin));

	if (!twin)
		return -ENOMEM;
	*twin = *a;
	twin->is_twin = 1;
	twin->best = calloc(a->nodes * triangle, sizeof(*twin->best));
	if (!twin->best) {
		free(twin);
		return -ENOMEM;
	}
	*out = twin;
	return 0;
}

/* --- the best partition ------------------------------------------------- */

static void take_better(struct best *b, double quality, uint32_t areas,
			int32_t cut)
{
	if (quality < b->quality - EPSILON ||
	    (quality <= b->quality + EPSILON && areas >= b->areas))
		return;
	/* Within the tolerance fewer areas win, but quality never drops. */
	b->quality = quality > b->quality ? quality : b->quality;
	b->areas = areas;
	b->cut = cut;
}

/* Whether and where [i, j] of a node is best cut in time. Rows are T - i long. */
static void cut_in_time(const struct moca_aggregate *a, size_t node, size_t i,
			size_t j, struct best *b)
{
	const struct best *left = &a->best[at(a, node, i, i)];
	const struct best *right = left + (j - i);	/* [i, j] */
	struct best best = *b;
	size_t k;

	for (k = i; k < j; k++, left++) {
		right += a->slices - k - 1;	/* [k + 1, j] */
		/* Children that are divided together are no worse. */
		if (left->cut == BY_CHILDREN && right->cut == BY_CHILDREN)
			continue;
		take_better(&best, left->quality + right->quality,
			    left->areas + right->areas, (int32_t)k + 1);
	}
	*b = best;
}

static double quality_of(const struct moca_aggregate *a, size_t node, size_t i,
			 size_t j, double p)
{
	const struct measure *m = &a->measures[at(a, node, i, j)];

	return p * m->gain - (1 - p) * m->loss;
}

/* All intervals of all nodes, shorter before longer, children first. */
static void solve_tree(struct moca_aggregate *a, double p)
{
	size_t cells = a->slices * (a->slices + 1) / 2, n, len, i, k;
	struct best *b, *up;

	/* What its children sum up to waits in a node until its turn comes. */
	for (k = 0; k < a->nodes * cells; k++)
		a->best[k] = (struct best){ .cut = BY_CHILDREN };
	for (n = 0; n < a->nodes; n++)
		for (len = 1; len <= a->slices; len++)
			for (i = 0; i + len <= a->slices; i++) {
				size_t j = i + len - 1;

				b = &a->best[at(a, n, i, j)];
				if (n < a->leaves)
					*b = (struct best){ .quality = -INFINITY };
				take_better(b, quality_of(a, n, i, j, p), 1,
					    AS_ONE);
				cut_in_time(a, n, i, j, b);
				if (a->parent[n] == MOCA_AGGREGATE_ROOT)
					continue;
				up = &a->best[at(a, a->parent[n], i, j)];
				up->quality += b->quality;
				up->areas += b->areas;
			}
}

/* Time only: the best of [0, j] is kept at [0, j], with the last area's cut. */
static void solve_flat(struct moca_aggregate *a, double p)
{
	const struct best *before;
	struct best *b;
	size_t j, k;

	for (j = 0; j < a->slices; j++) {
		b = &a->best[at(a, 0, 0, j)];
		*b = (struct best){ .quality = quality_of(a, 0, 0, j, p),
				    .areas = 1, .cut = AS_ONE };
		for (k = 0; k < j; k++) {
			before = &a->best[at(a, 0, 0, k)];
			take_better(b, before->quality +
					       quality_of(a, 0, k + 1, j, p),
				    before->areas + 1, (int32_t)k + 1);
		}
	}
}

static void put(const struct moca_aggregate *a, struct list *l, size_t node,
		size_t i, size_t j)
{
	const struct measure *m = &a->measures[at(a, node, i, j)];

	l->areas[l->count++] = (struct moca_area){ (uint32_t)node, (uint32_t)i,
						   (uint32_t)j + 1 };
	l->sum.gain += m->gain;
	l->sum.loss += m->loss;
}

static void collect_tree(const struct moca_aggregate *a, struct list *l,
			 size_t node, size_t i, size_t j)
{
	int32_t cut = a->best[at(a, node, i, j)].cut;
	size_t c;

	if (cut == AS_ONE) {
		put(a, l, node, i, j);
	} else if (cut == BY_CHILDREN) {
		for (c = 0; c < node; c++)
			if (a->parent[c] == node)
				collect_tree(a, l, c, i, j);
	} else {
		collect_tree(a, l, node, i, (size_t)cut - 1);
		collect_tree(a, l, node, (size_t)cut, j);
	}
}

static void collect_flat(const struct moca_aggregate *a, struct list *l)
{
	size_t j = a->slices - 1, i, n;
	struct moca_area swap;
	int32_t cut;

	for (;;) {
		cut = a->best[at(a, 0, 0, j)].cut;
		put(a, l, 0, cut == AS_ONE ? 0 : (size_t)cut, j);
		if (cut == AS_ONE)
			break;
		j = (size_t)cut - 1;
	}
	for (i = 0, n = l->count; i < n / 2; i++) {
		swap = l->areas[i];
		l->areas[i] = l->areas[n - 1 - i];
		l->areas[n - 1 - i] = swap;
	}
}

static int compare_areas(const void *a, const void *b)
{
	const struct moca_area *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The caller frees l->areas. */
static int best_areas(struct moca_aggregate *a, double p, struct list *l)
{
	const struct best *b;

	if (a->flat)
		solve_flat(a, p);
	else
		solve_tree(a, p);
	b = &a->best[at(a, a->nodes - 1, 0, a->slices - 1)];
	*l = (struct list){ .areas = malloc(b->areas * sizeof(*l->areas)) };
	if (!l->areas)
		return -ENOMEM;
	if (a->flat) {
		collect_flat(a, l);
	} else {
		collect_tree(a, l, a->nodes - 1, 0, a->slices - 1);
		qsort(l->areas, l->count, sizeof(*l->areas), compare_areas);
	}
	return 0;
}

int moca_aggregate_best(struct moca_aggregate *a, double p,
			struct moca_area **areas, size_t *count,
			struct moca_quality *quality)
{
	struct list l;
	int err = best_areas(a, p, &l);

	if (err)
		return err;
	if (quality)
		*quality = (struct moca_quality){
			.p_begin = p,
			.gain = a->most.gain > EPSILON ?
				l.sum.gain / a->most.gain : 0,
			.loss = a->most.loss > EPSILON ?
				l.sum.loss / a->most.loss : 0,
			.areas = l.count,
		};
	*areas = l.areas;
	*count = l.count;
	return 0;
}

double moca_aggregate_knee(const struct moca_quality *q, size_t count)
{
	size_t i, best = 0;

	/* The furthest above the line from no gain, no loss to all of both. */
	for (i = 1; i < count; i++)
		if (q[i].gain - q[i].loss >
		    q[best].gain - q[best].loss + EPSILON)
			best = i;
	return (q[best].p_begin +
		(best + 1 < count ? q[best + 1].p_begin : 1)) / 2;
}
