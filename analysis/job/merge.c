// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/job.h"

void moca_job_init(struct moca_job *j)
{
	memset(j, 0, sizeof(*j));
	j->counts = -1;
}

void moca_job_free(struct moca_job *j)
{
	size_t i;

	for (i = 0; i < j->finding_count; i++)
		free(j->findings[i].ranges);
	free(j->ranks);
	free(j->rows);
	free(j->findings);
	moca_strings_free(&j->strings);
	moca_job_init(j);
}

const char *moca_job_state_name(enum moca_job_state s)
{
	static const char *const names[] = {
		[MOCA_JOB_WHOLE] = "whole", [MOCA_JOB_CUT] = "cut",
		[MOCA_JOB_DAMAGED] = "damaged",
		[MOCA_JOB_UNREADABLE] = "unreadable",
	};

	return s < MOCA_JOB_STATES ? names[s] : NULL;
}

/* Saturating sums are associative, wrapped ones would lie. */
uint64_t moca_job_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* NULL stays NULL. */
static int own(struct moca_job *j, const char **text)
{
	if (!*text)
		return 0;
	*text = moca_strings_intern(&j->strings, *text);
	return *text ? 0 : -ENOMEM;
}

/* --- ranks -------------------------------------------------------------- */

static int merge_ranks(struct moca_job *to, const struct moca_job *from,
		       uint32_t *rank)
{
	size_t n = to->rank_count + from->rank_count, i, k, m;
	struct moca_job_rank *all, *x;
	int err = 0;

	all = calloc(n + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (i = k = m = 0; m < n && !err; m++) {
		x = &all[m];
		if (i < to->rank_count && k < from->rank_count &&
		    to->ranks[i].number == from->ranks[k].number) {
			*rank = to->ranks[i].number;
			err = -EEXIST;
		} else if (k == from->rank_count ||
			   (i < to->rank_count &&
			    to->ranks[i].number < from->ranks[k].number)) {
			*x = to->ranks[i++];
		} else {
			*x = from->ranks[k++];
			if (own(to, &x->host) || own(to, &x->job) ||
			    own(to, &x->machine) || own(to, &x->command))
				err = -ENOMEM;
		}
	}
	if (err) {
		free(all);
		return err;
	}
	free(to->ranks);
	to->ranks = all;
	to->rank_count = n;
	return 0;
}

/* --- data structures ---------------------------------------------------- */

static void join_bound(struct moca_job_bound *x, const struct moca_job_bound *y,
		       int most)
{
	if (x->value == y->value ? y->rank < x->rank :
	    most ? y->value > x->value : y->value < x->value)
		*x = *y;
}

/* Sites of one name may differ by rank: the first of them by text is kept. */
static int site_is_before(const struct moca_job_row *x,
			  const struct moca_job_row *y)
{
	int order;

	if (!x->function || !y->function)
		return !!x->function;
	order = strcmp(x->function, y->function);
	return (order ? order : strcmp(x->file, y->file)) <= 0;
}

void moca_job_row_join(struct moca_job_row *x, const struct moca_job_row *y)
{
	int m;

	if (!site_is_before(x, y)) {
		x->function = y->function;
		x->file = y->file;
	}
	x->ranks = x->ranks > UINT32_MAX - y->ranks ? UINT32_MAX :
						      x->ranks + y->ranks;
	if (x->threads < y->threads)
		x->threads = y->threads;
	for (m = 0; m < MOCA_JOB_SUMS; m++)
		x->sum[m] = moca_job_add(x->sum[m], y->sum[m]);
	join_bound(&x->least, &y->least, 0);
	join_bound(&x->most, &y->most, 1);
	join_bound(&x->remote, &y->remote, 1);
}

static int merge_rows(struct moca_job *to, const struct moca_job *from)
{
	size_t i, k, m;
	struct moca_job_row *all, y;
	int order;

	all = calloc(to->row_count + from->row_count + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (i = k = m = 0; i < to->row_count || k < from->row_count; m++) {
		order = i == to->row_count ? 1 : k == from->row_count ? -1 :
			strcmp(to->rows[i].name, from->rows[k].name);
		if (order <= 0)
			all[m] = to->rows[i++];
		if (order < 0)
			continue;
		y = from->rows[k++];
		if (own(to, &y.name) || own(to, &y.function) ||
		    own(to, &y.file)) {
			free(all);
			return -ENOMEM;
		}
		if (order)
			all[m] = y;
		else
			moca_job_row_join(&all[m], &y);
	}
	free(to->rows);
	to->rows = all;
	to->row_count = m;
	return 0;
}

/* --- findings ----------------------------------------------------------- */

int moca_job_finding_order(const struct moca_job_finding *a,
			   const struct moca_job_finding *b)
{
	int order = strcmp(a->kind, b->kind);

	return order ? order : strcmp(a->object, b->object);
}

/* No rank is in both. */
static int join_ranges(struct moca_job_finding *x,
		       const struct moca_job_finding *y)
{
	const struct moca_job_range *r;
	struct moca_job_range *all;
	size_t i, k, n;

	all = calloc(x->range_count + y->range_count, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (i = k = n = 0; i < x->range_count || k < y->range_count;) {
		r = k == y->range_count ||
		    (i < x->range_count &&
		     x->ranges[i].first < y->ranges[k].first) ?
			    &x->ranges[i++] : &y->ranges[k++];
		if (n && all[n - 1].last + 1 == r->first)
			all[n - 1].last = r->last;
		else
			all[n++] = *r;
	}
	free(x->ranges);
	x->ranges = all;
	x->range_count = n;
	return 0;
}

/* As the ranges say, before they are put together. */
static int join_finding(struct moca_job_finding *x,
			const struct moca_job_finding *y)
{
	if (y->ranges->first < x->ranges->first)
		x->title = y->title;
	if (x->gain_least > y->gain_least)
		x->gain_least = y->gain_least;
	if (x->gain_most < y->gain_most)
		x->gain_most = y->gain_most;
	return join_ranges(x, y);
}

/* The finding becomes `to`'s, ranges and all. */
static int own_finding(struct moca_job *to, struct moca_job_finding *x)
{
	size_t size = x->range_count * sizeof(*x->ranges);
	struct moca_job_range *ranges = malloc(size);

	if (!ranges)
		return -ENOMEM;
	if (own(to, &x->kind) || own(to, &x->object) || own(to, &x->title)) {
		free(ranges);
		return -ENOMEM;
	}
	memcpy(ranges, x->ranges, size);
	x->ranges = ranges;
	return 0;
}

static int merge_findings(struct moca_job *to, const struct moca_job *from)
{
	size_t i = 0, k, old = to->finding_count;
	size_t n = old + from->finding_count;
	struct moca_job_finding *all, y;
	int order;

	all = calloc(n + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	/* What all has is to's at once, so that an error leaves nothing behind. */
	if (old)
		memcpy(all + from->finding_count, to->findings,
		       old * sizeof(*all));
	free(to->findings);
	to->findings = all;
	to->finding_count = 0;
	i = from->finding_count;	/* to's old ones are [i, n) */
	for (k = 0; i < n || k < from->finding_count;) {
		struct moca_job_finding *x = &all[to->finding_count];

		order = i == n ? 1 : k == from->finding_count ? -1 :
			moca_job_finding_order(&all[i], &from->findings[k]);
		if (order <= 0) {
			y = all[i];
			memset(&all[i++], 0, sizeof(*all));
			*x = y;
			to->finding_count++;
			if (!order && join_finding(x, &from->findings[k]))
				goto err_memory;
			/* The title is of `from` where it was changed. */
			if (!order && own(to, &x->title))
				goto err_memory;
			k += !order;
			continue;
		}
		y = from->findings[k++];
		if (own_finding(to, &y))
			goto err_memory;
		*x = y;
		to->finding_count++;
	}
	return 0;
err_memory:
	for (; i < n; i++)
		free(all[i].ranges);
	return -ENOMEM;
}

int moca_job_merge(struct moca_job *to, const struct moca_job *from,
		   uint32_t *rank)
{
	int err;

	if (to->counts >= 0 && from->counts >= 0 && to->counts != from->counts)
		return -EXDEV;
	err = merge_ranks(to, from, rank);
	if (!err)
		err = merge_rows(to, from);
	if (!err)
		err = merge_findings(to, from);
	if (to->counts < 0)
		to->counts = from->counts;
	return err;
}
