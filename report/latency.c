// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/latency.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/base/plural.h"
#include "lib/text/text.h"

#define NAME 26

static void print_row(const struct moca_latency_row *r)
{
	char a[TEXT_MAX], p[TEXT_MAX];
	uint64_t left = r->samples;
	int w = printf("  "), said = 0;

	w += text_name(stdout, r->object->name, NAME);
	printf("%*s%12s", NAME + 2 - w > 0 ? NAME + 2 - w : 1, "",
	       text_count(a, r->samples));
	if (r->weighed)
		printf(" %8.1f", (double)r->sum / (double)r->weighed);
	else
		printf(" %8s", "-");
	printf(" %8s", r->weighed ? text_count(a, r->most) : "-");
	printf(" %8s ", text_percent(p, r->remote, r->samples));
	for (unsigned i = 1; i < MOCA_LATENCY_LEVELS; i++) {
		left -= r->levels[i];
		if (r->levels[i])
			printf("%s %s %s", said++ ? "," : "",
			       moca_latency_level(i),
			       text_percent(p, r->levels[i], r->samples));
	}
	if (left)
		printf("%s not told %s", said ? "," : "",
		       text_percent(p, left, r->samples));
	putchar('\n');
}

int latency_print(struct moca_trace *t,
		  const struct moca_objects_options *narrow, size_t most)
{
	struct moca_latency l;
	char a[TEXT_MAX];
	size_t i;
	int err;

	if (!moca_latency_known(t))
		return 0;
	err = moca_latency_compute(&l, t, narrow);
	if (!err && l.count) {
		printf("\nLatency of the samples, in perf's weight (mostly cycles), the most in sum first\n"
		       "  %-26s%12s %8s %8s %8s  answered by\n", "object", "samples",
		       "mean", "longest", "remote");
		for (i = 0; i < l.count && i < most; i++)
			print_row(&l.rows[i]);
		if (i < l.count)
			printf("  ... and %zu more: --all shows all\n", l.count - i);
		if (l.left_out)
			printf("  %s sample%s beyond what is looked at %s left out.\n",
			       text_count(a, l.left_out), PLURAL(l.left_out),
			       l.left_out == 1 ? "is" : "are");
	}
	moca_latency_free(&l);
	return err;
}

int latency_json(struct json *j, struct moca_trace *t,
		 const struct moca_objects_options *narrow, size_t most)
{
	struct moca_latency l = { .count = 0 };
	int err = moca_latency_known(t) ? moca_latency_compute(&l, t, narrow) : 0;

	json_open(j, "latency", '[');
	for (size_t i = 0; i < l.count && i < most && !err; i++) {
		const struct moca_latency_row *r = &l.rows[i];

		json_open(j, NULL, '{');
		json_string(j, "object", r->object->name);
		json_string(j, "site", r->object->site);
		json_uint(j, "samples", r->samples);
		json_uint(j, "weighed", r->weighed);
		json_uint(j, "sum", r->sum);
		json_uint(j, "most", r->most);
		json_uint(j, "remote", r->remote);
		json_open(j, "levels", '{');
		for (unsigned k = 0; k < MOCA_LATENCY_LEVELS; k++)
			if (r->levels[k])
				json_uint(j, moca_latency_level(k), r->levels[k]);
		json_close(j, '}');
		json_close(j, '}');
	}
	json_close(j, ']');
	json_uint(j, "latency_rows", l.count);
	moca_latency_free(&l);
	return err;
}
