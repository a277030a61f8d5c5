/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tasks that exact mode did not count to their end, as the metadata tell. */
#ifndef MOCA_ANALYSIS_NATIVES_H
#define MOCA_ANALYSIS_NATIVES_H

#include <stddef.h>

#include <moca/reader.h>

struct moca_native {
	uint32_t task;
	uint64_t time_ns;	/* from then on nothing of it is counted */
	uint64_t before_ns;	/* CPU time of the task until then, and since */
	uint64_t since_ns;
	const char *why;	/* of the trace: anything */
};

/* The n-th, from 0. 1, or 0: there is none. */
int moca_native_nth(const struct moca_trace *t, unsigned n,
		    struct moca_native *out);
/* How many others there are, of which only that is known. */
uint64_t moca_native_more(const struct moca_trace *t);
/* A sentence of it, without its end; at most size bytes. Returns buf. */
const char *moca_native_text(const struct moca_trace *t,
			     const struct moca_native *n, char *buf, size_t size);

#endif
