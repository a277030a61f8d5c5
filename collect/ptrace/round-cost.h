/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What it takes to let a stopped task go on to its next stop, besides what it
 * does in between: two switches. Where CPUs are idle each of them wakes one up,
 * which takes ten times as long in a VM: so the price is that of the last
 * rounds, not of the machine. A stop of the program's own is two such switches
 * as well, which nobody sees. Supervisor thread only.
 */
#ifndef MOCA_PTRACE_ROUND_COST_H
#define MOCA_PTRACE_ROUND_COST_H

#include <stdint.h>

struct task;

/* A call that a task runs for us: 1 to 5 us. */
#define ROUND_CALL_NS 2000
/* Rounds of which the median is the price. */
#define ROUND_WINDOW 16

struct round_clock {
	uint64_t ns, cpu_ns;	/* cpu_ns 0: not taken */
};

/* t, stopped, is about to go on; it has stopped again, after so many calls. */
void round_begin(struct round_clock *r, const struct task *t);
void round_end(const struct round_clock *r, const struct task *t,
	       unsigned int calls);
/* The same of times that are known; cpu_ns 0: it is not. */
void round_took(uint64_t ns, uint64_t cpu_ns, unsigned int calls);
/* The last round counts, or it does not: its calls had much to do. */
void round_keep(int counts);
/*
 * The price now: time, and of that the task's own CPU time. 0, and both as they
 * were: it is the same as when it was asked for last.
 */
int round_price(uint64_t *ns, uint64_t *cpu_ns);

/*
 * Attached: a task waited so long at both ends of a stop of its own. Below 0: it
 * ran on another CPU before our call that let it go returned.
 */
void round_waited(double ns);
/* The mean of late, which has all that waits added up; 0: not known yet. */
uint64_t round_wait(void);

#endif
