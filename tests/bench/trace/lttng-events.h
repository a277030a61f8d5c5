/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The same events as in emit.c, for LTTng-UST. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/bench/trace/lttng-events.h"

#if !defined(LTTNG_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_EVENTS_H
#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(
	bench, one, LTTNG_UST_TP_ARGS(uint64_t, a),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, a, a)))
LTTNG_UST_TRACEPOINT_EVENT(
	bench, four,
	LTTNG_UST_TP_ARGS(uint64_t, a, uint64_t, b, uint64_t, c, uint64_t, d),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, a, a)
			    lttng_ust_field_integer(uint64_t, b, b)
			    lttng_ust_field_integer(uint64_t, c, c)
			    lttng_ust_field_integer(uint64_t, d, d)))
LTTNG_UST_TRACEPOINT_EVENT(
	bench, string, LTTNG_UST_TP_ARGS(const char *, s),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_string(s, s)))

#endif
#include <lttng/tracepoint-event.h>
