// SPDX-License-Identifier: GPL-2.0-or-later
/* The profile of a job, of one rank's trace. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/advice.h"
#include "analysis/job/job.h"
#include "analysis/profile/profile.h"
#include "analysis/rates.h"
#include "analysis/trace.h"

#define MILLION 1e6

static const char *text(struct moca_job *j, const char *s)
{
	return moca_strings_intern(&j->strings, s ? s : "");
}

static int add_rank(struct moca_job *j, uint32_t number)
{
	struct moca_job_rank *r = calloc(1, sizeof(*r));
	int v;

	if (!r)
		return -ENOMEM;
	free(j->ranks);
	j->ranks = r;
	j->rank_count = 1;
	r->number = number;
	r->host = r->job = r->machine = r->command = text(j, "");
	for (v = 0; v < MOCA_JOB_VALUES; v++)
		r->value[v] = MOCA_JOB_NOT_KNOWN;
	return r->host ? 0 : -ENOMEM;
}

int moca_job_take_unreadable(struct moca_job *j, uint32_t rank)
{
	int err = add_rank(j, rank);

	if (!err)
		j->ranks->state = MOCA_JOB_UNREADABLE;
	return err;
}

/* --- values ------------------------------------------------------------- */

/* A share or a ratio as millionths; what is no number: not known. */
static uint64_t millionths(double v, double most)
{
	return v >= 0 && v <= most ? (uint64_t)llround(v * MILLION) :
				     MOCA_JOB_NOT_KNOWN;
}

static double ratio(const struct moca_trace *t, const char *key)
{
	const char *s = moca_trace_meta(t, key);
	char *end;
	double v = s ? strtod(s, &end) : 0;

	return s && end != s && !*end && v > 0 ? v : -1;
}

static uint64_t told_cost(const struct moca_trace *t)
{
	double v = ratio(t, "cost.wall_estimate");

	return millionths(v > 0 ? v : ratio(t, META_SLOWDOWN), MILLION);
}

/* A part of accesses that are weighed by the length of intervals, of as many as others count. */
static uint64_t part_of(uint64_t part, uint64_t weighed, uint64_t accesses)
{
	return weighed ? (uint64_t)llround((double)part / (double)weighed *
					   (double)accesses) : 0;
}

/* Sums of the rows, as moca diff has them; those of p itself would do as well. */
static void add_sums(uint64_t *value, const struct moca_profile *p)
{
	static const enum moca_job_value zero[] = {
		MOCA_JOB_ACCESSES, MOCA_JOB_READS, MOCA_JOB_WRITES,
		MOCA_JOB_REMOTE, MOCA_JOB_NO_NODE, MOCA_JOB_PAGES,
		MOCA_JOB_SHARED
	};
	const struct moca_profile_object *o;
	uint64_t weighed = 0;
	size_t i;

	for (i = 0; i < sizeof(zero) / sizeof(*zero); i++)
		value[zero[i]] = 0;
	for (i = 0; i < p->count; i++) {
		o = &p->rows[i];
		if (!o->data || !o->accesses)
			continue;
		weighed += o->accesses;
		value[MOCA_JOB_ACCESSES] += o->object->accesses;
		value[MOCA_JOB_READS] += o->object->reads;
		value[MOCA_JOB_WRITES] += o->object->writes;
		value[MOCA_JOB_REMOTE] += o->remote[MOCA_POLICY_FIRST_TOUCH];
		value[MOCA_JOB_NO_NODE] += o->unknown;
		value[MOCA_JOB_PAGES] += o->pages;
		value[MOCA_JOB_SHARED] += o->shared_pages;
	}
	value[MOCA_JOB_REMOTE] = part_of(value[MOCA_JOB_REMOTE], weighed,
					 value[MOCA_JOB_ACCESSES]);
	value[MOCA_JOB_NO_NODE] = part_of(value[MOCA_JOB_NO_NODE], weighed,
					  value[MOCA_JOB_ACCESSES]);
}

static int fill_rank(struct moca_job *j, struct moca_trace *t,
		     const struct moca_profile *p, const char *machine)
{
	struct moca_job_rank *r = j->ranks;
	uint64_t begin = trace_meta_u64(t, META_START, 0);
	uint64_t end = trace_meta_u64(t, META_END, 0);
	struct moca_certificate certificate;
	struct moca_rates *rates;
	int err;

	r->host = text(j, moca_trace_meta(t, META_HOST));
	r->job = text(j, moca_trace_meta(t, META_JOB));
	r->machine = text(j, machine);
	r->command = text(j, moca_trace_meta(t, META_COMMAND));
	if (!r->host || !r->job || !r->machine || !r->command)
		return -ENOMEM;
	r->value[MOCA_JOB_SIZE] = trace_meta_u64(t, "ranks", MOCA_JOB_NOT_KNOWN);
	r->value[MOCA_JOB_CHOSEN] = trace_meta_u64(t, "ranks_chosen",
						   MOCA_JOB_NOT_KNOWN);
	r->value[MOCA_JOB_EXIT] = trace_meta_u64(t, META_EXIT_STATUS,
						 MOCA_JOB_NOT_KNOWN);
	r->value[MOCA_JOB_BEGIN] = trace_meta_u64(t, META_START_TIME,
						  MOCA_JOB_NOT_KNOWN);
	if (end > begin)
		r->value[MOCA_JOB_TIME] = end - begin;
	add_sums(r->value, p);
	r->value[MOCA_JOB_THREADS] = p->threads;
	r->value[MOCA_JOB_WSS] = p->used.most;
	r->value[MOCA_JOB_COST] = told_cost(t);
	moca_trace_certificate(t, &certificate);
	if (!p->counts && certificate.pages_touched) {
		r->value[MOCA_JOB_SEEN] = certificate.pages_seen;
		r->value[MOCA_JOB_TOUCHED] = certificate.pages_touched;
	}
	err = moca_rates_compute(&rates, t, 1);
	if (err || !rates)
		return err;
	r->value[MOCA_JOB_FAULTS] = moca_job_add(rates->total.minor - rates->total.own,
						 rates->total.major);
	moca_rates_free(rates);
	return 0;
}

/* --- data structures ---------------------------------------------------- */

static void fill_row(struct moca_job_row *x, uint32_t rank,
		     const struct moca_profile_object *o)
{
	const struct moca_site *site = o->object->alloc;

	x->name = o->object->name;
	if (site && !site->is_variable && site->function && site->file &&
	    *site->function && *site->file) {
		x->function = site->function;
		x->file = site->file;
	}
	x->ranks = 1;
	x->threads = o->object->threads;
	x->sum[MOCA_JOB_SUM_ACCESSES] = o->object->accesses;
	x->sum[MOCA_JOB_SUM_READS] = o->object->reads;
	x->sum[MOCA_JOB_SUM_WRITES] = o->object->writes;
	x->sum[MOCA_JOB_SUM_PAGES] = o->pages;
	x->sum[MOCA_JOB_SUM_SHARED] = o->shared_pages;
	x->sum[MOCA_JOB_SUM_REMOTE] =
		part_of(o->remote[MOCA_POLICY_FIRST_TOUCH], o->accesses,
			o->object->accesses);
	x->sum[MOCA_JOB_SUM_NO_NODE] = part_of(o->unknown, o->accesses,
					       o->object->accesses);
	x->least.rank = x->most.rank = x->remote.rank = rank;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct moca_job_row *)a)->name,
		      ((const struct moca_job_row *)b)->name);
}

/* Rows of one name become one, which is in one rank. */
static void fold(struct moca_job *j)
{
	struct moca_job_row *x;
	size_t i, n = 0;

	for (i = 0; i < j->row_count; i++) {
		if (n && !strcmp(j->rows[n - 1].name, j->rows[i].name)) {
			moca_job_row_join(&j->rows[n - 1], &j->rows[i]);
			j->rows[n - 1].ranks = 1;
		} else {
			j->rows[n++] = j->rows[i];
		}
	}
	for (i = 0; i < n; i++) {
		x = &j->rows[i];
		x->least.value = x->most.value = x->sum[MOCA_JOB_SUM_ACCESSES];
		x->remote.value = x->sum[MOCA_JOB_SUM_REMOTE];
	}
	j->row_count = n;
}

/* Rows of a profile are by accesses, most first: what comes late is folded. */
static int add_rows(struct moca_job *j, uint32_t rank,
		    const struct moca_profile *p)
{
	struct moca_job_row *x;
	size_t i;

	j->rows = calloc(p->count + 1, sizeof(*j->rows));
	if (!j->rows)
		return -ENOMEM;
	for (i = 0; i < p->count; i++) {
		if (!p->rows[i].data || !p->rows[i].accesses)
			continue;
		x = &j->rows[j->row_count++];
		fill_row(x, rank, &p->rows[i]);
		if (j->row_count > MOCA_JOB_ROWS) {
			x->name = "";
			x->function = x->file = NULL;
		}
		x->name = text(j, x->name);
		if (x->function) {
			x->function = text(j, x->function);
			x->file = text(j, x->file);
		}
		if (!x->name || !x->function != !x->file)
			return -ENOMEM;
	}
	qsort(j->rows, j->row_count, sizeof(*j->rows), by_name);
	fold(j);
	return 0;
}

/* --- findings ----------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
	return moca_job_finding_order(a, b);
}

static int add_findings(struct moca_job *j, uint32_t rank,
			const struct moca_advice *a)
{
	struct moca_job_finding *x;
	size_t i, n = 0;
	uint64_t gain;

	j->findings = calloc(a->count + 1, sizeof(*j->findings));
	if (!j->findings)
		return -ENOMEM;
	for (i = 0; i < a->count; i++) {
		const struct moca_finding *f = &a->findings[i];

		x = &j->findings[i];
		x->kind = text(j, moca_finding_id(f->kind));
		x->object = text(j, f->object ? f->object->object->name : "");
		x->title = text(j, f->title);
		gain = millionths(f->gain, 1);
		x->gain_least = x->gain_most =
			gain == MOCA_JOB_NOT_KNOWN ? 0 : (uint32_t)gain;
		if (!x->kind || !x->object || !x->title)
			return -ENOMEM;
	}
	/* Of one kind and object, the one with the most to gain stays. */
	for (i = 0; i < a->count; i++) {
		size_t k;

		for (k = 0; k < n; k++)
			if (!by_key(&j->findings[k], &j->findings[i]))
				break;
		if (k == n)
			j->findings[n++] = j->findings[i];
	}
	for (i = 0; i < n; i++) {
		x = &j->findings[i];
		x->ranges = malloc(sizeof(*x->ranges));
		if (!x->ranges)
			return -ENOMEM;
		*x->ranges = (struct moca_job_range){ rank, rank };
		x->range_count = 1;
		j->finding_count++;
	}
	qsort(j->findings, n, sizeof(*j->findings), by_key);
	return 0;
}

int moca_job_take(struct moca_job *j, uint32_t rank, struct moca_trace *t,
		  const struct moca_profile *p, const char *machine)
{
	struct moca_advice *advice = NULL;
	struct moca_damage damage;
	int err;

	j->counts = !!p->counts;
	err = add_rank(j, rank);
	if (!err)
		err = fill_rank(j, t, p, machine);
	if (!err)
		err = add_rows(j, rank, p);
	if (!err)
		err = moca_advice_compute(&advice, t, p);
	if (!err)
		err = add_findings(j, rank, advice);
	moca_advice_free(advice);
	if (err)
		return err;
	moca_trace_damage(t, &damage);
	if (trace_damaged(&damage))
		j->ranks->state = MOCA_JOB_DAMAGED;
	else if (moca_trace_truncated(t))
		j->ranks->state = MOCA_JOB_CUT;
	return 0;
}
