// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/exact.h"

#include <stdio.h>
#include <string.h>

#include "analysis/natives.h"
#include "analysis/trace.h"
#include "include/abi/exact-arena.h"
#include "lib/text/text.h"

#define GRANULARITY "exact.granularity"
#define SLICE "exact.slice_ns"

int exact_has_counts(const struct moca_trace *t)
{
	const char *collector = moca_trace_meta(t, META_COLLECTOR);
	size_t i, n = moca_trace_task_count(t);

	for (i = 0; i < n; i++)
		if (moca_trace_task(t, i)->counts)
			return 1;
	return collector && !strcmp(collector, "exact");
}

uint64_t exact_granularity(const struct moca_trace *t)
{
	return trace_meta_u64(t, GRANULARITY, 0);
}

uint64_t exact_slice(const struct moca_trace *t)
{
	return trace_meta_u64(t, SLICE, 0);
}

const char *exact_describe(const struct moca_trace *t, char buf[160])
{
	uint64_t granule = exact_granularity(t), slice = exact_slice(t);
	char a[TEXT_MAX], b[TEXT_MAX];

	if (!granule)
		snprintf(buf, 160, "granularity not told");
	else if (slice)
		snprintf(buf, 160, "granularity %s, slices of %s",
			 text_size(a, granule), text_duration(b, slice));
	else
		snprintf(buf, 160, "granularity %s, no slices",
			 text_size(a, granule));
	return buf;
}

/* The metadata key of a gap: all but letters and digits become '_'. */
static const char *gap_key(const char *name, char buf[64])
{
	int n = snprintf(buf, 64, "exact.gap.%s", name), i;

	for (i = (int)strlen("exact.gap."); i < n; i++)
		if (!(buf[i] >= 'a' && buf[i] <= 'z') &&
		    !(buf[i] >= '0' && buf[i] <= '9'))
			buf[i] = '_';
	return buf;
}

static const char *const gap_names[] = { MOCA_EXACT_GAP_NAMES };
#define GAPS (sizeof(gap_names) / sizeof(*gap_names))

void exact_print_gaps(const struct moca_trace *t, const char *lead)
{
	char key[64], a[TEXT_MAX];
	uint64_t n;
	size_t i;

	for (i = 0; i < GAPS; i++) {
		n = trace_meta_u64(t, gap_key(gap_names[i], key), 0);
		if (n)
			printf("%s%s: %s time%s\n", lead, gap_names[i],
			       text_count(a, n), PLURAL(n));
	}
}

#define NATIVES_SHOWN 10u

void exact_print_natives(const struct moca_trace *t, const char *lead)
{
	uint64_t more = moca_native_more(t);
	struct moca_native native;
	char text[1024], count[TEXT_MAX];
	unsigned n;

	for (n = 0; moca_native_nth(t, n, &native); n++) {
		if (n >= NATIVES_SHOWN) {
			more++;
			continue;
		}
		fputs(lead, stdout);
		text_name(stdout, moca_native_text(t, &native, text, sizeof(text)),
			  0);
		putchar('\n');
	}
	if (more)
		printf("%sThe same of %s more task%s.\n", lead,
		       text_count(count, more), PLURAL(more));
}

void exact_json_natives(struct json *j, const struct moca_trace *t)
{
	struct moca_native native;
	char text[1024];

	json_open(j, "natives", '[');
	for (unsigned n = 0; moca_native_nth(t, n, &native); n++)
		json_string(j, NULL,
			    moca_native_text(t, &native, text, sizeof(text)));
	json_close(j, ']');
	json_uint(j, "natives_more", moca_native_more(t));
}

void exact_json(struct json *j, const struct moca_trace *t)
{
	static const char *const keys[] = {
		"regions", "blocks", "instructions", "code_bytes", "loops",
		"memory",
	};
	char key[64];
	size_t i;

	if (!exact_has_counts(t)) {
		json_null(j, "exact");
		return;
	}
	json_open(j, "exact", '{');
	json_uint(j, "granularity", exact_granularity(t));
	json_uint(j, "slice_ns", exact_slice(t));
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		snprintf(key, sizeof(key), "exact.%s", keys[i]);
		if (moca_trace_meta(t, key))
			json_uint(j, keys[i], trace_meta_u64(t, key, 0));
		else
			json_null(j, keys[i]);
	}
	json_open(j, "gaps", '{');
	for (i = 0; i < GAPS; i++) {
		gap_key(gap_names[i], key);
		json_uint(j, key + strlen("exact.gap."),
			  trace_meta_u64(t, key, 0));
	}
	json_close(j, '}');
	exact_json_natives(j, t);
	json_close(j, '}');
}
