// SPDX-License-Identifier: GPL-2.0-or-later
/* An instrumented library for life.c's dlopen case; PLUGIN is 0 or 1. */
#include "seq.h"

#if PLUGIN == 1
MOCA_EVENT(plugin, other, (u32, a), (f64, b));
#else
MOCA_EVENT(plugin, hello, (string, text));
#endif

void plugin_emit(uint64_t from, uint64_t to);

void plugin_emit(uint64_t from, uint64_t to)
{
	for (; from < to; from++) {
#if PLUGIN == 1
		moca_trace_plugin_other(from, from / 2.0);
#else
		moca_trace_plugin_hello("hello");
#endif
		seq_emit(10 + PLUGIN, from);
	}
}
