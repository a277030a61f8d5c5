/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples of where a program's tasks spend CPU time, by perf's software event
 * cpu-clock: a timer of each CPU that runs while a task has it. No hardware
 * counters; for the user's side of his own programs also no rights.
 */
#ifndef MOCA_PERF_CPU_CLOCK_H
#define MOCA_PERF_CPU_CLOCK_H

#include <stdint.h>
#include <sys/types.h>

struct cpu_clock;

struct clock_sample {
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	/* Next instruction of user space: where it is, or will go on. */
	uint64_t ip;
	uint32_t pid, tid;
	int kernel;		/* in the kernel, for it */
};

/*
 * From the next exec of task tid on, of all tasks that it will make. 0 or -errno:
 * -EACCES, -EPERM, where it is not allowed.
 */
int cpu_clock_open(struct cpu_clock **out, pid_t tid, uint64_t period_ns);
void cpu_clock_close(struct cpu_clock *c);
/* Are there samples of time in the kernel as well? */
int cpu_clock_has_kernel(const struct cpu_clock *c);
/*
 * 1 and *out: the next sample of any CPU; in order of time only for each. 0: there
 * is none now. *lost grows by those that found no room.
 */
int cpu_clock_next(struct cpu_clock *c, struct clock_sample *out,
		   uint64_t *lost);

#endif
