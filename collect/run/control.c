// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/control.h"

#include <math.h>
#include <string.h>

#include "lib/ring/meter.h"

/* Left unspent, for what cannot be foreseen within a sweep. */
#define HEADROOM 0.85
/* What recording can take of any time at most. */
#define MOST 0.985
/* No time is longer, ns. */
#define MOST_NS 1e18
/* An estimate is not better than this: a budget that it exceeds by less is
 * held, as far as one can know. */
#define TOLERANCE 0.02
/* Of the credit, what sweeps have in any case. */
#define RESERVE 0.5
/* The same of what others took beyond budget and credit. */
#define EXCESS 0.2
/* More of a program's CPU time than this is not believed to be ours by prices:
 * what is left is as small as their error. */
#define SURE_SHARE 0.7
/* Of what is left for the program, what cold caches may take. */
#define COLD_SHARE 0.5
/* The same, what its tasks may have waited for a CPU behind stops. */
#define LATE_SHARE 0.95
/* Of the budget, for allocations. */
#define ALLOC_SHARE 0.5
/* How often to ask again while waiting for the budget. */
#define RETRY_NS 10000000ull
/* In this time, ns, two thirds of the credit become available. */
#define CREDIT_TAU_NS 3.5e8
/* Where intervals grow: an interval, of the time since the start. */
#define GROWTH 0.04
/* The same, where it would have to wait for a full sweep. */
#define PATIENCE 0.12
/* How long what was let go is expected to come back: of the time since the
 * start, and ns at least. */
#define OWED_SHARE 0.2
#define OWED_MIN_NS 5e7

void control_init(struct control *c, double budget, uint64_t interval_ns,
		  double fault_ns, unsigned int cpus, uint64_t now_ns)
{
	memset(c, 0, sizeof(*c));
	c->budget = budget;
	c->interval_ns = interval_ns;
	c->fault_ns = fault_ns;
	/* The fault itself would have come; memfd and sample are ours. */
	c->natural_ns = fault_ns * 0.7;
	c->cpus = cpus ? cpus : 1;
	c->crowd = c->cpus == 1;
	c->start_ns = now_ns;
	c->last_sweep_ns = now_ns;
}

void control_grow(struct control *c, double credit_ns, uint64_t shortest_ns)
{
	c->credit_ns = credit_ns;
	c->shortest_ns = shortest_ns;
}

static double elapsed(const struct control *c, uint64_t now_ns)
{
	return now_ns > c->start_ns ? (double)(now_ns - c->start_ns) : 0;
}

/* What the program is spared by recording is no reason to spend more. */
static double spent(const struct control *c)
{
	return fmax(c->spent_ns, 0);
}

/* What is no number is low. */
static double clamp(double x, double low, double high)
{
	return !(x > low) ? low : x > high ? high : x;
}

/*
 * Wall time of the program alone that passed: the budget is a share of it. The
 * credit becomes available bit by bit, so that intervals grow and do not burst.
 */
static double allowance(const struct control *c, uint64_t now_ns)
{
	double all = elapsed(c, now_ns), plain = all - spent(c);

	return (plain > 0 ? HEADROOM * c->budget * plain : 0) +
	       c->credit_ns * (1 - exp(-all / CREDIT_TAU_NS));
}

/*
 * What sweeps may take still, where what cannot be put off has taken their part of the
 * credit, or more than budget and credit by itself: to see nothing would not make that
 * cheap. The more the others took, the less does what sweeps take matter.
 */
static double reserve(const struct control *c, uint64_t now_ns)
{
	double all = elapsed(c, now_ns), others = spent(c) - c->swept_ns;
	double may = c->budget * fmax(all - spent(c), 0) + c->credit_ns;

	if (!(others > may - RESERVE * c->credit_ns) || !(c->credit_ns > 0))
		return -HUGE_VAL;
	return RESERVE * c->credit_ns * (1 - exp(-all / CREDIT_TAU_NS)) +
	       EXCESS * fmax(others - may, 0) - c->swept_ns;
}

/* What a sweep may cost now; below 0: none can be made. */
static double room(const struct control *c, uint64_t now_ns)
{
	return fmax(allowance(c, now_ns) - spent(c),
		    reserve(c, now_ns)) - c->owed_ns;
}

/* What so many faults take of the program's wall time. */
static double faults_ns(const struct control *c, double pages, double share)
{
	return pages * c->fault_ns * share * fmax(c->stretch, 1);
}

uint64_t control_target(const struct control *c)
{
	double ns = GROWTH * elapsed(c, c->last_sweep_ns);

	if (!c->shortest_ns)
		return c->interval_ns;
	return (uint64_t)clamp(ns, c->shortest_ns, c->interval_ns);
}

uint64_t control_patience(const struct control *c)
{
	double ns = PATIENCE * elapsed(c, c->last_sweep_ns);

	return (uint64_t)fmax(ns, control_target(c));
}

double control_room(const struct control *c, uint64_t now_ns, double share)
{
	return room(c, now_ns) / faults_ns(c, 1, share);
}

int control_due(const struct control *c, uint64_t now_ns, double pages,
		double share)
{
	if (now_ns < c->last_sweep_ns + control_target(c))
		return 0;
	if (isinf(c->budget))
		return 1;
	return faults_ns(c, pages, share) <= room(c, now_ns);
}

uint64_t control_next(const struct control *c, uint64_t now_ns, double pages,
		      double share)
{
	uint64_t at = c->last_sweep_ns + control_target(c);

	if (at > now_ns)
		return at;
	return control_due(c, now_ns, pages, share) ? now_ns :
	       c->shortest_ns && c->shortest_ns < RETRY_NS ?
						      now_ns + c->shortest_ns :
						      now_ns + RETRY_NS;
}

void control_returned(struct control *c, uint64_t now_ns, double pages,
		      double share)
{
	double since = now_ns > c->owed_at_ns ? (double)(now_ns - c->owed_at_ns) :
						 0;
	double last = fmax(OWED_SHARE * elapsed(c, now_ns), OWED_MIN_NS);

	c->swept_ns += faults_ns(c, pages, share);
	c->owed_ns = clamp(c->owed_ns - faults_ns(c, pages, share), 0, MOST_NS) *
		     exp(-since / last);
	c->owed_at_ns = now_ns;
}

void control_swept(struct control *c, uint64_t now_ns, double pages,
		   double share)
{
	c->last_sweep_ns = now_ns;
	control_returned(c, now_ns, 0, share);
	if (c->shortest_ns)
		c->owed_ns += clamp(faults_ns(c, pages, share), 0, MOST_NS);
}

/* CPUs that would have nothing to do if we were not there. */
void control_idle(struct control *c, double wall_ns, double beside_ns,
		  double idle_ns)
{
	if (wall_ns > 0)
		c->crowd = 1 - clamp((idle_ns + beside_ns) / wall_ns, 0, 1);
}

void control_settle(struct control *c, const struct control_window *w)
{
	double stretch = clamp(w->stretch, 1, CONTROL_STRETCH_MOST);
	double total_ns = w->total_ns + (stretch - 1) * w->priced_ns;
	double busiest_ns = w->busiest_ns +
			    (stretch - 1) * w->busiest_priced_ns;
	double at_once, loss, now, rest, cold;

	if (!(w->wall_ns > 0))
		return;
	c->stretch = stretch;
	/* Those that wait for a CPU are at work as well. */
	at_once = clamp((stretch * w->program_ns +
			 clamp(w->stopped_ns, 0, MOST_NS)) / w->wall_ns,
			1, stretch * c->cpus);
	loss = clamp(total_ns, -MOST * w->wall_ns, HUGE_VAL) / at_once;
	if (busiest_ns > 0 && loss < busiest_ns)
		loss = busiest_ns;
	loss += c->crowd * clamp(w->beside_ns, 0, HUGE_VAL) / at_once;
	/* A stop is counted when it ends: it may have begun in the last window. */
	loss += c->carry_ns;
	now = clamp(loss, -MOST * w->wall_ns, MOST * w->wall_ns);
	c->carry_ns = clamp(loss - now, 0, MOST * w->wall_ns);
	c->spent_ns += now;
	rest = w->wall_ns - fmax(now, 0);
	cold = clamp(w->cold_ns / at_once, 0, COLD_SHARE * rest);
	c->cold_ns += cold + clamp(w->late_ns / at_once, 0,
				   LATE_SHARE * rest - cold);
}

void control_cut(struct control_window *w, double alive_ns, double freed_ns)
{
	double wall_ns = w->wall_ns;

	if (!(wall_ns > 0))
		return;
	w->wall_ns = clamp(alive_ns, 0, wall_ns);
	w->beside_ns *= w->wall_ns / wall_ns;
	w->total_ns -= clamp(freed_ns, 0, HUGE_VAL);
}

void control_stall(struct control *c, double ns)
{
	c->spent_ns += clamp(ns, 0, MOST_NS);
}

void control_cpu(struct control *c, const struct control_cpu *cpu)
{
	double priced = cpu->priced_ns, unsure = cpu->unsure_ns;

	if (!(cpu->program_ns > 0))
		return;
	if (!(priced < cpu->program_ns))
		priced = cpu->program_ns;
	if (priced > SURE_SHARE * cpu->program_ns) {
		unsure += priced - SURE_SHARE * cpu->program_ns;
		priced = SURE_SHARE * cpu->program_ns;
	}
	unsure += clamp(cpu->cold_ns, 0,
			COLD_SHARE * (cpu->program_ns - priced));
	c->cpu = estimate_of(cpu->program_ns + cpu->beside_ns, cpu->beside_ns,
			     priced, unsure);
}

unsigned int control_thin(const struct control *c, unsigned int thin,
			  double alloc_ns, double program_ns)
{
	double most = c->budget * ALLOC_SHARE * program_ns;

	if (program_ns <= 0 || isinf(c->budget))
		return isinf(c->budget) ? 0 : thin;
	if (alloc_ns > most)
		return thin < MOCA_THIN_MAX ? thin + 1 : thin;
	return thin && alloc_ns < most / 4 ? thin - 1 : thin;
}

struct estimate control_wall(const struct control *c, uint64_t now_ns)
{
	return estimate_of(elapsed(c, now_ns), 0, c->spent_ns, c->cold_ns);
}

double control_slowdown(const struct control *c, uint64_t now_ns)
{
	return control_wall(c, now_ns).middle;
}

int control_exceeded(const struct control *c, const struct estimate *wall)
{
	return estimate_exceeds(wall, c->budget + TOLERANCE, c->credit_ns);
}

int control_likely_exceeded(const struct control *c,
			    const struct estimate *wall)
{
	return estimate_likely_exceeds(wall, c->budget + TOLERANCE,
				       c->credit_ns);
}
