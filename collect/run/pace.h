/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When to sweep. Pure arithmetic: no clock, no I/O.
 *
 * An interval is a twentieth of the time that has passed, from `first_ns` up to
 * `interval_ns`: a run has as many intervals when it is short as when it is
 * long. It grows beyond that when a sweep does not fit under the budget and its
 * credit (control.h). What fits is asked of all the faults that may be to come:
 * a page that was let go faults when it is used again, an interval later or
 * ten.
 *
 * Where sweeps are dear, the credit would be gone in a run's first moments. So
 * half of it is held back at first and comes free within a second, and a sweep
 * that had to wait is followed by a burst of short intervals, which may take
 * from that half: most pages are away still, so that few come back in each.
 *
 * A part of all that may be spent is the sweeps' own: where start-up, stops or
 * first touches have taken more than there is, that cannot be saved any more, and
 * a trace of one interval says nothing.
 */
#ifndef MOCA_RUN_PACE_H
#define MOCA_RUN_PACE_H

#include <stdint.h>

struct control;

struct pace {
	uint64_t first_ns;	/* the shortest interval */
	uint64_t interval_ns;	/* the longest one, where the budget allows */
	uint64_t start_ns;	/* the program's begin */
	uint64_t last_ns;	/* of the last sweep */
	uint64_t length_ns;	/* of the interval since then, at least */
	double armed;		/* pages let go that are expected back */
	uint64_t armed_ns;	/* as of then */
	unsigned int burst;	/* short intervals to come */
};

/* What a sweep would find: numbers of pages. */
struct pace_sweep {
	double pages;	/* to be let go that would come back */
	double unpaid;	/* came back, not yet part of control->spent_ns */
	double share;	/* of the faults: the busiest task's, 0 to 1 */
	double paid_ns;	/* wall time that sweeps have cost so far */
};

/* first_ns = interval_ns: intervals of one length, but for the budget. */
void pace_init(struct pace *p, uint64_t first_ns, uint64_t interval_ns,
	       uint64_t now_ns);
/* The program begins: what came before is no part of its time. */
void pace_begin(struct pace *p, uint64_t now_ns);
/* Before this there is no sweep. In a burst: after a short interval. */
uint64_t pace_earliest(const struct pace *p);
/* Whether to sweep now. */
int pace_due(const struct pace *p, const struct control *c, uint64_t now_ns,
	     const struct pace_sweep *s);
/* When to ask again, ns. */
uint64_t pace_next(const struct pace *p, const struct control *c,
		   uint64_t now_ns, const struct pace_sweep *s);
/* There was a sweep; so many of its pages are expected back. */
void pace_swept(struct pace *p, uint64_t now_ns, double pages);
/* So many pages faulted that were let go. */
void pace_back(struct pace *p, uint64_t now_ns, double pages);

#endif
