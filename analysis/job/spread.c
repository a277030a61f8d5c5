// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/job/spread.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"

#define FEWEST 4		/* ranks that have a value */
#define FAR 5.0
#define DEVIATION 1.4826	/* of a normal distribution's median distance */
#define TENTH 0.1
#define POINTS 0.05

const char *moca_job_metric_name(enum moca_job_metric m)
{
	static const char *const names[] = {
		[MOCA_JOB_BY_TIME] = "time",
		[MOCA_JOB_BY_ACCESSES] = "accesses",
		[MOCA_JOB_BY_REMOTE] = "remote",
		[MOCA_JOB_BY_PAGES] = "pages",
		[MOCA_JOB_BY_FAULTS] = "faults",
		[MOCA_JOB_BY_COST] = "cost",
		[MOCA_JOB_BY_COMPLETE] = "complete",
	};

	return names[m];
}

int moca_job_metric_is_share(enum moca_job_metric m)
{
	return m == MOCA_JOB_BY_REMOTE || m == MOCA_JOB_BY_COMPLETE;
}

static double known(uint64_t v)
{
	return v == MOCA_JOB_NOT_KNOWN ? NAN : (double)v;
}

double moca_job_metric(const struct moca_job_rank *r, enum moca_job_metric m)
{
	double accesses = known(r->value[MOCA_JOB_ACCESSES]);
	double touched = known(r->value[MOCA_JOB_TOUCHED]);

	switch (m) {
	case MOCA_JOB_BY_TIME:
		return known(r->value[MOCA_JOB_TIME]) / 1e9;
	case MOCA_JOB_BY_ACCESSES:
		return accesses;
	case MOCA_JOB_BY_REMOTE:
		if (!(accesses > 0) ||
		    known(r->value[MOCA_JOB_NO_NODE]) >= accesses)
			return NAN;
		return fmin(known(r->value[MOCA_JOB_REMOTE]) / accesses, 1);
	case MOCA_JOB_BY_PAGES:
		return known(r->value[MOCA_JOB_PAGES]);
	case MOCA_JOB_BY_FAULTS:
		return known(r->value[MOCA_JOB_FAULTS]);
	case MOCA_JOB_BY_COST:
		return known(r->value[MOCA_JOB_COST]) / 1e6;
	case MOCA_JOB_BY_COMPLETE:
		if (!(touched > 0) || r->value[MOCA_JOB_SEEN] == MOCA_JOB_NOT_KNOWN)
			return NAN;
		return fmin(known(r->value[MOCA_JOB_SEEN]) / touched, 1);
	default:
		return NAN;
	}
}

/* --- spread and outliers ------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* v is sorted by it. */
static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static int add_outliers(struct moca_job_view *v, size_t *room,
			enum moca_job_metric m, double allowed)
{
	const struct moca_job_spread *s = &v->spread[m];
	struct moca_job_outlier *x;
	double value, far;
	size_t i;

	for (i = 0; i < v->job->rank_count; i++) {
		value = moca_job_metric(&v->job->ranks[i], m);
		far = fabs(value - s->median);
		if (isnan(value) || !(far > allowed))
			continue;
		x = moca_vec_add(v->outliers, v->outlier_count, *room);
		if (!x)
			return -ENOMEM;
		*x = (struct moca_job_outlier){
			.at = i, .metric = m, .value = value,
			.median = s->median,
			/* Beyond nothing at all: as far as can be. */
			.times = allowed > 0 ? far / allowed : HUGE_VAL,
		};
	}
	return 0;
}

static int spread(struct moca_job_view *v, size_t *room, enum moca_job_metric m,
		  double *values)
{
	struct moca_job_spread *s = &v->spread[m];
	double value, least;
	size_t i;

	for (i = 0; i < v->job->rank_count; i++) {
		value = moca_job_metric(&v->job->ranks[i], m);
		if (isnan(value))
			continue;
		if (!s->known || value < s->least) {
			s->least = value;
			s->least_at = i;
		}
		if (!s->known || value > s->most) {
			s->most = value;
			s->most_at = i;
		}
		s->mean += value;
		values[s->known++] = value;
	}
	if (!s->known)
		return 0;
	s->mean /= (double)s->known;
	s->median = median(values, s->known);
	if (s->known < FEWEST)
		return 0;
	for (i = 0; i < s->known; i++)
		values[i] = fabs(values[i] - s->median);
	least = moca_job_metric_is_share(m) ? POINTS : TENTH * s->median;
	return add_outliers(v, room, m,
			    fmax(FAR * DEVIATION * median(values, s->known),
				 least));
}

static int furthest(const void *a, const void *b)
{
	const struct moca_job_outlier *x = a, *y = b;

	if (x->times != y->times)
		return x->times > y->times ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (int)x->metric - (int)y->metric;
}

/* --- what is not there -------------------------------------------------- */

static int find_missing(struct moca_job_view *v)
{
	const struct moca_job *j = v->job;
	uint64_t next = 0, here, size;
	size_t i, room = 0;
	struct moca_job_range *x;

	for (i = 0; i < j->rank_count; i++) {
		size = j->ranks[i].value[MOCA_JOB_SIZE];
		if (size != MOCA_JOB_NOT_KNOWN && size > v->size &&
		    size <= MOCA_JOB_RANK_MAX)
			v->size = size;
		if (j->ranks[i].value[MOCA_JOB_CHOSEN] == 1)
			v->chosen = 1;
	}
	for (i = 0; v->size && i <= j->rank_count; i++) {
		here = i < j->rank_count ? j->ranks[i].number : v->size;
		if (here > v->size)
			here = v->size;
		if (here > next) {
			x = moca_vec_add(v->missing, v->missing_count, room);
			if (!x)
				return -ENOMEM;
			x->first = (uint32_t)next;
			x->last = (uint32_t)(here - 1);
			v->absent += here - next;
		}
		next = here + 1;
	}
	return 0;
}

int moca_job_lacks(const struct moca_job_view *v, int part)
{
	return v->states[MOCA_JOB_DAMAGED] || v->states[MOCA_JOB_UNREADABLE] ||
	       (v->absent && !v->chosen && !part);
}

/* --- orders ------------------------------------------------------------- */

uint64_t moca_job_finding_ranks(const struct moca_job_finding *x)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < x->range_count; i++)
		n += (uint64_t)x->ranges[i].last - x->ranges[i].first + 1;
	return n;
}

static int by_ranks(const void *a, const void *b, void *job)
{
	const struct moca_job *j = job;
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	const struct moca_job_finding *x = &j->findings[i], *y = &j->findings[k];
	uint64_t n = moca_job_finding_ranks(x), m = moca_job_finding_ranks(y);

	if (n != m)
		return n > m ? -1 : 1;
	if (x->gain_most != y->gain_most)
		return x->gain_most > y->gain_most ? -1 : 1;
	return i < k ? -1 : i > k;
}

static int by_accesses(const void *a, const void *b, void *job)
{
	const struct moca_job *j = job;
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	uint64_t n = j->rows[i].sum[MOCA_JOB_SUM_ACCESSES];
	uint64_t m = j->rows[k].sum[MOCA_JOB_SUM_ACCESSES];

	return n > m ? -1 : n < m ? 1 : i < k ? -1 : i > k;
}

static size_t *order(size_t count)
{
	size_t *v = calloc(count + 1, sizeof(*v)), i;

	for (i = 0; v && i < count; i++)
		v[i] = i;
	return v;
}

int moca_job_look(struct moca_job_view *v, const struct moca_job *job)
{
	size_t i, room = 0;
	double *values;
	int m, err;

	memset(v, 0, sizeof(*v));
	v->job = job;
	v->findings = order(job->finding_count);
	v->rows = order(job->row_count);
	values = calloc(job->rank_count + 1, sizeof(*values));
	err = v->findings && v->rows && values ? find_missing(v) : -ENOMEM;
	for (m = 0; m < MOCA_JOB_METRICS && !err; m++)
		err = spread(v, &room, (enum moca_job_metric)m, values);
	free(values);
	if (err)
		return err;
	for (i = 0; i < job->rank_count; i++)
		v->states[job->ranks[i].state]++;
	if (v->outlier_count)
		qsort(v->outliers, v->outlier_count, sizeof(*v->outliers),
		      furthest);
	qsort_r(v->findings, job->finding_count, sizeof(*v->findings), by_ranks,
		(void *)job);
	qsort_r(v->rows, job->row_count, sizeof(*v->rows), by_accesses,
		(void *)job);
	return 0;
}

void moca_job_view_free(struct moca_job_view *v)
{
	free(v->outliers);
	free(v->missing);
	free(v->findings);
	free(v->rows);
}
