/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was read from a buffer, to disk: cut into chunks that the format can
 * hold and whose times a straight line gives well enough.
 */
#ifndef MOCA_TRACE_EMIT_H
#define MOCA_TRACE_EMIT_H

#include <stdint.h>

#include "lib/format/event-writer.h"
#include "lib/ring/clock-ns.h"
#include "lib/ring/consumer.h"

/* One stream's way to disk. */
struct tracer_sink {
	struct moca_event_writer *writer;
	struct tracer_clock *clock;
	uint32_t stream;
	uint64_t last_ns;	/* no later event gets an earlier time */
	uint32_t subbuf_size;
	int compress;
};

/* Who the thread is, for the events about it. */
struct tracer_who {
	uint32_t pid, tid;
	const char *name;
	uint64_t start_ns;
};

/* Each 0 or -errno of the writer. */
int tracer_emit_batch(struct tracer_sink *to, const struct moca_ring_batch *b);
/* Events dropped, that no batch tells of. */
int tracer_emit_lost(struct tracer_sink *to, uint64_t position, uint64_t lost);
int tracer_emit_start(struct tracer_sink *to, const struct tracer_who *who);
int tracer_emit_end(struct tracer_sink *to, const struct tracer_who *who,
		    uint64_t end_ns, int status);
int tracer_emit_gap(struct tracer_sink *to, uint64_t when, const char *what);

#endif
