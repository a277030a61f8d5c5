// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/levels.h"

#include <errno.h>
#include <pthread.h>
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

/* Of two threads one, which makes each second level. */
struct maker {
	struct moca_levels *x;
	struct moca_aggregate *a;
	const size_t *chosen;	/* number of the quality of each level */
	size_t first;
	int err;
};

static void *make_levels(void *arg)
{
	struct maker *m = arg;
	struct moca_level *l;
	size_t i, k;

	for (k = m->first; !m->err && k < m->x->level_count; k += 2) {
		l = &m->x->levels[k];
		i = m->chosen[k];
		l->p = middle(m->x, i);
		m->err = moca_aggregate_best(m->a, l->p, &l->areas, &l->count,
					     &l->quality);
		l->quality.p_begin = m->x->qualities[i].p_begin;
	}
	return NULL;
}

static int make_all(struct moca_levels *x, struct moca_aggregate *a,
		    const size_t *chosen)
{
	struct maker one = { .x = x, .a = a, .chosen = chosen }, two = one;
	pthread_t thread;
	int err = moca_aggregate_twin(&two.a, a);

	if (err)
		return err;
	two.first = 1;
	if (pthread_create(&thread, NULL, make_levels, &two)) {
		make_levels(&one);
		make_levels(&two);
	} else {
		make_levels(&one);
		pthread_join(thread, NULL);
	}
	moca_aggregate_free(two.a);
	return one.err ? one.err : two.err;
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
	size_t of[MOCA_LEVELS], chosen = quality_of(x, x->p), i, last = 0;
	int all = x->quality_count <= MOCA_LEVELS, take;
	double step;

	x->levels = calloc(MOCA_LEVELS, sizeof(*x->levels));
	if (!x->levels)
		return -ENOMEM;
	/* The first, the last and the chosen one are there in any case. */
	step = all ? 1 : find_step(x, MOCA_LEVELS - 3);
	for (i = 0; i < x->quality_count; i++) {
		take = all || !i || i == chosen || i + 1 == x->quality_count;
		if (is_next(x, i, last, step)) {
			take = 1;
			last = i;
		}
		if (take)
			of[x->level_count++] = i;
	}
	return make_all(x, a, of);
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
