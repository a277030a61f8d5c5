// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/info-resolution.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/advice.h"
#include "lib/base/plural.h"
#include "lib/text/text.h"

static int by_length(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int resolution_of(struct resolution *r, const struct moca_info *s)
{
	uint64_t *ns = malloc((s->interval_count + 1) * sizeof(*ns));

	memset(r, 0, sizeof(*r));
	if (!ns)
		return -ENOMEM;
	for (size_t i = 0; i < s->interval_count; i++)
		if (s->intervals[i].end_ns > s->intervals[i].begin_ns)
			ns[r->intervals++] = s->intervals[i].end_ns -
					     s->intervals[i].begin_ns;
	if (r->intervals) {
		qsort(ns, r->intervals, sizeof(*ns), by_length);
		r->shortest_ns = ns[0];
		r->median_ns = ns[r->intervals / 2];
		r->longest_ns = ns[r->intervals - 1];
	}
	free(ns);
	return 0;
}

void resolution_print(const struct resolution *r)
{
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX];

	if (!r->intervals)
		return;
	printf("%-14s%zu interval%s", "Resolution", r->intervals,
	       PLURAL(r->intervals));
	if (r->all > r->intervals)
		printf(" with accesses, of %" PRIu64 " in all,", r->all);
	fputs(" of ", stdout);
	if (r->intervals > 1)
		printf("%s to %s, median %s: ", text_duration(a, r->shortest_ns),
		       text_duration(b, r->longest_ns),
		       text_duration(c, r->median_ns));
	else
		printf("%s: ", text_duration(a, r->longest_ns));
	if (r->intervals >= MOCA_ADVICE_INTERVALS)
		printf("they tell who uses which page, and when to within %s\n",
		       text_duration(b, r->longest_ns));
	else if (r->intervals > 1)
		printf("they tell who touched a page first; for who uses it in the long run they are too few, %d are needed (moca record --interval, --budget)\n",
		       MOCA_ADVICE_INTERVALS);
	else
		puts("it tells who touched a page first, not who uses it (moca record --interval, --budget)");
}

void resolution_json(struct json *j, const struct resolution *r)
{
	json_open(j, "resolution", '{');
	json_uint(j, "intervals", r->intervals);
	json_uint(j, "shortest_ns", r->shortest_ns);
	json_uint(j, "median_ns", r->median_ns);
	json_uint(j, "longest_ns", r->longest_ns);
	json_close(j, '}');
}
