/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What perf mem tells of an access beside its address: latency, and what answered it.
 * The trace has it as events perf_mem:sample of the thread.
 */
#ifndef MOCA_IMPORT_PERF_MEMORY_H
#define MOCA_IMPORT_PERF_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "import/perf-line.h"
#include "import/trace.h"

struct perf_stream;

struct perf_memory {
	struct perf_stream *streams;	/* by task */
	size_t cap;
	size_t kept;			/* words, of all */
	struct moca_event_writer *writer;
	int dirfd;			/* of the trace */
	const struct import_trace *trace;
};

/* Does it say anything? Software events have a source that says nothing. */
int perf_memory_told(uint64_t source);
/* enum moca_access_type */
int perf_memory_type(uint64_t source);

void perf_memory_init(struct perf_memory *m, int dirfd,
		      const struct import_trace *trace);
/* A task's sample. Of one task in order of time. 0 or -errno. */
int perf_memory_add(struct perf_memory *m, uint32_t task,
		    const struct perf_line *l);
/* Write what is left. 0 or -errno. */
int perf_memory_end(struct perf_memory *m);
void perf_memory_free(struct perf_memory *m);

#endif
