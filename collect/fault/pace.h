/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When the collector sweeps: the arithmetic is control.h's. Collector thread
 * only.
 */
#ifndef MOCA_FAULT_PACE_H
#define MOCA_FAULT_PACE_H

#include "collect/fault/account.h"

/* No sweep is due before, ns. */
uint64_t pace_at(const struct account *a);
/*
 * Stripes of the core (lib/base/stripe.h) that a sample must have at least: without
 * them no history of a page is known, and no rule about who uses what holds. Eight of
 * a structure tell of it (samples.c): here so many are of one of a quarter of the memory.
 */
#define PACE_CORE_MIN 32u
/* The highest level that has so many, of so many pages; 0: they are too few. */
unsigned int pace_most_level(uint64_t pages);
/*
 * The level of the sweep to make now, and the pages that are expected to come
 * back; -1: none now.
 */
int pace_level(const struct account *a, uint64_t now_ns, double *pages);
/* When to ask again, ns. */
uint64_t pace_next(const struct account *a, uint64_t now_ns, double pages);
/* Before a sweep: how many of the pages that the last one let go came back. */
void pace_learn(struct recorder *rec);
/*
 * Where no CPU is idle, the zapper takes that of one of the program's tasks, and
 * the others are the first to come to what they share: each time the same one, if
 * that was left to the scheduler. So they take turns: before each sweep all that
 * had accesses since the last one are offered, with the CPU that they were on.
 */
void pace_offer(struct mm *mm, uint32_t id, int cpu);
/* Whether a zapper on the CPU of task tid gets its part of it: a real-time task
 * lets nobody in. 0 also if it is not known. */
int pace_shares_cpu(pid_t tid);
/* The CPU that its zapper shall take; -1: any. Ends what was offered. */
int pace_take(struct mm *mm);
/* Set the zap_cpu of each address space, for the sweep that begins. */
void pace_turn(const struct account *a);
/* CPU time of all zappers: they work for the sweeps alone. */
uint64_t pace_zappers_cpu_ns(struct recorder *rec);

#endif
