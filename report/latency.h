/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latency by data structure, for `moca objects` and `moca summary`. */
#ifndef MOCA_REPORT_LATENCY_H
#define MOCA_REPORT_LATENCY_H

#include "analysis/latency.h"
#include "lib/text/json.h"

/*
 * A table of the first `most` structures; nothing where the trace has no such samples.
 * narrow as of moca_latency_compute(). 0 or -errno.
 */
int latency_print(struct moca_trace *t,
		  const struct moca_objects_options *narrow, size_t most);
/*
 * The array "latency" of an open object, of `most` structures at most, and
 * "latency_rows", how many there are; likewise.
 */
int latency_json(struct json *j, struct moca_trace *t,
		 const struct moca_objects_options *narrow, size_t most);

#endif
