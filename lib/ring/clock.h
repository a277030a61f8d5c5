/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading the clock of a buffer: enum moca_ring_clock. Signal-safe. */
#ifndef MOCA_RING_CLOCK_H
#define MOCA_RING_CLOCK_H

#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/ring/layout.h"

static inline uint64_t moca_clock_read(uint32_t clock)
{
#if defined(__x86_64__) || defined(__i386__)
	if (__builtin_expect(clock == MOCA_CLOCK_TSC, 1))
		return __builtin_ia32_rdtsc();
#endif
	return moca_now_ns();
}

#endif
