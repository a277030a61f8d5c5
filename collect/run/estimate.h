/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What recording took of a time (wall or CPU), told as a ratio where the program
 * ran long enough for one, else in milliseconds. Pure arithmetic: no clock, no
 * I/O. Every input may be nonsense: clocks of several CPUs, counters that a
 * program writes, prices that are averages.
 */
#ifndef MOCA_RUN_ESTIMATE_H
#define MOCA_RUN_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>

/* Of a ratio above this, nobody knows how far. */
#define ESTIMATE_FAR 20.0
#define ESTIMATE_UNKNOWN 100.0
/* "At least" less than this says nothing: the times are told instead. */
#define ESTIMATE_VAGUE 2.0
/* A program that ran no longer by itself has no ratio. */
#define ESTIMATE_SHORT_NS 5e7

struct moca_meta;

struct estimate {
	double all_ns;		/* with recording */
	double added_ns;	/* of that, what recording took; may be below 0 */
	double sure_ns;		/* the same, at least */
	double own_ns;		/* the program alone, at most */
	int told;		/* it ran long enough for a ratio */
	/* With / without. low always holds; high above ESTIMATE_FAR: not known,
	 * and middle is low then. */
	double middle, low, high;
};

/*
 * all: with recording; measured: of that, ours by a clock; priced: of that, ours
 * by counts and prices, which are known to 10 %, below 0 if recording spares the
 * program something; unsure: of the rest, what may be ours as well.
 */
struct estimate estimate_of(double all_ns, double measured_ns,
			    double priced_ns, double unsure_ns);
/* The same where a clock tells: recording took least to most, likely so much. */
struct estimate estimate_between(double all_ns, double least_ns,
				 double likely_ns, double most_ns);
/* Whether recording took more than that share of the program's own time, and
   credit_ns besides. */
int estimate_exceeds(const struct estimate *e, double share, double credit_ns);
/* The same of the middle of what it may have taken: more likely than not. */
int estimate_likely_exceeds(const struct estimate *e, double share,
			    double credit_ns);

/* "1.12x", "2.1x to 2.9x", "at least 20x"; only where told, and not vague. */
void estimate_ratio(const struct estimate *e, char *buf, size_t size);
/* "about 12 %", "at least 300 %": more than without; only where told. */
void estimate_percent(const struct estimate *e, char *buf, size_t size);
/* Nothing bounds it, and what is sure is little. */
int estimate_vague(const struct estimate *e);
/*
 * "estimated slowdown 1.12x"; what it took of a run too short for that; or
 * "recording took at least 0.24 s of 2.58 s", where it is vague.
 */
void estimate_wall(const struct estimate *e, char *buf, size_t size);
/* Keys cost.WHAT_*; of a run that was too short for a ratio the times alone. */
void estimate_describe(const struct estimate *e, const char *what,
		       struct moca_meta *m);
/* "CPU time 1.12x", or what it took, at least where it is vague. */
void estimate_cpu(const struct estimate *e, char *buf, size_t size);

/* Of counters that may go back: 0 then. */
static inline uint64_t estimate_since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

#endif
