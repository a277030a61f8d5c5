// SPDX-License-Identifier: GPL-2.0-or-later
/* Formats of viewers of profiles: call stacks with sums. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/export.h"
#include "export/stacks.h"
#include "include/abi/alloc-events.h"
#include "lib/base/err.h"
#include "lib/text/text.h"
#include "query/samples.h"

/* The kind that --value names; QUERY_SAMPLES: none. */
static size_t find_kind(const char *value)
{
	size_t i = 0;

	while (i < QUERY_SAMPLES && strcmp(query_sample_kinds[i], value))
		i++;
	return i;
}

static int is_allocations(const char *value)
{
	return value && find_kind(value) >= QUERY_SAMPLE_ALLOCATED;
}

/* Do its programs tell allocations? */
static int has_allocations(const struct moca_trace *t)
{
	const struct moca_event_type *const *types;
	size_t n;

	types = moca_trace_event_types(t, &n);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(types[i]->facility, MOCA_ALLOC_FACILITY) &&
		    !strcmp(types[i]->name, "stack"))
			return 1;
	return 0;
}

/* They are sums of whole threads. */
static int leaves_allocations(const struct export *x)
{
	return !x->object && !x->range.begin_ns && !x->range.end_ns &&
	       !x->range.addr_begin && !x->range.addr_end;
}

static int refuse_value(const struct export *x)
{
	char known[256] = "";

	for (size_t i = 0; i < QUERY_SAMPLES; i++) {
		size_t len = strlen(known);

		snprintf(known + len, sizeof(known) - len, "%s%s",
			 i ? ", " : "", query_sample_kinds[i]);
	}
	moca_error("export: option '--value' needs one of %s, not '%s'", known,
		   x->value);
	return EXIT_USAGE;
}

static int refuse_no_accesses(const struct export *x)
{
	moca_error("export: '%s' has no call stacks of accesses, which '--value %s' sums: record it with 'moca record --stacks'",
		   x->trace, x->value);
	return EXIT_USAGE;
}

static int refuse_no_allocations(const struct export *x)
{
	moca_error("export: '%s' has no call stacks of allocations, which '--value %s' sums: record a program that allocates, without --no-allocs",
		   x->trace, x->value);
	return EXIT_USAGE;
}

int export_stacks_refuse(const struct export *x)
{
	int accesses = moca_trace_stack_count(x->t) != 0;
	int allocations = has_allocations(x->t);

	if (x->value && find_kind(x->value) == QUERY_SAMPLES)
		return refuse_value(x);
	if (is_allocations(x->value) && !leaves_allocations(x)) {
		moca_error("export: '--value %s' does not go with --from, --until, --address and --object: allocations are sums of the whole recording, or of a thread (--task)",
			   x->value);
		return EXIT_USAGE;
	}
	if (is_allocations(x->value))
		return allocations ? 0 : refuse_no_allocations(x);
	if (x->value && !accesses)
		return refuse_no_accesses(x);
	if (accesses || (allocations && leaves_allocations(x)))
		return 0;
	if (allocations)
		moca_error("export: '%s' has call stacks of allocations alone, which --from, --until, --address and --object do not go with: leave these out, or record it with 'moca record --stacks'",
			   x->trace);
	else
		moca_error("export: '%s' has no call stacks, which '--to %s' is made of: record it with 'moca record --stacks', or without --no-allocs for those of allocations",
			   x->trace, x->to);
	return EXIT_USAGE;
}

/* The place of --value among the kinds that there are; without it the first. */
static size_t choose_kind(const struct export *x, const struct samples *s)
{
	size_t i = 0;

	while (x->value && i < s->kind_count && strcmp(s->kinds[i], x->value))
		i++;
	return i;
}

static int write_stacks(struct export *x, struct out *o, struct samples *s,
			uint64_t *count)
{
	if (!strcmp(x->to, "folded"))
		return stacks_folded(o, s, choose_kind(x, s), count);
	if (!strcmp(x->to, "speedscope"))
		return stacks_speedscope(o, s, count);
	return stacks_pprof(o, s, count);
}

/* What the bytes are not. */
static void tell_heap(const struct samples *s)
{
	uint64_t bytes, estimated, without;

	query_samples_heap(s, &bytes, &estimated, &without);
	if (estimated)
		moca_say("of the allocated bytes %.1f %% are estimated by samples",
			 100.0 * (double)estimated / (double)bytes);
	if (without)
		moca_say("of the allocated bytes %.1f %% are of objects whose ends were not recorded: they are neither in peak-bytes nor in end-bytes",
			 100.0 * (double)without / (double)bytes);
}

static void tell(const struct export *x, const struct samples *s,
		 uint64_t count, uint64_t written)
{
	char a[TEXT_MAX], b[TEXT_MAX];

	if (!strcmp(x->to, "folded"))
		moca_say("%s: %s of %s stack%s, %s", x->out,
			 s->kinds[choose_kind(x, s)], text_count(a, count),
			 PLURAL(count), text_size(b, written));
	else
		moca_say("%s: %s stack%s, %s", x->out, text_count(a, count),
			 PLURAL(count), text_size(b, written));
	tell_heap(s);
}

/* The trace says that it has what it has not. */
static int refuse_late(struct export *x)
{
	moca_error("export: '%s' has no call stacks of allocations, though its programs could tell them: record it with 'moca record --stacks' for those of accesses",
		   x->trace);
	x->refused = 1;
	return -EINVAL;
}

int export_stacks(struct export *x)
{
	int accesses = moca_trace_stack_count(x->t) != 0;
	const struct query_filter f = {
		.range = x->range, .object = x->object,
		.heap = leaves_allocations(x) &&
			(is_allocations(x->value) || !accesses ||
			 strcmp(x->to, "folded")),
	};
	uint64_t count = 0;
	struct samples *s;
	struct out o;
	int err = query_samples_open(&s, x->t, &f), failed;

	if (err) {
		x->read_failed = 1;
		return err;
	}
	if (choose_kind(x, s) >= s->kind_count) {
		query_samples_close(s);
		return refuse_late(x);
	}
	err = out_open(&o, x->fd);
	if (!err) {
		err = write_stacks(x, &o, s, &count);
		x->read_failed = err && !o.error;
		failed = out_close(&o);
		err = err ? err : failed;
	}
	if (!err && !x->quiet)
		tell(x, s, count, o.written);
	query_samples_close(s);
	return err;
}
