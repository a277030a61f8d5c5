// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/natives.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/trace.h"

int moca_native_nth(const struct moca_trace *t, unsigned n,
		    struct moca_native *out)
{
	const char *p = moca_trace_meta_nth(t, "exact.native", n);
	char *end;

	if (!p)
		return 0;
	out->task = (uint32_t)strtoul(p, &end, 10);
	out->time_ns = strtoull(end, &end, 10);
	out->before_ns = strtoull(end, &end, 10);
	out->since_ns = strtoull(end, &end, 10);
	out->why = *end == ' ' ? end + 1 : end;
	return 1;
}

uint64_t moca_native_more(const struct moca_trace *t)
{
	return trace_meta_u64(t, "exact.native_more", 0);
}

const char *moca_native_text(const struct moca_trace *t,
			     const struct moca_native *n, char *buf, size_t size)
{
	size_t i = trace_task_index(t, n->task);
	const struct moca_task *task = i < SIZE_MAX ? moca_trace_task(t, i) : NULL;
	uint64_t origin = trace_origin(t);

	snprintf(buf, size,
		 "From %.2f s on nothing of task %" PRIu32 " (%s) is counted: %s. It took at least %.2f s of CPU time since then, %.2f s before",
		 n->time_ns > origin ? (double)(n->time_ns - origin) / 1e9 : 0,
		 n->task, task ? task->name : "?", n->why,
		 (double)n->since_ns / 1e9, (double)n->before_ns / 1e9);
	return buf;
}
