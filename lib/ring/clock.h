/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading the clock of a buffer: enum moca_ring_clock. Signal-safe. */
#ifndef MOCA_RING_CLOCK_H
#define MOCA_RING_CLOCK_H

#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/ring/layout.h"

/* Of the counter that user space reads in a few ns; how long one is, is to be
 * measured. */
static inline uint64_t moca_ticks(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#endif
}

static inline uint64_t moca_clock_read(uint32_t clock)
{
	if (__builtin_expect(clock == MOCA_CLOCK_TSC, 1))
		return moca_ticks();
	return moca_now_ns();
}

#endif
