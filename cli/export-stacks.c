// SPDX-License-Identifier: GPL-2.0-or-later
/* Formats of viewers of profiles: call stacks with sums. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/export.h"
#include "export/stacks.h"
#include "lib/base/err.h"
#include "lib/text/text.h"
#include "query/samples.h"

/* The kind that --value names; QUERY_SAMPLES: none. */
static size_t find_kind(const char *value)
{
	size_t i = 0;

	while (value && i < QUERY_SAMPLES &&
	       strcmp(query_sample_kinds[i], value))
		i++;
	return i;
}

int export_stacks_refuse(const struct export *x)
{
	char known[128] = "";

	for (size_t i = 0; i < QUERY_SAMPLES; i++) {
		size_t len = strlen(known);

		snprintf(known + len, sizeof(known) - len, "%s%s",
			 i ? ", " : "", query_sample_kinds[i]);
	}
	if (find_kind(x->value) == QUERY_SAMPLES) {
		moca_error("export: option '--value' needs one of %s, not '%s'",
			   known, x->value);
		return EXIT_USAGE;
	}
	if (moca_trace_stack_count(x->t))
		return 0;
	moca_error("export: '%s' has no call stacks, which '--to %s' is made of: record it with 'moca record --stacks'",
		   x->trace, x->to);
	return EXIT_USAGE;
}

static int write_stacks(struct export *x, struct out *o, struct samples *s,
			uint64_t *count)
{
	if (!strcmp(x->to, "folded"))
		return stacks_folded(o, s, find_kind(x->value), count);
	if (!strcmp(x->to, "speedscope"))
		return stacks_speedscope(o, s, count);
	return stacks_pprof(o, s, count);
}

int export_stacks(struct export *x)
{
	const struct query_filter f = { .range = x->range, .object = x->object };
	char a[TEXT_MAX], b[TEXT_MAX];
	uint64_t count = 0;
	struct samples *s;
	struct out o;
	int err = query_samples_open(&s, x->t, &f), failed;

	if (err) {
		x->read_failed = 1;
		return err;
	}
	err = out_open(&o, x->fd);
	if (!err) {
		err = write_stacks(x, &o, s, &count);
		x->read_failed = err && !o.error;
		failed = out_close(&o);
		err = err ? err : failed;
	}
	query_samples_close(s);
	if (!err && !x->quiet)
		moca_say("%s: %s stack%s, %s", x->out, text_count(a, count),
			 PLURAL(count), text_size(b, o.written));
	return err;
}
