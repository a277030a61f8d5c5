/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What the rate profiler of moca.ko shows in the character device mp3.
 *
 * From offset 0: slots, four unsigned longs each. A slot that was not written,
 * or was taken off by a reader, is -1 throughout. Samples go round; behind the
 * newest is always a slot of -1.
 *
 * Behind the slots (of 128 pages, or as many as `samples` need): one page to be
 * read, struct moca_rate_info.
 */
#ifndef _UAPI_MOCA_RATE_H
#define _UAPI_MOCA_RATE_H

#include <linux/types.h>

#define MOCA_RATE_VERSION 1
#define MOCA_RATE_PAGES 128	/* of slots, at least */

/* Of all registered processes, since the sample before. */
struct moca_rate_slot {
	unsigned long jiffies;	/* when; not a difference */
	unsigned long minor;
	unsigned long major;
	unsigned long cpu;	/* jiffies; what is less is in a later one */
};

struct moca_rate_info {
	__u32 version;		/* MOCA_RATE_VERSION */
	__u32 samples;		/* slots in use: then it goes round */
	__u32 hz;		/* samples per second */
	__u32 hz_ticks;		/* jiffies per second */
	__u32 registered;	/* processes */
	__u32 pad;
	__u64 told;		/* samples since load: the last one is in slot
				   (told - 1) % samples */
	__u64 minor;		/* sums of these */
	__u64 major;
	__u64 cpu_ns;
};

#endif
