// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/intervals.h"

/* Intervals [from, to) have that time together. */
static void share_out(double *ns, size_t from, size_t to, uint64_t begin_ns,
		      uint64_t end_ns)
{
	size_t i;

	for (i = from; i < to; i++)
		ns[i] = end_ns > begin_ns ?
			(double)(end_ns - begin_ns) / (double)(to - from) : 0;
}

void moca_intervals_lengths(double *ns, const uint64_t *begins, size_t count,
			    uint64_t all, uint64_t begin_ns, uint64_t end_ns)
{
	size_t i, from = 0;

	for (i = 0; i < count; i++) {
		if (!begins[i])
			continue;
		share_out(ns, from, i, begin_ns, begins[i]);
		from = i;
		begin_ns = begins[i];
	}
	share_out(ns, from, count, begin_ns,
		  end_ns > begin_ns && all > count ?
			  begin_ns + (end_ns - begin_ns) / (all - from) *
					     (count - from) : end_ns);
}
