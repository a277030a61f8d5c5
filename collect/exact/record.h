/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact mode: every load and store of a program, counted inside it by a
 * translator (agent/exact) that this collector puts into each new image.
 * doc/design/exact-mode.md describes the mechanism.
 */
#ifndef MOCA_EXACT_RECORD_H
#define MOCA_EXACT_RECORD_H

#include <stdint.h>

#include "collect/run/record.h"

struct moca_exact_options {
	uint64_t granularity;	/* bytes: a power of two, 64 to 4096; 0: what
				   the program was built for, else a page */
	uint64_t slice_ns;	/* 0: one slice per thread, its whole life */
};

/*
 * As record_run (collect/run/way.h); of opt, what only page accesses need (interval, budget,
 * stack, zap, tracepoints, attach) is not looked at.
 */
int moca_exact_run(const struct moca_record_options *opt,
		   const struct moca_exact_options *exact);

/* Why exact mode cannot work in this build or on this machine; NULL: it can. */
const char *moca_exact_missing(void);

#endif
