/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What threads drop that have no buffer. It lies in the trace's doorbell page
 * (layout.h), which a process keeps mapped whatever becomes of its rights, its
 * root directory and the collector's socket: a worker that ran as root and runs
 * as another user now can still count here. Each event is added at once, so
 * that a process that is killed has told of all.
 *
 * Programs add, relaxed; the collector reads. Nothing here is believed further
 * than for the counts that users are told.
 */
#ifndef MOCA_RING_REFUSED_H
#define MOCA_RING_REFUSED_H

#include <errno.h>
#include <stdint.h>

#include "lib/ring/layout.h"

/* Offset in the doorbell page: beside the meter (meter.h). */
#define MOCA_REFUSED_OFFSET 2048u

enum moca_refusal {
	/* The collector said no, or nothing in time. */
	MOCA_REFUSED_OTHER = 0,
	/* The process runs as another user: it may not reach the collector. */
	MOCA_REFUSED_RIGHTS = 1,
	/* It cannot find the collector: another root directory, or it is gone. */
	MOCA_REFUSED_AWAY = 2,
	MOCA_REFUSALS = 3,
};

struct moca_refused {
	struct {
		uint64_t events;
		uint64_t threads;	/* each once in a trace, by the first
					   reason; but those are not here that
					   the collector itself has refused */
	} by[MOCA_REFUSALS];
};

static inline struct moca_refused *moca_refused_in(struct moca_doorbell *page)
{
	void *at = (char *)page + MOCA_REFUSED_OFFSET;

	return at;
}

/* Why a request for a buffer failed with this -errno. */
static inline enum moca_refusal moca_refusal_of(int error)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		return MOCA_REFUSED_RIGHTS;
	case -ENOENT:
	case -ENOTDIR:
	case -ECONNREFUSED:
		return MOCA_REFUSED_AWAY;
	default:
		return MOCA_REFUSED_OTHER;
	}
}

#endif
