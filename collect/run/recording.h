/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the collector of every way does besides collecting: failure, --max-size,
 * the front's death, what is due each second, the metadata that all have, and
 * the wait for work. Collector thread. What becomes of the program when a
 * recording fails: failure.h.
 */
#ifndef MOCA_RUN_RECORDING_H
#define MOCA_RUN_RECORDING_H

#include <stdint.h>

#include "collect/run/recorder.h"
#include "collect/run/status.h"

struct moca_meta;
struct moca_writer;
struct pollfd;

/* A way's part of it, each with recording.arg. */
struct recording_ops {
	/* Nothing more can be written, or shall be: look no more. Or NULL. */
	void (*halt)(void *arg);
	/* A second is over: bring sums up to date. 1 and *s, but for its times;
	 * 0: there is nothing to be shown. Or NULL. */
	int (*second)(void *arg, uint64_t now_ns, struct status_now *s);
	/* The keys of the metadata that are the way's own. */
	void (*describe)(void *arg, uint64_t now_ns);
	/* How much what was seen so far and is not written yet will take on
	 * disk, about. NULL: nothing waits. */
	uint64_t (*waiting_bytes)(void *arg);
	/* The trace has its size: write what waits. NULL: the way does so
	 * anyway. */
	void (*cut)(void *arg);
	/* The trace's note when --max-size is reached. NULL: the usual one. */
	const char *full_note;
};

struct recording {
	struct recorder *rec;
	struct moca_meta *meta;
	struct moca_writer *writer;
	const struct recording_ops *ops;
	void *arg;
	struct status *status;
	uint64_t next_second_ns;
	uint64_t records;	/* at the last second */
	int failed;		/* errno; 0: it did not */
	uint64_t failed_ns;	/* then; what follows is not in the trace */
	int full;		/* --max-size is reached */
};

/* All but status are borrowed. 0 or -errno. */
int recording_init(struct recording *r, struct recorder *rec,
		   struct moca_meta *meta, struct moca_writer *writer,
		   const struct recording_ops *ops, void *arg);
void recording_free(struct recording *r);

/* err (-errno): `what` cannot be done ("write the trace"). */
void recording_fail(struct recording *r, int err, const char *what);
/*
 * Is the trace as large as it may be, once what waits is written? Then the
 * recording ends. Not to be called from cut.
 */
void recording_check_size(struct recording *r);
/* The same of what is written so far. */
void recording_check_written(struct recording *r);
/* Is there more to be written? */
static inline int recording_goes_on(const struct recording *r)
{
	return !r->failed && !r->full;
}

/* What is due by now. Cheap; to be called often. */
void recording_tick(struct recording *r, uint64_t now_ns);
/*
 * Wait until one of p[0 .. n - 1] is ready, the queue was told so, the front
 * died, or `until`. p has room for two more.
 */
void recording_wait(struct recording *r, struct pollfd *p, unsigned int n,
		    uint64_t until_ns);
/* All is written: the metadata's last state. */
void recording_end(struct recording *r);

/* The keys interval_ns and budget, of ways that have these. */
void recording_describe_budget(const struct moca_record_options *o,
			       struct moca_meta *m);

#endif
