/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of a trace in which not all allocations were told. */
#ifndef MOCA_REPORT_THINNED_H
#define MOCA_REPORT_THINNED_H

#include <stddef.h>
#include <stdint.h>

#define THINNED_MAX 160

/*
 * "from 0.954 s on, of objects below 256.0 KiB the stacks and places of 1 in
 * 1,024 (or more) were taken". level and min: the most that it came to; from_ns:
 * since the trace began.
 */
const char *thinned_text(char buf[THINNED_MAX], uint64_t level, uint64_t min,
			 uint64_t from_ns);
/* And what that means for who reads the numbers; ends with a line's end. */
void thinned_print(uint64_t level, uint64_t min, uint64_t from_ns);

#endif
