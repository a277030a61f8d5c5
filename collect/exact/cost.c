// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What exact mode cost, told at the end. Stops, the start and the end are timed as
 * in page mode (collect/run/cost.h). The agent times its translating by its
 * thread's CPU clock, which stands still while others have the CPU. No clock
 * separates counting from the program's own work, so an access has two prices: the
 * least and the most that was measured in sixteen programs.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/exact/collector.h"
#include "collect/run/control.h"

/*
 * CPU time of a counted access, ns: 0.16 in lu and 0.19 in stencil, whose loops are
 * counted when they are left, 1.5 in bash, which jumps by registers all the time,
 * up to 1.75 in a loop of one load, a[i & 4095], where nothing hides it,
 * 1.9 to 2.5 in ruby's fib on a busy machine.
 */
#define COUNT_LEAST_NS 0.10
#define COUNT_MOST_NS 3.0
/* What new code takes besides, when it runs for the first times: of what
 * translating it took (cc1: a third). */
#define NEW_CODE_SHARE 0.5

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
static double unsure_of(const struct costs *c, double translated, double accesses)
{
	return (double)atomic_load(&c->stops) * COST_COLD_NS +
	       (double)atomic_load(&c->doubt_ns) +
	       NEW_CODE_SHARE * translated +
	       accesses * (COUNT_MOST_NS - COUNT_LEAST_NS);
}

static struct estimate estimate_cpu_of(struct recorder *rec, double translated,
				       const struct exact_totals *t, double accesses)
{
	struct costs *c = &rec->costs;
	double ours = moca_process_cpu_ns(getpid()) +
		      moca_process_cpu_ns(getppid()) +
		      beside(rec, 0, COST_RATE) + beside(rec, 1, COST_EVENTS);
	double priced = translated + atomic_load(&c->task_cpu_ns) +
			atomic_load(&c->unseen_ns) + accesses * COUNT_LEAST_NS;
	double unsure = atomic_load(&c->unsure_ns) +
			unsure_of(c, translated, accesses);

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

void exact_cost(struct recorder *rec, struct exact_totals *t,
		struct moca_meta *m, char *buf, size_t size)
{
	uint64_t began = atomic_load(&rec->began_ns);
	uint64_t ended = atomic_load(&rec->ended_ns), now = moca_now_ns();
	double accesses = (double)t->loads + (double)t->stores;
	double translated, work;
	struct estimate wall, cpu;
	struct costs *c = &rec->costs;
	char two[64];
	size_t at;

	snprintf(buf, size, "what recording cost is not known");
	if (!began || ended <= began || now < ended)
		return;
	t->program_cpu_ns = cost_reaped_cpu_ns();
	/* A damaged arena tells anything. */
	translated = fmin(t->translating, t->program_cpu_ns);
	accesses = fmin(accesses, t->program_cpu_ns / COUNT_LEAST_NS);
	set(c, COST_TRANSLATE, t->regions, translated);
	set(c, COST_COUNT, t->loads + t->stores, accesses * COUNT_LEAST_NS);
	set(c, COST_RECORDER, 1, moca_thread_cpu_ns());
	set(c, COST_END, 1, now - ended);
	cpu = estimate_cpu_of(rec, translated, t, accesses);
	work = translated + accesses * COUNT_LEAST_NS;
	wall = estimate_wall_of(rec, work, unsure_of(c, translated, accesses),
				t, now);
	cost_describe(c, m);
	estimate_describe(&wall, "wall", m);
	estimate_describe(&cpu, "cpu", m);
	if (wall.told)
		moca_meta_set(m, "slowdown_estimate", "%.4f", wall.middle);
	moca_meta_set(m, "cost.program_cpu_ns", "%lu", t->program_cpu_ns);
	moca_meta_set(m, "cost.stops", "%lu", atomic_load(&c->stops));
	moca_meta_set(m, "cost.count_most_ns", "%.0f",
		      fmin(accesses * COUNT_MOST_NS, t->program_cpu_ns));
	estimate_wall(&wall, buf, size);
	estimate_cpu(&cpu, two, sizeof(two));
	at = strlen(buf);
	snprintf(buf + at, size - at, ", %s", two);
}
