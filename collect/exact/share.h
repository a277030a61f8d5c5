/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose CPU time a program's tasks spend: samples of its clock, looked up in the
 * charts of their processes (struct moca_exact_chart). Collector thread.
 *
 * A sample is of a task, which is known once its message has been taken, and of a
 * process, whose chart is known once the task's slot is. So samples wait; each is
 * looked up in what its process had then, ahead of a message that is younger.
 */
#ifndef MOCA_EXACT_SHARE_H
#define MOCA_EXACT_SHARE_H

#include <stdint.h>
#include <sys/types.h>

#include "collect/exact/own-time.h"
#include "collect/perf/cpu-clock.h"

#define SHARE_WAITING 4096u
#define SHARE_TASKS 256u
/* What a sample takes: 10 to 15 us in a VM, where the timer is the host's. */
#define SHARE_SAMPLE_NS 12000u

struct harvest;

struct share {
	struct cpu_clock *clock;	/* NULL: there are no samples */
	struct shares sums;
	struct clock_sample waiting[SHARE_WAITING];
	unsigned int count;
	uint32_t last[SHARE_TASKS];	/* by thread id: the task that had it, + 1 */
};

/*
 * Opens the sampling of process pid, which has not run yet. Where perf_event_open is
 * not allowed, no samples are taken.
 */
void share_open(struct harvest *h, pid_t pid);
void share_close(struct harvest *h);
/* Look up what was before then. */
void share_before(struct harvest *h, uint64_t time_ns);
/* All is told by now that will ever be: those that still wait stay unknown. */
void share_settle(struct harvest *h, uint64_t time_ns);

#endif
