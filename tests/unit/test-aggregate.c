// SPDX-License-Identifier: GPL-2.0-or-later
/* The aggregation, beside every partition there is, by the definitions. */
#include <math.h>

#include "analysis/aggregate.h"
#include "tests/unit/trace-util.h"

#define SLICES 7
#define LEAVES 6
#define STATES 2
#define NODES 11

static double values[LEAVES * SLICES * STATES];
static struct moca_aggregate_input in;
static double max;

static const struct tree {
	size_t leaves, nodes;
	uint32_t parent[NODES];
} trees[] = {
	/* Two pairs of leaves, below one root. */
	{ 4, 7, { 4, 4, 5, 5, 6, 6, MOCA_AGGREGATE_ROOT } },
	/* Pages in two parts of an object; an object without; a single page. */
	{ 6, 10, { 6, 6, 7, 7, 8, 9, 8, 8, 9, MOCA_AGGREGATE_ROOT } },
	/* A part has one page, an object one part. */
	{ 5, 11, { 5, 6, 6, 7, 9, 8, 8, 9, 10, 10, MOCA_AGGREGATE_ROOT } },
};
#define TREES (sizeof(trees) / sizeof(*trees))
static const struct tree *tree;		/* NULL: none */

static void make(size_t leaves, size_t slices, const struct tree *hierarchy,
		 int kind)
{
	size_t i, n = leaves * slices * STATES;

	in = (struct moca_aggregate_input){
		.slices = slices, .leaves = leaves, .states = STATES,
		.values = values, .parent = hierarchy ? hierarchy->parent : NULL,
		.nodes = hierarchy ? hierarchy->nodes : 0,
	};
	tree = hierarchy;
	max = 0;
	for (i = 0; i < n; i++) {
		/* Any numbers; few different ones; blocks in time. */
		values[i] = kind == 0 ? (double)(rnd() % 1000) / 1000 :
			    kind == 1 ? (double)(rnd() % 3) :
			    (double)((i / STATES % slices) / 3 + i % STATES);
		if (values[i] > max)
			max = values[i];
	}
}

static double cell(size_t leaf, size_t slice, size_t state)
{
	return values[(leaf * in.slices + slice) * STATES + state] /
	       (max > 0 ? max : 1);
}

static double x_log_x(double x)
{
	return x > 0 ? x * log2(x) : 0;
}

/* By the definitions, cell by cell: leaves of a mask, slices [i, j]. */
static void measure(unsigned leaves, size_t i, size_t j, double *gain,
		    double *loss)
{
	size_t s, t, x;
	double sum, n, mean, r;

	for (x = 0; x < STATES; x++) {
		sum = n = 0;
		for (s = 0; s < in.leaves; s++)
			for (t = i; t <= j; t++)
				if (leaves >> s & 1) {
					sum += cell(s, t, x);
					n++;
				}
		mean = sum / n;
		*gain += x_log_x(mean);
		for (s = 0; s < in.leaves; s++)
			for (t = i; t <= j; t++) {
				r = cell(s, t, x);
				if (!(leaves >> s & 1) || r <= 0)
					continue;
				*gain -= x_log_x(r);
				*loss += r * log2(r / mean);
			}
	}
}

static double quality(unsigned leaves, size_t i, size_t j, double p)
{
	double gain = 0, loss = 0;
	size_t s;

	if (in.parent) {
		measure(leaves, i, j, &gain, &loss);
		return p * gain - (1 - p) * loss;
	}
	for (s = 0; s < in.leaves; s++)
		measure(1u << s, i, j, &gain, &loss);
	return p * gain - (1 - p) * loss;
}

/* --- time only ---------------------------------------------------------- */

/* The best of all 2^(slices - 1) partitions. */
static double brute_flat(double p)
{
	double best = -INFINITY, sum;
	unsigned cuts;
	size_t t, from;

	for (cuts = 0; cuts < 1u << (in.slices - 1); cuts++) {
		for (sum = 0, from = 0, t = 0; t < in.slices; t++)
			if (t + 1 == in.slices || cuts >> t & 1) {
				sum += quality(0, from, t, p);
				from = t + 1;
			}
		if (sum > best)
			best = sum;
	}
	return best;
}

/* --- time and hierarchy ------------------------------------------------- */

static unsigned leaves_of(uint32_t node)
{
	unsigned m = 0;
	uint32_t i;

	if (node < in.leaves)
		return 1u << node;
	for (i = 0; i < node; i++)
		if (tree->parent[i] == node)
			m |= leaves_of(i);
	return m;
}

/* Every way to cut a node's slices, with nothing remembered. */
static double brute_tree(uint32_t node, size_t i, size_t j, double p)
{
	double best = quality(leaves_of(node), i, j, p), sum;
	uint32_t c;
	size_t k;

	for (k = i; k < j; k++) {
		sum = brute_tree(node, i, k, p) + brute_tree(node, k + 1, j, p);
		if (sum > best)
			best = sum;
	}
	if (node < in.leaves)
		return best;
	for (sum = 0, c = 0; c < node; c++)
		if (tree->parent[c] == node)
			sum += brute_tree(c, i, j, p);
	return sum > best ? sum : best;
}

/* --- both --------------------------------------------------------------- */

/* The areas cover each cell once; their quality as defined. NAN: they do not. */
static double value_of(const struct moca_area *areas, size_t n, double p)
{
	unsigned seen[SLICES] = { 0 }, leaves;
	double sum = 0;
	size_t i, t;

	for (i = 0; i < n; i++) {
		if (areas[i].begin >= areas[i].end ||
		    areas[i].end > in.slices)
			return NAN;
		leaves = in.parent ? leaves_of(areas[i].node) :
				     (1u << in.leaves) - 1;
		for (t = areas[i].begin; t < areas[i].end; t++) {
			if (seen[t] & leaves)
				return NAN;
			seen[t] |= leaves;
		}
		sum += quality(leaves, areas[i].begin, areas[i].end - 1, p);
	}
	for (t = 0; t < in.slices; t++)
		if (seen[t] != (1u << in.leaves) - 1)
			return NAN;
	return sum;
}

static double brute(double p)
{
	return in.parent ? brute_tree((uint32_t)in.nodes - 1, 0, in.slices - 1, p) :
			   brute_flat(p);
}

static int compare_all(void)
{
	struct moca_aggregate *a;
	struct moca_quality *q;
	struct moca_area *areas;
	size_t n, count, i;
	double p, got, want;

	CHECK(!moca_aggregate_create(&a, &in));
	CHECK(!moca_aggregate_qualities(a, &q, &count));
	CHECK(count >= 1 && q[0].p_begin == 0);
	for (i = 0; i < count; i++) {
		CHECK(!i || (q[i].p_begin >= q[i - 1].p_begin &&
			     q[i].gain > q[i - 1].gain &&
			     q[i].loss > q[i - 1].loss - 1e-9));
		CHECK(q[i].gain <= 1 + 1e-9 && q[i].loss <= 1 + 1e-9);
	}
	for (p = 0; p <= 1.0001; p += 0.05) {
		CHECK(!moca_aggregate_best(a, p > 1 ? 1 : p, &areas, &n, NULL));
		got = value_of(areas, n, p > 1 ? 1 : p);
		want = brute(p > 1 ? 1 : p);
		free(areas);
		CHECK(fabs(got - want) < 1e-6);
	}
	/* Between two that were found nothing is better than the first. */
	for (i = 0; i < count; i++) {
		struct moca_quality at;
		double end = i + 1 < count ? q[i + 1].p_begin : 1;

		CHECK(!moca_aggregate_best(a, (q[i].p_begin + end) / 2, &areas,
					   &n, &at));
		free(areas);
		CHECK(fabs(at.gain - q[i].gain) < 1e-6 &&
		      fabs(at.loss - q[i].loss) < 1e-6 &&
		      at.areas == q[i].areas);
	}
	free(q);
	moca_aggregate_free(a);
	return 0;
}

static int time_only(void)
{
	int i;

	for (i = 0; i < 60; i++) {
		make(1 + (size_t)i % LEAVES, 1 + rnd() % SLICES, NULL, i % 3);
		if (compare_all())
			return 1;
	}
	return 0;
}

static int time_and_space(void)
{
	int i;

	for (i = 0; i < 60; i++) {
		make(trees[i % TREES].leaves, 1 + rnd() % 4, &trees[i % TREES],
		     i / (int)TREES % 3);
		if (compare_all())
			return 1;
	}
	return 0;
}

/* Three phases that differ, without noise: nothing is lost by three areas. */
static int phases(void)
{
	struct moca_aggregate *a;
	struct moca_area *areas;
	struct moca_quality *q;
	size_t n, t, count;

	make(1, 6, NULL, 0);
	for (t = 0; t < 6; t++) {
		values[2 * t] = t < 2 ? 1 : t < 5 ? 0.25 : 0.5;
		values[2 * t + 1] = 1 - values[2 * t];
	}
	CHECK(!moca_aggregate_create(&a, &in));
	CHECK(!moca_aggregate_qualities(a, &q, &count));
	CHECK(!moca_aggregate_best(a, 0, &areas, &n, NULL));
	CHECK(n == 3 && areas[0].end == 2 && areas[1].end == 5);
	free(areas);
	CHECK(!moca_aggregate_best(a, moca_aggregate_knee(q, count), &areas,
				   &n, NULL));
	CHECK(n <= 3 && areas[n - 1].end == 6);
	free(areas);
	free(q);
	moca_aggregate_free(a);
	return 0;
}

/* All the same: one area for every p, at no loss. */
static int uniform(void)
{
	struct moca_aggregate *a;
	struct moca_quality *q;
	size_t i, count;

	make(2, 5, NULL, 0);
	for (i = 0; i < 2 * 5 * STATES; i++)
		values[i] = 0.5;
	CHECK(!moca_aggregate_create(&a, &in));
	CHECK(!moca_aggregate_qualities(a, &q, &count));
	CHECK(count == 1 && q[0].areas == 1 && q[0].loss == 0);
	free(q);
	moca_aggregate_free(a);
	for (i = 0; i < 2 * 5 * STATES; i++)
		values[i] = 0;
	CHECK(!moca_aggregate_create(&a, &in));
	CHECK(!moca_aggregate_qualities(a, &q, &count));
	CHECK(count == 1 && q[0].areas == 1);
	free(q);
	moca_aggregate_free(a);
	return 0;
}

/* What two threads find is the same to the last bit, whichever is first. */
static int same_each_time(void)
{
	enum { PARTS = 12, EACH = 8, LONG = 12, ALL = PARTS * EACH };
	static double noise[ALL * LONG * STATES];
	static uint32_t parent[ALL + PARTS + 1];
	const struct moca_aggregate_input large = {
		.slices = LONG, .leaves = ALL, .states = STATES,
		.values = noise, .parent = parent, .nodes = ALL + PARTS + 1,
	};
	struct moca_area *areas, *twins;
	struct moca_quality *first, *q;
	struct moca_aggregate *a, *twin;
	size_t i, n, count, again;

	for (i = 0; i < ALL * LONG * STATES; i++)
		noise[i] = (double)(rnd() % 1000) / 1000;
	for (i = 0; i < ALL; i++)
		parent[i] = (uint32_t)(ALL + i / EACH);
	for (; i < ALL + PARTS; i++)
		parent[i] = ALL + PARTS;
	parent[i] = MOCA_AGGREGATE_ROOT;
	CHECK(!moca_aggregate_create(&a, &large));
	CHECK(!moca_aggregate_qualities(a, &first, &count));
	CHECK(count > 100);
	for (i = 0; i < 5; i++) {
		CHECK(!moca_aggregate_qualities(a, &q, &again));
		CHECK(again == count && !memcmp(q, first, count * sizeof(*q)));
		free(q);
	}
	CHECK(!moca_aggregate_twin(&twin, a));
	CHECK(!moca_aggregate_best(a, 0.4, &areas, &n, NULL));
	CHECK(!moca_aggregate_best(twin, 0.9, &twins, &again, NULL));
	CHECK(again < n);
	free(twins);
	CHECK(!moca_aggregate_best(twin, 0.4, &twins, &again, NULL));
	CHECK(again == n && !memcmp(twins, areas, n * sizeof(*areas)));
	free(twins);
	moca_aggregate_free(twin);
	free(areas);
	free(first);
	moca_aggregate_free(a);
	return 0;
}

static int refused(void)
{
	uint32_t bad[7] = { 4, 4, 5, 5, 6, 6, 6 };
	struct moca_aggregate *a;

	make(4, 3, &trees[0], 0);
	in.parent = bad;
	CHECK(moca_aggregate_create(&a, &in) == -EINVAL);
	bad[6] = MOCA_AGGREGATE_ROOT;
	bad[0] = 0;
	CHECK(moca_aggregate_create(&a, &in) == -EINVAL);
	/* A node without a leaf below it. */
	bad[0] = 5;
	bad[1] = 5;
	CHECK(moca_aggregate_create(&a, &in) == -EINVAL);
	make(LEAVES, 3, NULL, 0);
	values[3] = -1;
	CHECK(moca_aggregate_create(&a, &in) == -EINVAL);
	values[3] = NAN;
	CHECK(moca_aggregate_create(&a, &in) == -EINVAL);
	in.slices = 0;
	CHECK(moca_aggregate_create(&a, &in) == -EINVAL);
	return 0;
}

/* 128 slices, 16 objects: what a summary does; must be instant. */
static int cost(void)
{
	size_t n = 16 * 128 * STATES, i, count;
	double *v = malloc(n * sizeof(*v)), began;
	struct moca_aggregate *a;
	struct moca_quality *q;

	for (i = 0; v && i < n; i++)
		v[i] = (double)(rnd() % 1000);
	in = (struct moca_aggregate_input){ .slices = 128, .leaves = 16,
					    .states = STATES, .values = v };
	began = now();
	CHECK(v && !moca_aggregate_create(&a, &in));
	CHECK(!moca_aggregate_qualities(a, &q, &count));
	CHECK(now() - began < 5);
	CHECK(count > 10);
	free(q);
	moca_aggregate_free(a);
	free(v);
	return 0;
}

int main(void)
{
	run("aggregate: time, beside all partitions", time_only);
	run("aggregate: time and hierarchy, beside all", time_and_space);
	run("aggregate: phases", phases);
	run("aggregate: nothing to tell apart", uniform);
	run("aggregate: the same each time", same_each_time);
	run("aggregate: refused", refused);
	run("aggregate: cost", cost);
	return failures != 0;
}
