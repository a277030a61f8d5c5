/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What call stacks have of accesses in parts of the run of equal length
 * (windows), in bounded memory: the more stacks there are, the longer the
 * windows.
 */
#ifndef MOCA_FLAME_WINDOWS_H
#define MOCA_FLAME_WINDOWS_H

#include <stddef.h>
#include <stdint.h>

#define MOCA_FLAME_WINDOWS 64u /* at most; a power of two */
#define MOCA_FLAME_TIMED   4   /* the first of enum moca_flame_count */

struct moca_flame_windows {
	uint64_t begin_ns, window_ns;
	unsigned count; /* 0: none are wanted */
	/* Of item i in window w: at i * count + w. Items are the owner's
	 * numbers. */
	uint64_t (*sums)[MOCA_FLAME_TIMED];
	size_t items, room; /* room: of sums */
};

/* For accesses of [begin_ns, end_ns); nothing is allocated. */
void moca_flame_windows_init(struct moca_flame_windows *x, uint64_t begin_ns,
			     uint64_t end_ns);
void moca_flame_windows_free(struct moca_flame_windows *x);
/* Which window is it in? Times beyond both ends are of the first and the last.
 */
unsigned moca_flame_window_of(const struct moca_flame_windows *x,
			      uint64_t time_ns);
/*
 * The sums of an item in the window of that time. Valid until the next call,
 * which may make windows longer. NULL: no memory.
 */
uint64_t *moca_flame_windows_at(struct moca_flame_windows *x, size_t item,
				uint64_t time_ns);
/*
 * Of one item: MOCA_FLAME_TIMED sums for each of x->count windows; NULL: it has
 * nothing in any.
 */
static inline const uint64_t *
moca_flame_windows_of(const struct moca_flame_windows *x, size_t item)
{
	return x->count && item < x->items ? x->sums[item * x->count] : NULL;
}
/* Windows twice as long, half as many; of one there is no half. */
void moca_flame_windows_join(struct moca_flame_windows *x);

#endif
