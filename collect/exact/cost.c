// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What exact mode cost, told at the end. Stops, the start and the end are timed as
 * in page mode (collect/run/cost.h). The agent times its translating by its
 * thread's CPU clock, which stands still while others have the CPU. No clock
 * separates counting from the program's own work: each access that is counted has a
 * least and a most price (price.h).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/exact/collector.h"
#include "collect/exact/price.h"
#include "collect/exact/share.h"
#include "collect/run/control.h"
#include "collect/run/launch.h"

/*
 * What new code takes besides, as no cache has it: of what translating it took. With
 * an access at 1.5 ns, cc1 took 0.6 of it, java 0.7, and 1.4 on a busy machine.
 */
#define NEW_CODE_SHARE 2.0

static void set(struct costs *c, enum cost_kind kind, uint64_t count,
		uint64_t ns)
{
	atomic_store(&c->kind[kind].count, count);
	atomic_store(&c->kind[kind].ns, ns);
}

static uint64_t beside(struct recorder *rec, int which, enum cost_kind kind)
{
	const struct moca_record_companion *c = rec->opt->companion;
	uint64_t ns = c && c->cpu_ns ? c->cpu_ns(c->arg, which) : 0;

	set(&rec->costs, kind, ns != 0, ns);
	return ns;
}

/* Stops, added up over all tasks. */
static double stopped(const struct costs *c)
{
	double sum = 0;

	for (int k = COST_EXEC; k <= COST_STOP; k++)
		sum += atomic_load(&c->kind[k].ns);
	return sum;
}

/* What may be ours besides what is timed and priced: CPU time, ns. */
static double unsure_of(const struct costs *c, double translated,
			const struct price *p)
{
	return (double)atomic_load(&c->stops) * COST_COLD_NS +
	       (double)atomic_load(&c->doubt_ns) +
	       NEW_CODE_SHARE * translated +
	       p->sum_most - p->sum_least;
}

/* What recording took of the CPU time of the program's tasks, ns. */
struct added {
	int sampled;	/* by samples; or by prices, and only least is there */
	double least, likely, most;
	double unsure;	/* by prices: what may be ours besides */
};

/* What stops took is the kernel's work for calls of the program's, as samples have it. */
static struct added added_of(const struct costs *c, const struct exact_totals *t,
			     const struct shares *s, const struct price *p,
			     double translated)
{
	struct work_done w = { .translating_ns = translated,
			       .accesses = p->count[PRICE_COUNT] };
	double all = t->program_cpu_ns;
	double stops = atomic_load(&c->task_cpu_ns) + atomic_load(&c->unseen_ns);
	struct added a = { .least = translated + p->sum_least };
	struct own_time own;

	cost_reaped_parts(&w.user_ns, &w.system_ns);
	a.unsure = unsure_of(c, translated, p);
	a.sampled = own_time_of(s, &w, &own);
	if (!a.sampled)
		return a;
	a.least = fmax(a.least, all - own.most + stops);
	a.likely = fmax(a.least, all - own.likely + stops);
	a.most = fmax(a.likely, all - own.least + stops);
	return a;
}

static struct estimate estimate_cpu_of(struct recorder *rec,
				       const struct exact_totals *t,
				       const struct added *a)
{
	struct costs *c = &rec->costs;
	double ours = launch_own_cpu_ns() + beside(rec, 0, COST_RATE) +
		      beside(rec, 1, COST_EVENTS);
	double all = t->program_cpu_ns + ours;

	if (a->sampled)
		return estimate_between(all, ours + a->least, ours + a->likely,
					ours + a->most);
	return estimate_of(all, ours, a->least + atomic_load(&c->task_cpu_ns) +
			   atomic_load(&c->unseen_ns),
			   atomic_load(&c->unsure_ns) + a->unsure);
}

/*
 * Of the wall time: work is in CPU time, of tasks, and takes longer by what they
 * wait for a CPU. Where that is not known, all the time in which they did not run
 * may be that.
 */
static struct estimate estimate_wall_of(struct recorder *rec,
					const struct added *a,
					const struct exact_totals *t,
					uint64_t now)
{
	struct costs *c = &rec->costs;
	uint64_t began = atomic_load(&rec->began_ns);
	uint64_t ended = atomic_load(&rec->ended_ns);
	double ran = (double)(ended - began), cpu = t->program_cpu_ns;
	double start = atomic_load(&c->kind[COST_START].ns);
	double stretch = 1, most, at_once, waiting, unsure, work;
	double all = start + (double)(now - began);
	double sure = start + (double)(now - ended);

	if (t->run_ns)
		stretch += (double)t->wait_ns / (double)t->run_ns;
	/* Those that are stopped, or wait for a CPU, are at work as well. */
	at_once = fmin((cpu + stopped(c)) / ran, sysconf(_SC_NPROCESSORS_ONLN));
	waiting = cpu * (stretch - 1) / ran;
	at_once = fmax(at_once + waiting, 1);
	most = !t->run_ns && cpu > 0 ? fmax(ran / cpu, 1) : stretch;
	if (a->sampled) {
		sure += stopped(c) / at_once;
		return estimate_between(all, sure + a->least * stretch / at_once,
					sure + a->likely * stretch / at_once,
					sure + a->most * most / at_once);
	}
	unsure = (a->unsure * most + a->least * (most - stretch)) / at_once;
	work = (a->least * stretch + stopped(c)) / at_once;
	return estimate_of(all, sure, work, unsure);
}

static uint64_t accesses_of(const struct exact_totals *t)
{
	uint64_t sum;

	if (__builtin_add_overflow(t->loads, t->stores, &sum))
		sum = UINT64_MAX;
	return sum;
}

/* The table's lines of what counts: by samples all at once, or each by its price. */
static void set_counting(struct costs *c, const struct price *p,
			 const struct shares *s, const struct added *a,
			 double translated)
{
	double counted = fmax(a->likely - translated, 0);

	for (int k = 0; k < PRICE_KINDS; k++)
		set(c, price_cost(k), p->count[k], a->sampled ? 0 : p->least[k]);
	if (a->sampled)
		set(c, COST_COUNTED, 1, counted);
	set(c, COST_SAMPLE, shares_sum(s), shares_sum(s) * SHARE_SAMPLE_NS);
}

static void describe_samples(const struct shares *s, const struct added *a,
			     const struct price *p, struct moca_meta *m)
{
	static const char *const names[SHARE_KINDS] = {
		"own", "entered", "updated", "counting", "agent", "kernel",
		"kernel_ours", "unknown",
	};
	char key[64];

	for (int i = 0; i < SHARE_KINDS; i++) {
		snprintf(key, sizeof(key), "cost.samples.%s", names[i]);
		moca_meta_set(m, key, "%lu", s->count[i]);
	}
	if (s->lost)
		moca_meta_set(m, "cost.samples.lost", "%lu", s->lost);
	if (a->sampled) {
		moca_meta_set(m, "cost.count_low_ns", "%.0f", a->least);
		moca_meta_set(m, "cost.count_high_ns", "%.0f", a->most);
	} else {
		moca_meta_set(m, "cost.count_most_ns", "%.0f", p->sum_most);
	}
}

void exact_cost(struct recorder *rec, struct exact_totals *t,
		const struct shares *shares, struct moca_meta *m, char *buf,
		size_t size)
{
	uint64_t began = atomic_load(&rec->began_ns);
	uint64_t ended = atomic_load(&rec->ended_ns), now = moca_now_ns();
	double translated;
	struct added a;
	struct price p;
	struct estimate wall, cpu;
	struct costs *c = &rec->costs;
	char two[96];
	size_t at;

	snprintf(buf, size, "what recording cost is not known");
	if (!began || ended <= began || now < ended)
		return;
	t->program_cpu_ns = cost_reaped_cpu_ns();
	/* A damaged arena tells anything. */
	translated = fmin(t->translating, t->program_cpu_ns);
	price_of(accesses_of(t), &t->apart, t->program_cpu_ns, &p);
	set(c, COST_TRANSLATE, t->regions, translated);
	a = added_of(c, t, shares, &p, translated);
	set_counting(c, &p, shares, &a, translated);
	set(c, COST_RECORDER, 1, moca_thread_cpu_ns());
	set(c, COST_END, 1, now - ended);
	cpu = estimate_cpu_of(rec, t, &a);
	wall = estimate_wall_of(rec, &a, t, now);
	cost_describe(c, m);
	estimate_describe(&wall, "wall", m);
	estimate_describe(&cpu, "cpu", m);
	if (wall.told)
		moca_meta_set(m, "slowdown_estimate", "%.4f", wall.middle);
	moca_meta_set(m, "cost.program_cpu_ns", "%lu", t->program_cpu_ns);
	moca_meta_set(m, "cost.stops", "%lu", atomic_load(&c->stops));
	describe_samples(shares, &a, &p, m);
	estimate_wall(&wall, buf, size);
	estimate_cpu(&cpu, two, sizeof(two));
	at = strlen(buf);
	snprintf(buf + at, size - at, ", %s", two);
}
