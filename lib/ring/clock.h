/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading the clock of a buffer: enum moca_ring_clock. Signal-safe. */
#ifndef MOCA_RING_CLOCK_H
#define MOCA_RING_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "lib/ring/layout.h"

static inline uint64_t moca_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static inline uint64_t moca_clock_read(uint32_t clock)
{
#if defined(__x86_64__) || defined(__i386__)
	if (__builtin_expect(clock == MOCA_CLOCK_TSC, 1))
		return __builtin_ia32_rdtsc();
#endif
	return moca_clock_ns();
}

#endif
