/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf's times are of the host's monotonic clock. In a namespace of time, which a
 * container may have, ours is another, and all other times of a trace are of it.
 */
#ifndef MOCA_PERF_CLOCK_H
#define MOCA_PERF_CLOCK_H

#include <stdint.h>

/* What is to be added to a time of perf's, modulo 2^64; 0 on the host. */
uint64_t perf_clock_ahead(void);

#endif
