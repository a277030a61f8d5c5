/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What commands say of a trace of exact mode, beside its counts. */
#ifndef MOCA_REPORT_EXACT_H
#define MOCA_REPORT_EXACT_H

#include <moca/reader.h>

#include "lib/text/json.h"

/* Has the trace counts, or was it to have some? */
int exact_has_counts(const struct moca_trace *t);
/* The bytes of a granule, the ns of a slice; 0 = not told, none. */
uint64_t exact_granularity(const struct moca_trace *t);
uint64_t exact_slice(const struct moca_trace *t);
/* "a granule is 64 B, a slice 100 ms" */
const char *exact_describe(const struct moca_trace *t, char buf[160]);
/* What was not counted, by reason: lines of text, or nothing. */
void exact_print_gaps(const struct moca_trace *t, const char *lead);
/* Which tasks were not counted to their end: a line each, at most 10. */
void exact_print_natives(const struct moca_trace *t, const char *lead);
/* "natives": the same, sentences; "natives_more": of how many others it is so. */
void exact_json_natives(struct json *j, const struct moca_trace *t);
/* "exact": what the recorder told of itself; null without counts. */
void exact_json(struct json *j, const struct moca_trace *t);

#endif
