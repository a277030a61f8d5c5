/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the stops of traced tasks take. */
#ifndef MOCA_PTRACE_STOP_COST_H
#define MOCA_PTRACE_STOP_COST_H

#include <stdint.h>

#include "collect/run/cost.h"

struct task;

/*
 * Supervisor thread. A stop is begun when wait(2) has reported it; kind and
 * count are what it turns out to be, by default one of COST_STOP. The end is
 * when the task goes on; tid: whose it was.
 */
void cost_stop_begin(struct costs *c, struct task *t);
void cost_stop_is(struct costs *c, enum cost_kind kind, int count);
void cost_stop_end(struct costs *c, struct task *t);
/* Within a stop: `ns` that are counted as kind, not as the stop. */
void cost_inner(struct costs *c, enum cost_kind kind, uint64_t count,
		uint64_t ns);
/* Within a stop: pages that the call fills or frees, natively too. */
void cost_natural(struct costs *c, uint64_t filled, uint64_t freed);
/* Rounds have a price, or another one (round-cost.h): so has a stop. */
void cost_stop_learn(struct costs *c);

#endif
