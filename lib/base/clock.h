/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Clocks, in nanoseconds. All are signal-safe. */
#ifndef MOCA_BASE_CLOCK_H
#define MOCA_BASE_CLOCK_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

static inline uint64_t moca_timespec_ns(struct timespec ts)
{
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* Of clock_gettime(2); 0: there is no such clock. */
static inline uint64_t moca_clock_ns(clockid_t clock)
{
	struct timespec ts;

	return clock_gettime(clock, &ts) ? 0 : moca_timespec_ns(ts);
}

/* The time of the traces: CLOCK_MONOTONIC. */
static inline uint64_t moca_now_ns(void)
{
	return moca_clock_ns(CLOCK_MONOTONIC);
}

/* CPU time of the calling thread. */
static inline uint64_t moca_thread_cpu_ns(void)
{
	return moca_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* CPU time of a process, all its threads; 0: it is gone. */
static inline uint64_t moca_process_cpu_ns(pid_t pid)
{
	/* As of clock_getcpuclockid(3), which makes a call to see if it is one. */
	return moca_clock_ns((clockid_t)(~(unsigned int)pid << 3 | 2));
}

#endif
