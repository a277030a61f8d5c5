// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long each interval is. A page that is used all the time has as many records
 * in ten short intervals as in ten long ones: where intervals differ, records
 * would tell how often they were made, not how the time was spent. So each record
 * weighs what its interval's length is of the mean one, while they are gathered;
 * lengths_scale makes numbers of intervals of mean length of the sums.
 *
 * Only where the recorder chose lengths that differ: it says so. What else makes
 * intervals long, a machine that is busy or a program that waits, is no use of
 * memory. In guests the share of remote accesses was 20 points wrong by length.
 */
#include "analysis/profile/passes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/intervals.h"
#include "analysis/trace.h"
#include "lib/base/vec.h"
#include "lib/format/trace.h"

/* What the numbers of intervals in a (perhaps corrupt) file may reach. */
#define INTERVALS_MAX (1u << 22)
/* A record of an interval of mean length, where they differ. */
#define UNIT 16
#define WEIGHT_MAX (UINT16_MAX / 2)
/* Of the mean length: these are taken for equal. */
#define EVEN 0.25

/* When each interval begins, by the headers of chunks; 0: has no records. */
struct begins {
	uint64_t *ns;
	size_t count, cap;
};

static int add_begin(void *arg, const struct moca_chunk *c)
{
	struct begins *b = arg;
	uint64_t *at;

	if (c->interval >= INTERVALS_MAX || !c->begin_ns)
		return 0;
	if (moca_vec_fit_zeroed(b->ns, b->cap, (size_t)c->interval + 1))
		return -ENOMEM;
	if (b->count <= c->interval)
		b->count = (size_t)c->interval + 1;
	at = &b->ns[c->interval];
	if (!*at || c->begin_ns < *at)
		*at = c->begin_ns;
	return 0;
}

static int each_chunk(struct moca_trace *t,
		      int (*add)(void *arg, const struct moca_chunk *c),
		      void *arg)
{
	const struct moca_chunk *c;
	struct moca_cursor *cursor;
	int ret = moca_cursor_open(&cursor, t, NULL);

	if (ret)
		return ret;
	moca_chunks_only(cursor);
	while ((ret = moca_cursor_chunk(cursor, &c)) > 0) {
		ret = add(arg, c);
		if (ret)
			break;
	}
	moca_cursor_close(cursor);
	return ret;
}

/* But for the last, which ends with the program. */
static int is_even(const double *ns, size_t n, double mean)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (ns[i] > (1 + EVEN) * mean ||
		    (i + 1 < n && ns[i] < (1 - EVEN) * mean))
			return 0;
	return 1;
}

static int by_length(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * The most likely rate of uses at which a page comes to be used in these intervals is
 * q at most where the sum of length / (1 - exp(-q * length)) over them is all the time
 * at most. That is a short interval's weight 1 / q, and a long one's own length: that a
 * page is used somewhere in it says nothing of what is used all the time.
 */
static double use_of(double length, double share)
{
	return length / (1 - pow(1 - share, length));
}

static int weigh_uses(struct lengths *l, const double *ns, size_t n)
{
	double *sorted = malloc(n * sizeof(*sorted)), median, length;
	size_t i;

	l->uses = malloc(n * sizeof(*l->uses));
	if (!sorted || !l->uses) {
		free(sorted);
		return -ENOMEM;
	}
	memcpy(sorted, ns, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_length);
	median = sorted[n / 2];
	free(sorted);
	l->median_ns = median;
	for (i = n; i-- > 0;) {
		length = ns[i] > 0 && median > 0 ? ns[i] / median : 1;
		l->uses[i].seldom = (float)use_of(length, LENGTHS_SELDOM);
		l->uses[i].often = (float)use_of(length, LENGTHS_OFTEN);
		l->uses[i].since = length + (i + 1 < n ? l->uses[i + 1].since : 0);
	}
	return 0;
}

static int weigh(struct lengths *l, const double *ns, size_t n, unsigned top)
{
	double sum = 0, w;
	size_t i;

	for (i = 0; i < n; i++)
		sum += ns[i];
	if (!(sum > 0) || is_even(ns, n, sum / (double)n))
		return 0;
	l->weight = malloc(n * sizeof(*l->weight));
	if (!l->weight)
		return -ENOMEM;
	l->unit = UNIT;
	/* Of intervals 16 times as long as the mean one the most that fits. */
	l->use_unit = 1 + (unsigned)((uint64_t)top * UNIT * 16 / WEIGHT_MAX);
	l->count = n;
	for (i = n; i-- > 0;) {
		w = round(l->unit * ns[i] * (double)n / sum);
		l->weight[i] = w < 1 ? 1 : w > WEIGHT_MAX ? WEIGHT_MAX :
							   (uint16_t)w;
	}
	return weigh_uses(l, ns, n);
}

int lengths_find(struct lengths *l, struct moca_trace *t,
		 const struct moca_profile *p, uint64_t intervals)
{
	uint64_t end_ns = p->begin_ns + p->windows * p->window_ns;
	struct begins b = { 0 };
	double *ns = NULL;
	int err;

	l->unit = l->use_unit = 1;
	if (!moca_trace_meta(t, META_CREDIT))
		return 0;
	err = each_chunk(t, add_begin, &b);
	if (err || !b.count)
		goto out;
	ns = malloc(b.count * sizeof(*ns));
	err = ns ? 0 : -ENOMEM;
	if (err)
		goto out;
	moca_intervals_lengths(ns, b.ns, b.count,
			       intervals > b.count ? intervals : b.count,
			       p->begin_ns, end_ns);
	err = weigh(l, ns, b.count, moca_trace_top_weight(t));
out:
	free(ns);
	free(b.ns);
	return err;
}

struct peaks {
	struct peak {
		uint64_t interval, n;	/* the last one with records */
	} *now;
	uint64_t *of;
	uint32_t tasks;
};

static int add_peak(void *arg, const struct moca_chunk *c)
{
	struct peaks *p = arg;
	struct peak *now;

	if (c->task >= p->tasks)
		return 0;
	now = &p->now[c->task];
	if (now->interval != c->interval)
		*now = (struct peak){ .interval = c->interval };
	now->n += c->read_weight + c->write_weight;
	if (p->of[c->task] < now->n)
		p->of[c->task] = now->n;
	return 0;
}

int lengths_peaks(struct moca_trace *t, uint64_t *of, uint32_t tasks)
{
	struct peaks p = { .of = of, .tasks = tasks };
	int err;

	p.now = calloc((size_t)tasks + 1, sizeof(*p.now));
	err = p.now ? each_chunk(t, add_peak, &p) : -ENOMEM;
	free(p.now);
	return err;
}

void lengths_free(struct lengths *l)
{
	free(l->weight);
	free(l->uses);
}

/* What there is remains: not 0. */
static uint64_t scaled(const struct lengths *l, uint64_t n)
{
	return n && n < l->unit ? 1 : (n + l->unit / 2) / l->unit;
}

static void scale(const struct lengths *l, uint64_t *n, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		n[i] = scaled(l, n[i]);
}

void lengths_scale(const struct lengths *l, const struct moca_profile *p,
		   struct moca_profile_object *o)
{
	uint64_t *const sums[] = {
		&o->accesses, &o->reads, &o->writes, &o->shared_accesses,
		&o->late_writes, &o->cold_accesses, &o->unknown,
		&o->inherited_accesses, &o->inherited_remote,
		&o->inherited_best, &o->watched_accesses,
	};
	size_t i;

	if (l->unit == 1)
		return;
	for (i = 0; i < sizeof(sums) / sizeof(*sums); i++)
		scale(l, sums[i], 1);
	o->variance /= (double)l->unit * l->unit;
	scale(l, o->remote, MOCA_POLICIES);
	scale(l, o->use, p->lanes);
	scale(l, o->written, p->lanes);
	scale(l, o->served, p->topology.nodes);
	for (i = 0; o->parts && i < (size_t)MOCA_PROFILE_PARTS * p->lanes; i++)
		o->parts[i] = (uint32_t)scaled(l, o->parts[i]);
}
