/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of a program's CPU time is its own, by samples of its tasks' clock. Pure
 * arithmetic. Numbers of samples may be nonsense: charts are the program's memory.
 */
#ifndef MOCA_EXACT_OWN_TIME_H
#define MOCA_EXACT_OWN_TIME_H

#include <stdint.h>

/*
 * Where the clock found a task. What it interrupts is let end first, so a sample
 * is of the instruction ahead of where it says, but for string instructions, which
 * can be interrupted amid.
 */
enum share_of {
	SHARE_OWN,	/* behind an instruction of the program's, or native */
	SHARE_ENTERED,	/* at one, behind what is Moca's: of both */
	SHARE_UPDATED,	/* behind a counter's update */
	SHARE_COUNTING,	/* elsewhere in what counts, or looks up jumps */
	SHARE_AGENT,	/* in C: translating, counting, looking up, signals */
	SHARE_KERNEL,	/* in the kernel, for the program */
	SHARE_KERNEL_OURS,	/* and for Moca */
	SHARE_UNKNOWN,	/* it is not known which of them */
	SHARE_KINDS,
};

/* Fewer, or more than a tenth unknown, and nothing is said. */
#define SHARE_ENOUGH 100

struct shares {
	uint64_t count[SHARE_KINDS];
	uint64_t lost;		/* samples that found no room */
	int kernel;		/* those of the kernel were taken */
};

struct own_time {
	double least, likely, most;	/* ns of CPU time */
};

uint64_t shares_sum(const struct shares *s);
/* What a program's tasks did, by other means. */
struct work_done {
	double user_ns, system_ns;	/* all of their CPU time */
	double translating_ns;		/* of that */
	uint64_t accesses;		/* counted where they are made */
};

/* 1 and *out; 0: nobody knows. */
int own_time_of(const struct shares *s, const struct work_done *w,
		struct own_time *out);

#endif
