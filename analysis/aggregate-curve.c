// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The best partitions for all p at once. The quality of one partition is a line
 * over p; that of the best one is the upper envelope of all lines: a curve, of
 * which each line is a partition that is best for some p. What is said of one p
 * in aggregate.c holds of curves: the best of two partitions beside each other
 * is the sum of their curves (as long as both have lines, together), and of two
 * ways to divide the envelope of both.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/aggregate-measure.h"
#include "lib/base/vec.h"

#define MEMORY_MAX ((size_t)256 << 20)
#define THREADS 2
/* Two p that are the same. */
#define SAME_P 1e-12

/* Best from p = begin to the next one's begin. */
struct line {
	double begin;
	double gain, loss;
	uint32_t areas;
	/*
	 * 0: the node's children are divided for all of the interval, each by
	 * itself. Two such beside each other are never better than one.
	 */
	uint32_t own;
};

/* By begin, and by slope: steeper ones are better for larger p. */
struct curve {
	struct line *l;
	size_t count, cap;
};

/* Of one thread, whose nodes are the root's children and all that is below them. */
struct solver {
	const struct moca_aggregate *a;
	const uint8_t *who;	/* of each node but the root: its thread */
	unsigned number;	/* of this thread */
	struct curve **sums;	/* [node][interval]: its children's; or NULL */
	struct curve **solved;	/* [node][interval] of the root's children; or NULL */
	struct curve *own;	/* [interval], of the node at hand */
	struct curve sum, one, two, cuts;	/* scratch */
	size_t bytes, limit;	/* of kept curves */
	int err;
};

static double slope(const struct line *l)
{
	return l->gain + l->loss;
}

static void reserve(struct solver *s, struct curve *c, size_t n)
{
	if (!s->err)
		s->err = moca_vec_fit(c->l, c->cap, n);
}

/* Add a line that is no less steep than those that are there. */
static void push(struct curve *c, struct line x)
{
	const struct line *last;
	double steeper, p;

	for (x.begin = 0; c->count; c->count--) {
		last = &c->l[c->count - 1];
		steeper = slope(&x) - slope(last);
		if (steeper < AGGREGATE_EPSILON) {
			/* The higher one; of equals that with fewer areas. */
			if (x.loss > last->loss + AGGREGATE_EPSILON ||
			    (x.loss > last->loss - AGGREGATE_EPSILON &&
			     x.areas >= last->areas))
				return;
			continue;
		}
		p = (x.loss - last->loss) / steeper;
		if (p >= 1 - SAME_P)
			return;
		if (p <= last->begin + SAME_P)
			continue;
		x.begin = p;
		break;
	}
	c->l[c->count++] = x;
}

/* One beside the other: those with a line that is own, or all. */
static void add(struct solver *s, struct curve *out, const struct curve *a,
		const struct curve *b, int all)
{
	size_t i = 0, j = 0;
	double begin = 0, p, q;

	reserve(s, out, a->count + b->count);
	out->count = 0;
	while (!s->err && begin < 1) {
		const struct line *x = &a->l[i], *y = &b->l[j];

		if (all || x->own || y->own)
			out->l[out->count++] = (struct line){
				begin, x->gain + y->gain, x->loss + y->loss,
				x->areas + y->areas, !all
			};
		p = i + 1 < a->count ? x[1].begin : 1;
		q = j + 1 < b->count ? y[1].begin : 1;
		begin = p < q ? p : q;
		i += p <= q && p < 1;
		j += q <= p && q < 1;
	}
}

/* The better of both at each p. */
static void envelope(struct solver *s, struct curve *out, const struct curve *a,
		     const struct curve *b)
{
	size_t i = 0, j = 0;

	reserve(s, out, a->count + b->count);
	out->count = 0;
	while (!s->err && (i < a->count || j < b->count))
		if (j == b->count || (i < a->count &&
				      slope(&a->l[i]) <= slope(&b->l[j])))
			push(out, a->l[i++]);
		else
			push(out, b->l[j++]);
}

/* Take the better of what is in c and x; it stays in c. */
static void improve(struct solver *s, struct curve *c, const struct curve *x)
{
	struct curve swap = *c;

	envelope(s, &s->two, c, x);
	*c = s->two;
	s->two = swap;
}

static void keep(struct solver *s, struct curve *out, const struct curve *c)
{
	struct line *l;

	if (s->err)
		return;
	s->bytes += c->count * sizeof(*l) - out->cap * sizeof(*l);
	if (s->bytes > s->limit) {
		s->err = -E2BIG;
		return;
	}
	l = realloc(out->l, c->count * sizeof(*l));
	if (!l) {
		s->err = -ENOMEM;
		return;
	}
	memcpy(l, c->l, c->count * sizeof(*l));
	*out = (struct curve){ l, c->count, c->count };
}

static void drop(struct solver *s, struct curve *c)
{
	s->bytes -= c->cap * sizeof(*c->l);
	free(c->l);
	*c = (struct curve){ NULL, 0, 0 };
}

static struct line as_one(const struct moca_aggregate *a, size_t node, size_t i,
			  size_t j)
{
	const struct measure *m = &a->measures[aggregate_at(a, node, i, j)];

	return (struct line){ 0, m->gain, m->loss, 1, 1 };
}

/* Into one: [i, j] of a node, as one area or by its children. */
static void uncut(struct solver *s, size_t node, size_t i, size_t j)
{
	const struct curve *sums = s->sums[node];

	reserve(s, &s->one, 1);
	if (s->err)
		return;
	s->one.l[0] = as_one(s->a, node, i, j);
	s->one.count = 1;
	if (sums)
		improve(s, &s->one, &sums[aggregate_at(s->a, 0, i, j)]);
}

/* [i, j] of a node that is not the root, as good as it can be. */
static void solve_interval(struct solver *s, size_t node, size_t i, size_t j)
{
	struct line first;
	struct curve single = { &first, 1, 1 };
	const struct curve *left;
	size_t k;

	/* By itself first: what the children have is long. */
	s->cuts.count = 0;
	for (k = i; !s->err && k < j; k++) {
		left = &s->own[aggregate_at(s->a, 0, i, k)];
		/* A leaf's cuts begin with an area: its first one. */
		if (!s->sums[node]) {
			first = as_one(s->a, node, i, k);
			left = &single;
		}
		add(s, &s->sum, left, &s->own[aggregate_at(s->a, 0, k + 1, j)],
		    0);
		if (s->sum.count)
			improve(s, &s->cuts, &s->sum);
	}
	uncut(s, node, i, j);
	improve(s, &s->one, &s->cuts);
	keep(s, &s->own[aggregate_at(s->a, 0, i, j)], &s->one);
}

static void free_curves(struct solver *s, struct curve *c, size_t n)
{
	size_t i;

	for (i = 0; c && i < n; i++)
		drop(s, &c[i]);
	free(c);
}

static size_t cells_of(const struct moca_aggregate *a)
{
	return a->slices * (a->slices + 1) / 2;
}

/* Add the curves of a node to its parent's; they are freed. */
static void add_up(struct solver *s, size_t node, struct curve *own)
{
	size_t cells = cells_of(s->a), i;
	struct curve **up = &s->sums[s->a->parent[node]];
	struct line nothing = { .begin = 0 };
	const struct curve none = { &nothing, 1, 1 };

	if (!*up)
		*up = calloc(cells, sizeof(**up));
	if (!*up)
		s->err = -ENOMEM;
	for (i = 0; !s->err && i < cells; i++) {
		add(s, &s->sum, (*up)[i].count ? &(*up)[i] : &none, &own[i],
		    1);
		keep(s, &(*up)[i], &s->sum);
	}
	free_curves(s, own, cells);
}

/* A node but the root. The curves of the root's children wait for their turn. */
static void solve_node(struct solver *s, size_t node)
{
	const struct moca_aggregate *a = s->a;
	size_t cells = cells_of(a), len, i;

	s->own = calloc(cells, sizeof(*s->own));
	if (!s->own)
		s->err = -ENOMEM;
	for (len = 1; !s->err && len <= a->slices; len++)
		for (i = 0; !s->err && i + len <= a->slices; i++)
			solve_interval(s, node, i, i + len - 1);
	free_curves(s, s->sums[node], cells);
	s->sums[node] = NULL;
	if (a->parent[node] + 1 == a->nodes)
		s->solved[node] = s->own;
	else
		add_up(s, node, s->own);
	s->own = NULL;
}

static void *solve_nodes(void *arg)
{
	struct solver *s = arg;
	size_t i;

	for (i = 0; !s->err && i + 1 < s->a->nodes; i++)
		if (s->who[i] == s->number)
			solve_node(s, i);
	return NULL;
}

/* To each thread about as many leaves: the same ones in each run. */
static void share_out(const struct moca_aggregate *a, uint8_t *who)
{
	size_t load[THREADS] = { 0 }, i;

	for (i = a->nodes - 1; i-- > 0;) {
		if (a->parent[i] + 1 != a->nodes) {
			who[i] = who[a->parent[i]];
			continue;
		}
		who[i] = load[1] < load[0];
		load[who[i]] += a->size[i];
	}
}

static void solver_free(struct solver *s)
{
	free(s->sum.l);
	free(s->one.l);
	free(s->two.l);
	free(s->cuts.l);
}

/*
 * All nodes but the root, into the root's sums. Their order is that of the nodes,
 * whichever thread is first: sums of other orders differ in their last bits.
 */
static void solve_tree(struct solver *s)
{
	const struct moca_aggregate *a = s->a;
	uint8_t *who = malloc(a->nodes);
	struct solver other;
	pthread_t thread;
	size_t i;

	s->solved = calloc(a->nodes, sizeof(*s->solved));
	if (!who || !s->solved) {
		s->err = -ENOMEM;
		goto out;
	}
	share_out(a, who);
	s->who = who;
	s->limit = MEMORY_MAX / THREADS;
	other = *s;
	other.number = 1;
	if (pthread_create(&thread, NULL, solve_nodes, &other)) {
		solve_nodes(s);
		solve_nodes(&other);
	} else {
		solve_nodes(s);
		pthread_join(thread, NULL);
	}
	if (!s->err)
		s->err = other.err;
	solver_free(&other);
	s->bytes += other.bytes;
	s->limit = MEMORY_MAX;
	for (i = 0; i + 1 < a->nodes; i++)
		if (s->solved[i])
			add_up(s, i, s->solved[i]);
out:
	free(s->solved);
	free(who);
}

/* Of the root all that is asked for is all of the time: from left to right. */
static void solve_root(struct solver *s, struct curve *out)
{
	const struct moca_aggregate *a = s->a;
	struct curve *upto = calloc(a->slices, sizeof(*upto)), best = { 0 };
	struct curve swap;
	size_t i, j;

	if (!upto)
		s->err = -ENOMEM;
	for (j = 0; !s->err && j < a->slices; j++) {
		for (best.count = i = 0; !s->err && i <= j; i++) {
			uncut(s, a->nodes - 1, i, j);
			if (i) {
				add(s, &s->sum, &upto[i - 1], &s->one, 0);
				swap = s->one;
				s->one = s->sum;
				s->sum = swap;
			}
			improve(s, &best, &s->one);
		}
		keep(s, &upto[j], &best);
	}
	free(best.l);
	if (!s->err)
		*out = upto[a->slices - 1];
	if (upto)
		free_curves(s, upto, a->slices - !s->err);
}

static int shares(const struct moca_aggregate *a, const struct curve *c,
		  struct moca_quality **out)
{
	const struct measure *most = &a->most;
	struct moca_quality *q = calloc(c->count, sizeof(*q));
	size_t i;

	if (!q)
		return -ENOMEM;
	for (i = 0; i < c->count; i++)
		q[i] = (struct moca_quality){
			.p_begin = c->l[i].begin,
			.gain = most->gain > AGGREGATE_EPSILON ?
				c->l[i].gain / most->gain : 0,
			.loss = most->loss > AGGREGATE_EPSILON ?
				c->l[i].loss / most->loss : 0,
			.areas = c->l[i].areas,
		};
	*out = q;
	return 0;
}

int moca_aggregate_qualities(struct moca_aggregate *a,
			     struct moca_quality **out, size_t *count)
{
	struct solver s = { .a = a };
	struct curve all = { 0 };
	size_t i;

	s.sums = calloc(a->nodes, sizeof(*s.sums));
	if (!s.sums)
		return -ENOMEM;
	solve_tree(&s);
	if (!s.err)
		solve_root(&s, &all);
	if (!s.err)
		s.err = shares(a, &all, out);
	if (!s.err)
		*count = all.count;
	for (i = 0; i < a->nodes; i++)
		free_curves(&s, s.sums[i],
			    a->slices * (a->slices + 1) / 2);
	free(s.sums);
	free(all.l);
	solver_free(&s);
	return s.err;
}

int moca_aggregate_detail(struct moca_aggregate *a, double detail,
			  struct moca_quality **out, size_t *count, double *p)
{
	int err = moca_aggregate_qualities(a, out, count);

	if (!err)
		*p = detail >= 0 ? detail : moca_aggregate_knee(*out, *count);
	return err;
}
