/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The overhead budget. Pure arithmetic: no clock, no I/O.
 *
 * What recording has cost so far is kept in ns of the program's wall time. A
 * sweep (zapping everything once) is allowed when it fits under budget x the
 * time that has passed: intervals grow longer, never incomplete.
 */
#ifndef MOCA_FAULT_CONTROL_H
#define MOCA_FAULT_CONTROL_H

#include <stdint.h>

struct control {
	double budget;		/* fraction; HUGE_VAL = no limit */
	uint64_t interval_ns;	/* never sweep more often */
	double fault_ns;	/* cost of one repeated fault */
	double natural_ns;	/* added to a fault that comes anyway */
	unsigned int cpus;
	uint64_t start_ns;
	uint64_t last_sweep_ns;
	double spent_ns;	/* of the program's wall time, so far */
	double pending_ns;	/* the same, since control_settle */
};

void control_init(struct control *c, double budget, uint64_t interval_ns,
		  double fault_ns, unsigned int cpus, uint64_t now_ns);

/*
 * Whether to sweep now. pages: faults that the sweep is expected to cause;
 * share: of those, the part that hits the busiest task (0 to 1).
 */
int control_due(const struct control *c, uint64_t now_ns, double pages,
		double share);
/* When to ask again, ns. */
uint64_t control_next(const struct control *c, uint64_t now_ns, double pages,
		      double share);

void control_swept(struct control *c, uint64_t now_ns);
/* Faults of the busiest task since the last call: repeated, and natural. */
void control_faults(struct control *c, uint64_t repeated, uint64_t natural);
/* CPU time that was taken from all CPUs, and time tasks stood still. */
void control_cpu(struct control *c, double ns);
void control_stall(struct control *c, double ns);

/*
 * Settle what came since the last call, in a window of that length: prices are
 * averages, and whatever they say, the program did some work in between.
 */
void control_settle(struct control *c, uint64_t window_ns);

/* Estimated wall time with / without recording, ≥ 1. */
double control_slowdown(const struct control *c, uint64_t now_ns);

#endif
