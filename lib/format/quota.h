/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The size that a trace may have, of which several processes write parts. Each
 * tells how many bytes its part has, and asks whether there is room.
 */
#ifndef MOCA_FORMAT_QUOTA_H
#define MOCA_FORMAT_QUOTA_H

#include <stdint.h>

enum moca_quota_part {
	MOCA_QUOTA_ACCESSES,	/* with counts and changes */
	MOCA_QUOTA_EVENTS,	/* of programs and allocators */
	MOCA_QUOTA_HEAT,	/* looks of the kernel module at accessed bits */
	MOCA_QUOTA_PARTS
};

struct moca_quota;

/* Shared with processes that are forked later; lasts as long as they do. NULL
 * with errno. */
struct moca_quota *moca_quota_new(uint64_t limit_bytes);

/* For all below, a NULL q is one without a limit. Any thread may call them. */
void moca_quota_set(struct moca_quota *q, enum moca_quota_part part,
		    uint64_t bytes);
/* Would the trace be larger than it may be with so many bytes more? */
int moca_quota_full(const struct moca_quota *q, uint64_t more_bytes);

#endif
