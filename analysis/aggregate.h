/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which parts of a table over time (and over a hierarchy of things) are alike
 * enough to be shown as one.
 *
 * After Lamarche-Perrin, Dosimont et al. ("A Spatiotemporal Data Aggregation
 * Technique for Performance Analysis of Large-scale Execution Traces", 2014). A
 * cell is a leaf s, a slice t and a state x, with a value r(s,t,x) >= 0. An
 * area is a node of the hierarchy, all leaves below it, over some slices [i, j];
 * shown as one, each of its cells has the mean R(x). Per state:
 *
 *	loss = sum r log2(r / R)		(Kullback-Leibler divergence)
 *	gain = R log2 R - sum r log2 r		(reduction of Shannon entropy)
 *
 * A partition of the table into areas is best for p in [0, 1] when the sum of
 * p gain - (1 - p) loss over its areas is highest: p = 0 keeps every difference,
 * p = 1 makes it as simple as can be. (Not always one area: entropy, so defined,
 * may grow when opposites are put together.) Values are divided by their
 * maximum, so that they are shares as in that paper; 0 log 0 is 0.
 */
#ifndef MOCA_AGGREGATE_H
#define MOCA_AGGREGATE_H

#include <stddef.h>
#include <stdint.h>

#define MOCA_AGGREGATE_ROOT UINT32_MAX

struct moca_aggregate_input {
	size_t slices;
	size_t leaves;
	size_t states;
	const double *values;	/* [leaf][slice][state], finite, >= 0 */
	/*
	 * The hierarchy: nodes 0 to leaves - 1 are the leaves; each node's
	 * parent has a higher number; the last one is the root and has
	 * MOCA_AGGREGATE_ROOT. NULL: time only; leaves stay apart, and an area
	 * is all of them over some slices.
	 */
	const uint32_t *parent;
	size_t nodes;
};

struct moca_area {
	uint32_t node;		/* 0 when there is no hierarchy */
	uint32_t begin, end;	/* slices [begin, end) */
};

/* The best partition for p from p_begin to the next quality's p_begin. */
struct moca_quality {
	double p_begin;
	double gain, loss;	/* shares of those of the last, for p = 1 */
	size_t areas;
};

struct moca_aggregate;

/*
 * Prepare: O(leaves T^2 states) time and, with N nodes, O(N T^2) memory. 0;
 * -EINVAL (no cell, bad value or hierarchy), -E2BIG (over 1 GiB), -ENOMEM.
 */
int moca_aggregate_create(struct moca_aggregate **out,
			  const struct moca_aggregate_input *in);
void moca_aggregate_free(struct moca_aggregate *a);
/*
 * The same for another thread, which calls moca_aggregate_best() meanwhile; it is to be
 * freed before a. 0 or -ENOMEM.
 */
int moca_aggregate_twin(struct moca_aggregate **out,
			const struct moca_aggregate *a);

/*
 * The best partition for p: by begin without a hierarchy, else by node and
 * begin. Of partitions of the same quality the one with fewer areas. Time
 * O(T^2), with a hierarchy O(N T^3). The caller frees *areas. 0 or -ENOMEM.
 */
int moca_aggregate_best(struct moca_aggregate *a, double p,
			struct moca_area **areas, size_t *count,
			struct moca_quality *quality);

/*
 * All partitions that are best for some p, by p: the first has p_begin 0. Found
 * for all p at once, none missed; with Q of them, O(N T^3) steps of at most Q
 * each, in fact about O(Q T^3), in two threads. The caller frees *out. 0; -ENOMEM;
 * -E2BIG (more than 256 MiB, or 128 MiB in one of the threads).
 */
int moca_aggregate_qualities(struct moca_aggregate *a,
			     struct moca_quality **out, size_t *count);

/* The p in the middle of the quality with most gain for its loss: the knee. */
double moca_aggregate_knee(const struct moca_quality *q, size_t count);
/* The qualities, and *p: detail as asked for (0 to 1), or below 0 the knee of these. */
int moca_aggregate_detail(struct moca_aggregate *a, double detail,
			  struct moca_quality **out, size_t *count, double *p);

#endif
