// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/control.h"

#include <math.h>
#include <string.h>

/* Left unspent, for what cannot be foreseen within a sweep. */
#define HEADROOM 0.85
/* What recording can take of a window's time. */
#define MOST_OF_WINDOW 0.85
/* How often to ask again while waiting for the budget. */
#define RETRY_NS 10000000ull

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
	c->start_ns = now_ns;
	c->last_sweep_ns = now_ns;
}

static double elapsed(const struct control *c, uint64_t now_ns)
{
	return now_ns > c->start_ns ? (double)(now_ns - c->start_ns) : 0;
}

/* Wall time of the program alone that passed: the budget is a share of it. */
static double allowance(const struct control *c, uint64_t now_ns)
{
	double plain = elapsed(c, now_ns) - c->spent_ns;

	return plain > 0 ? c->budget * HEADROOM * plain : 0;
}

int control_due(const struct control *c, uint64_t now_ns, double pages,
		double share)
{
	if (now_ns < c->last_sweep_ns + c->interval_ns)
		return 0;
	if (isinf(c->budget))
		return 1;
	return c->spent_ns + pages * c->fault_ns * share <=
	       allowance(c, now_ns);
}

uint64_t control_next(const struct control *c, uint64_t now_ns, double pages,
		      double share)
{
	uint64_t at = c->last_sweep_ns + c->interval_ns;

	if (at > now_ns)
		return at;
	return control_due(c, now_ns, pages, share) ? now_ns :
						      now_ns + RETRY_NS;
}

void control_swept(struct control *c, uint64_t now_ns)
{
	c->last_sweep_ns = now_ns;
}

void control_faults(struct control *c, uint64_t repeated, uint64_t natural)
{
	c->pending_ns += repeated * c->fault_ns + natural * c->natural_ns;
}

void control_cpu(struct control *c, double ns)
{
	/* All CPUs are taken to be busy with the program. */
	c->pending_ns += ns / c->cpus;
}

void control_stall(struct control *c, double ns)
{
	c->pending_ns += ns;
}

void control_settle(struct control *c, uint64_t window_ns)
{
	double most = MOST_OF_WINDOW * window_ns;

	c->spent_ns += c->pending_ns < most ? c->pending_ns : most;
	c->pending_ns = 0;
}

double control_slowdown(const struct control *c, uint64_t now_ns)
{
	double all = elapsed(c, now_ns), spent = c->spent_ns;

	if (all <= 0)
		return 1;
	if (spent > MOST_OF_WINDOW * all)
		spent = MOST_OF_WINDOW * all;
	return all / (all - spent);
}
