/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The monitor of a session: ends intervals, injects false faults, hands chunks
 * over. All under the session's lock but start and stop of its thread.
 */
#ifndef MOCA_KMOD_MONITOR_H
#define MOCA_KMOD_MONITOR_H

struct moca_session;
struct task_struct;

/* What the interrupt that ends an interval is said to take of each CPU. */
#define MOCA_CUT_NS 2000

/* The first interval begins now. */
void moca_monitor_begin(struct moca_session *s);
/* Inject what is there before the first interval. */
void moca_monitor_sweep_first(struct moca_session *s);
/* End an interval; the next has begun. */
void moca_monitor_tick(struct moca_session *s);
/* End the last interval: nothing is injected. */
void moca_monitor_end(struct moca_session *s);

/* The thread that ticks. 0 or -errno. */
int moca_monitor_start(struct moca_session *s);
/* Not under the lock. No longer the session's: it does not tick any more. */
void moca_monitor_stop(struct task_struct *monitor);

#endif
