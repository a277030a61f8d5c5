/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The overhead budget. Pure arithmetic: no clock, no I/O.
 *
 * What recording has cost so far is kept in ns of the program's wall time. A
 * sweep (zapping everything once) is allowed when it fits under budget x the
 * time that has passed + a credit: intervals grow longer, never incomplete.
 */
#ifndef MOCA_RUN_CONTROL_H
#define MOCA_RUN_CONTROL_H

#include <stdint.h>

#include "collect/run/estimate.h"

struct control {
	double budget;		/* fraction; HUGE_VAL = no limit */
	uint64_t interval_ns;	/* never sweep more often, or (control_grow)
				   as often as that at last */
	double credit_ns;	/* beyond the budget, once */
	uint64_t shortest_ns;	/* of intervals that grow; 0: they do not */
	double fault_ns;	/* cost of one repeated fault */
	double natural_ns;	/* added to a fault that comes anyway */
	unsigned int cpus;
	uint64_t start_ns;
	uint64_t last_sweep_ns;
	double spent_ns;	/* of the program's wall time, so far; below 0:
				   it alone would have taken longer */
	double swept_ns;	/* what came back so far, in the same */
	double owed_ns;		/* what was let go and will come back */
	uint64_t owed_at_ns;	/* when that was reckoned last */
	double cold_ns;		/* what may have been spent besides, so far */
	double carry_ns;	/* of the last window, not spent in it */
	double crowd;		/* share of the time without an idle CPU */
	double stretch;		/* the last window's; 0: none */
	struct estimate cpu;	/* control_cpu */
};

/* Nobody waits so long for a CPU beside what it runs. */
#define CONTROL_STRETCH_MOST 100

/* What happened since the last window: times in ns. */
struct control_window {
	double wall_ns;
	double busiest_ns;	/* that one task waited or worked for us */
	double total_ns;	/* the same, added up over all tasks; below 0:
				   the program alone would wait longer */
	double cold_ns;		/* what cold caches may add to that sum */
	double late_ns;		/* and what tasks may have waited for a CPU that
				   others had, behind a stop */
	double stopped_ns;	/* of that sum, while tasks stood still */
	double program_ns;	/* CPU time of the program's tasks */
	double beside_ns;	/* CPU time of ours, beside the program */
	/* Of total_ns and busiest_ns, what is CPU time. A task that waits for a
	   CPU takes `stretch` times as long for it; 0: not known. */
	double priced_ns, busiest_priced_ns;
	double stretch;
};

/* CPUs that had nothing to do, over a stretch long enough to tell (100 ms). */
void control_idle(struct control *c, double wall_ns, double beside_ns,
		  double idle_ns);

void control_init(struct control *c, double budget, uint64_t interval_ns,
		  double fault_ns, unsigned int cpus, uint64_t now_ns);

/*
 * Behind control_init: a credit, which becomes available within a second or
 * two; with shortest_ns, intervals begin so short and grow up to interval_ns.
 */
void control_grow(struct control *c, double credit_ns, uint64_t shortest_ns);
/* The least length of the interval that goes on, ns. */
uint64_t control_target(const struct control *c);
/*
 * For so long the interval goes on until a sweep of everything fits, ns; behind
 * that a sample of it is better than waiting.
 */
uint64_t control_patience(const struct control *c);
/* How many faults still fit: below 0, none. */
double control_room(const struct control *c, uint64_t now_ns, double share);

/*
 * Whether to sweep now. pages: faults that the sweep is expected to cause;
 * share: of those, the part that hits the busiest task (0 to 1).
 */
int control_due(const struct control *c, uint64_t now_ns, double pages,
		double share);
/* When to ask again, ns. */
uint64_t control_next(const struct control *c, uint64_t now_ns, double pages,
		      double share);

/* That many faults are expected to follow. */
void control_swept(struct control *c, uint64_t now_ns, double pages,
		   double share);
/*
 * So many came since the last call, and were settled. What does not come back
 * soon is expected no more.
 */
void control_returned(struct control *c, uint64_t now_ns, double pages,
		      double share);

/*
 * Account for a window. CPU time takes its stretch. Of what all tasks waited and worked for, what counts is
 * the share of one among those that ran at once or would have, were they not
 * stopped, but never less than what the busiest waited for. Our own threads take time from the program only while no
 * CPU is idle. Prices are averages: whatever they say, the program did some
 * work in the window.
 */
void control_settle(struct control *c, const struct control_window *w);
/*
 * The program ended alive_ns after the window began. What followed is the end of
 * the recording, which is a stall: memory that was given back then, in freed_ns,
 * and our own work are not the window's.
 */
void control_cut(struct control_window *w, double alive_ns, double freed_ns);
/* Time in which the program could do nothing: its start, its end. */
void control_stall(struct control *c, double ns);
/* CPU time so far, ns. */
struct control_cpu {
	double program_ns;	/* of the program's tasks; 0: not known */
	double priced_ns;	/* of that: ours, by prices */
	double unsure_ns;	/* what may be ours as well */
	double cold_ns;		/* the same, of cold caches */
	double beside_ns;	/* of our own processes */
};

/*
 * Cold caches take no more than half of what is left for the program: its work
 * is what they are cold for.
 */
void control_cpu(struct control *c, const struct control_cpu *cpu);

/*
 * How sparsely allocations shall be told (lib/ring/meter.h): thin so far, what
 * they took and what the program took in all since it was set. No more than
 * half of the budget is theirs.
 */
unsigned int control_thin(const struct control *c, unsigned int thin,
			  double alloc_ns, double program_ns);

/* Estimated wall time with / without recording. */
double control_slowdown(const struct control *c, uint64_t now_ns);
struct estimate control_wall(const struct control *c, uint64_t now_ns);
/* Whether the budget can be said not to have been held; to have been, as is
   more likely than not. */
int control_exceeded(const struct control *c, const struct estimate *wall);
int control_likely_exceeded(const struct control *c,
			    const struct estimate *wall);

#endif
