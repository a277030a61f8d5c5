// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/thinned.h"

#include <stdio.h>

#include "lib/text/text.h"

const char *thinned_text(char buf[THINNED_MAX], uint64_t level, uint64_t min,
			 uint64_t from_ns)
{
	char a[TEXT_MAX], b[TEXT_MAX];

	snprintf(buf, THINNED_MAX, "from %.3f s on, of objects below %s the "
		 "stacks and places of 1 in %s (or more) were taken",
		 from_ns / 1e9, text_size(a, min),
		 text_count(b, level < 64 ? 1ull << level : 0));
	return buf;
}

void thinned_print(uint64_t level, uint64_t min, uint64_t from_ns)
{
	char text[THINNED_MAX];

	printf("  Sampled: %s.\n"
	       "  All others were counted, by size. Counts by site are estimates; what is in memory of\n"
	       "  objects that were not taken is \"small objects, not told apart\". --allocs full tells all.\n",
	       thinned_text(text, level, min, from_ns));
}
