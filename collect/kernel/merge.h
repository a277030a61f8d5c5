/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chunks of all rings, brought into one order of time. A ring's chunks come
 * when they are full, or when their interval ends: only then is it known that no
 * older record follows. So they are copied, their place in the ring is given
 * back, and what is of intervals that ended comes out.
 */
#ifndef MOCA_KERNEL_MERGE_H
#define MOCA_KERNEL_MERGE_H

#include "collect/kernel/device.h"

struct kernel_merge;

/* rings: how many, the monitor's the last. NULL: no memory. */
struct kernel_merge *kernel_merge_new(unsigned int rings);
void kernel_merge_free(struct kernel_merge *m);

/*
 * Take all that rings hold. 0; -ENOMEM: some of it is left there; -EBADMSG: a
 * ring makes no sense.
 */
int kernel_merge_fill(struct kernel_merge *m, struct kernel_ring *rings);

/* Bytes that wait here. */
size_t kernel_merge_bytes(const struct kernel_merge *m);
/*
 * The number of the first interval that has not come out wholly, and whether it
 * has ended (1), so that all of it is here, or not (0).
 */
int kernel_merge_ready(const struct kernel_merge *m, uint64_t *interval);

/* Has the one after that ended as well? */
int kernel_merge_is_behind(const struct kernel_merge *m, uint64_t interval);

/*
 * The sweep that ends an interval takes its time, while programs go on in the
 * next one. visit() of each access (but swept ones) of the next interval that
 * came before the sweep's end: what the sweep found may be just that.
 */
typedef void (*kernel_merge_visit)(void *arg, const struct moca_rec_access *a);
void kernel_merge_ahead(const struct kernel_merge *m, uint64_t interval,
			kernel_merge_visit visit, void *arg);

/* What comes out, one at a time. */
struct kernel_item {
	const struct moca_rec *rec;	/* until the next call; NULL: no record,
					   but that so many were lost */
	uint64_t lost;
	unsigned int ring;
	uint32_t cpu;		/* MOCA_CPU_NONE: the monitor's */
};

/* The next item of that interval or an older one. 1, or 0: no more. */
int kernel_merge_next(struct kernel_merge *m, uint64_t interval,
		      struct kernel_item *out);
/*
 * That interval is done with: begin and end as the module told them, 0 where it
 * told nothing. What comes late belongs to the next.
 */
void kernel_merge_close(struct kernel_merge *m, uint64_t interval,
			uint64_t *begin_ns, uint64_t *end_ns);
/* Chunks that made no sense, in part or as a whole. */
uint64_t kernel_merge_damaged(const struct kernel_merge *m);

#endif
