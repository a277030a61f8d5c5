/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that had no buffer for events or allocations: what they dropped is
 * in no task's count of lost events, as they have no task in the trace.
 */
#ifndef MOCA_REPORT_REFUSED_H
#define MOCA_REPORT_REFUSED_H

#include <stdint.h>

#include <moca/reader.h>

struct json;

struct refused {
	uint64_t events;	/* dropped */
	uint64_t threads;	/* and of these: */
	uint64_t rights;	/* of processes that changed their user */
	uint64_t away;		/* who could not find the collector */
};

/* 0: there are none. */
int refused_read(const struct moca_trace *t, struct refused *out);
/* "  Lost: ..." and a line's end; nothing if there are none. */
void refused_print(const struct moca_trace *t);
/* The object `key`. */
void refused_json(struct json *j, const struct moca_trace *t, const char *key);

#endif
