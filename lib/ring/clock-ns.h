/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the clock of the buffers to nanoseconds of CLOCK_MONOTONIC: points that
 * are measured now and then (knots), joined by straight lines. A clock reading
 * is converted only after a point beyond it is known, so it is never guessed.
 *
 * One thread at a time.
 */
#ifndef MOCA_RING_CLOCK_NS_H
#define MOCA_RING_CLOCK_NS_H

#include <stddef.h>
#include <stdint.h>

#define TRACER_KNOT_NS 200000000ull	/* between two knots */
#define TRACER_KNOTS_MAX 4096		/* then every second one is forgotten */
#define TRACER_BEND_NS 500		/* a chunk's line may be off by so much */

struct tracer_knot {
	uint64_t clock;
	uint64_t ns;
};

struct tracer_clock {
	uint32_t kind;			/* enum moca_ring_clock */
	struct tracer_knot *knots;	/* both coordinates increase */
	size_t count;
	struct tracer_knot tip;		/* the latest point, not yet a knot */
};

/* The clock that this machine's programs shall use. */
uint32_t tracer_clock_choose(void);
/* The same, from the text of /proc/cpuinfo and the clock source's name. */
uint32_t tracer_clock_judge(const char *cpuinfo, const char *source);

/* Take the first knot. 0 or -ENOMEM. */
int tracer_clock_init(struct tracer_clock *c, uint32_t kind);
void tracer_clock_free(struct tracer_clock *c);

/* Measure now; a point is kept if the last is TRACER_KNOT_NS old. */
void tracer_clock_tick(struct tracer_clock *c);
/* The same with a point that is known. One that does not increase is left. */
void tracer_clock_add(struct tracer_clock *c, struct tracer_knot k);
/* Measure when what was measured does not reach that far. */
void tracer_clock_cover(struct tracer_clock *c, uint64_t clock);

/* Within what was measured exact to its error, beyond it a guess. */
uint64_t tracer_clock_ns(const struct tracer_clock *c, uint64_t clock);
/*
 * The furthest reading, at most last, up to which a straight line from first
 * stays within TRACER_BEND_NS of tracer_clock_ns. More than first, if last is.
 */
uint64_t tracer_clock_straight(const struct tracer_clock *c, uint64_t first,
			       uint64_t last);

#endif
