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
#include "collect/run/control.h"

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

static struct estimate estimate_cpu_of(struct recorder *rec, double translated,
				       const struct exact_totals *t,
				       const struct price *p)
{
	struct costs *c = &rec->costs;
	double ours = moca_process_cpu_ns(getpid()) +
		      moca_process_cpu_ns(getppid()) +
		      beside(rec, 0, COST_RATE) + beside(rec, 1, COST_EVENTS);
	double priced = translated + atomic_load(&c->task_cpu_ns) +
			atomic_load(&c->unseen_ns) + p->sum_least;
	double unsure = atomic_load(&c->unsure_ns) +
			unsure_of(c, translated, p);

	return estimate_of(t->program_cpu_ns + ours, ours, priced, unsure);
}

/*
 * Of the wall time: work is in CPU time, of tasks, and takes longer by what they
 * wait for a CPU. Where that is not known, all the time in which they did not run
 * may be that.
 */
static struct estimate estimate_wall_of(struct recorder *rec, double work,
					double unsure, const struct exact_totals *t,
					uint64_t now)
{
	struct costs *c = &rec->costs;
	uint64_t began = atomic_load(&rec->began_ns);
	uint64_t ended = atomic_load(&rec->ended_ns);
	double ran = (double)(ended - began), cpu = t->program_cpu_ns;
	double start = atomic_load(&c->kind[COST_START].ns);
	double stretch = 1, most, at_once, waiting;

	if (t->run_ns)
		stretch += (double)t->wait_ns / (double)t->run_ns;
	/* Those that are stopped, or wait for a CPU, are at work as well. */
	at_once = fmin((cpu + stopped(c)) / ran, sysconf(_SC_NPROCESSORS_ONLN));
	waiting = cpu * (stretch - 1) / ran;
	at_once = fmax(at_once + waiting, 1);
	most = !t->run_ns && cpu > 0 ? fmax(ran / cpu, 1) : stretch;
	unsure = (unsure * most + work * (most - stretch)) / at_once;
	work = (work * stretch + stopped(c)) / at_once;
	return estimate_of(start + (double)(now - began),
			   start + (double)(now - ended), work, unsure);
}

static uint64_t accesses_of(const struct exact_totals *t)
{
	uint64_t sum;

	if (__builtin_add_overflow(t->loads, t->stores, &sum))
		sum = UINT64_MAX;
	return sum;
}

void exact_cost(struct recorder *rec, struct exact_totals *t,
		struct moca_meta *m, char *buf, size_t size)
{
	uint64_t began = atomic_load(&rec->began_ns);
	uint64_t ended = atomic_load(&rec->ended_ns), now = moca_now_ns();
	double translated, work;
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
	for (int k = 0; k < PRICE_KINDS; k++)
		set(c, price_cost(k), p.count[k], p.least[k]);
	set(c, COST_RECORDER, 1, moca_thread_cpu_ns());
	set(c, COST_END, 1, now - ended);
	cpu = estimate_cpu_of(rec, translated, t, &p);
	work = translated + p.sum_least;
	wall = estimate_wall_of(rec, work, unsure_of(c, translated, &p), t, now);
	cost_describe(c, m);
	estimate_describe(&wall, "wall", m);
	estimate_describe(&cpu, "cpu", m);
	if (wall.told)
		moca_meta_set(m, "slowdown_estimate", "%.4f", wall.middle);
	moca_meta_set(m, "cost.program_cpu_ns", "%lu", t->program_cpu_ns);
	moca_meta_set(m, "cost.stops", "%lu", atomic_load(&c->stops));
	moca_meta_set(m, "cost.count_most_ns", "%.0f", p.sum_most);
	estimate_wall(&wall, buf, size);
	estimate_cpu(&cpu, two, sizeof(two));
	at = strlen(buf);
	snprintf(buf + at, size - at, ", %s", two);
}
