// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/levels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The number of the quality that p has. */
static size_t quality_of(const struct moca_levels *x, double p)
{
	size_t i = 0;

	while (i + 1 < x->quality_count && x->qualities[i + 1].p_begin <= p)
		i++;
	return i;
}

/* In the middle of what is best for it, where no other is as good. */
static double middle(const struct moca_levels *x, size_t i)
{
	double end = i + 1 < x->quality_count ? x->qualities[i + 1].p_begin : 1;

	return (x->qualities[i].p_begin + end) / 2;
}

static int add_level(struct moca_levels *x, struct moca_aggregate *a, size_t i)
{
	struct moca_level *l = &x->levels[x->level_count];
	int err;

	l->p = middle(x, i);
	err = moca_aggregate_best(a, l->p, &l->areas, &l->count, &l->quality);
	if (err)
		return err;
	l->quality.p_begin = x->qualities[i].p_begin;
	x->level_count++;
	return 0;
}

/* Does quality i have so much fewer areas than the last one taken? */
static int is_next(const struct moca_levels *x, size_t i, size_t last,
		   double step)
{
	return (double)x->qualities[i].areas * step <
	       (double)x->qualities[last].areas;
}

/* The smallest factor between levels with which there are not too many. */
static double find_step(const struct moca_levels *x, size_t most)
{
	double low = 1, high = (double)x->qualities[0].areas + 1, step;
	size_t i, n, last;
	int k;

	for (k = 0; k < 50; k++) {
		step = (low + high) / 2;
		for (n = last = 0, i = 1; i < x->quality_count; i++)
			if (is_next(x, i, last, step)) {
				last = i;
				n++;
			}
		if (n > most)
			low = step;
		else
			high = step;
	}
	return high;
}

static int add_levels(struct moca_levels *x, struct moca_aggregate *a)
{
	size_t chosen = quality_of(x, x->p), i, last = 0;
	int all = x->quality_count <= MOCA_LEVELS, take, err = 0;
	double step;

	x->levels = calloc(MOCA_LEVELS, sizeof(*x->levels));
	if (!x->levels)
		return -ENOMEM;
	/* The first, the last and the chosen one are there in any case. */
	step = all ? 1 : find_step(x, MOCA_LEVELS - 3);
	for (i = 0; !err && i < x->quality_count; i++) {
		take = all || !i || i == chosen || i + 1 == x->quality_count;
		if (is_next(x, i, last, step)) {
			take = 1;
			last = i;
		}
		if (take)
			err = add_level(x, a, i);
	}
	return err;
}

int moca_levels_compute(struct moca_levels *out,
			const struct moca_aggregate_input *in, double detail)
{
	struct moca_aggregate *a;
	int err;

	memset(out, 0, sizeof(*out));
	err = moca_aggregate_create(&a, in);
	if (err)
		return err;
	err = moca_aggregate_detail(a, detail, &out->qualities,
				    &out->quality_count, &out->p);
	if (!err)
		err = add_levels(out, a);
	moca_aggregate_free(a);
	if (err)
		moca_levels_free(out);
	return err;
}

void moca_levels_free(struct moca_levels *x)
{
	size_t i;

	for (i = 0; i < x->level_count; i++)
		free(x->levels[i].areas);
	free(x->levels);
	free(x->qualities);
	memset(x, 0, sizeof(*x));
}
