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
/* Whether to sweep now, where so many pages are expected to come back. */
int pace_due(const struct account *a, uint64_t now_ns, double pages);
/* When to ask again, ns. */
uint64_t pace_next(const struct account *a, uint64_t now_ns, double pages);
/* Before a sweep: how many of the pages that the last one let go came back. */
void pace_learn(struct recorder *rec);
/* CPU time of all zappers: they work for the sweeps alone. */
uint64_t pace_zappers_cpu_ns(struct recorder *rec);

#endif
