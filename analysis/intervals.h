/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long intervals are, by when those begin that have records. */
#ifndef MOCA_INTERVALS_H
#define MOCA_INTERVALS_H

#include <stddef.h>
#include <stdint.h>

/*
 * ns: of each of `count` intervals, of `all` that there were; begins: when each
 * begins, 0: it has no records. These are taken to be as long as the one with
 * records before them. The recording was from begin_ns to end_ns. No time needs to
 * be behind another: then a length is 0.
 */
void moca_intervals_lengths(double *ns, const uint64_t *begins, size_t count,
			    uint64_t all, uint64_t begin_ns, uint64_t end_ns);

#endif
