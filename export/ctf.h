/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CTF 1.8, the Common Trace Format, as babeltrace2 and Trace Compass read it:
 * a file metadata and, for each task that has anything to tell, a stream file
 * task-N with its accesses, task events and events in order of time.
 */
#ifndef MOCA_EXPORT_CTF_H
#define MOCA_EXPORT_CTF_H

#include <stdint.h>

#include "export/pick.h"

struct moca_ctf_options {
	int events_only;
	struct moca_query range;	/* what is wanted: addresses are of accesses */
	const struct export_pick *pick;	/* which accesses of it; NULL: all */
};

struct moca_ctf_result {
	uint64_t events;
	uint64_t accesses;
	uint64_t task_events;
	uint64_t streams;	/* files */
	uint64_t bytes;
	uint64_t discarded;	/* told as lost by the recorder */
	uint64_t moved;		/* earlier than the one before: time changed */
	uint64_t left_out;	/* of a kind that this version does not know */
	int read_failed;	/* the error is of reading the trace */
};

/*
 * Write the trace into directory dirfd, which holds none of these files. What
 * is damaged in the trace is left out: see moca_trace_damage. 0 or -errno, and
 * then unfinished_remove() takes away what was begun.
 */
int moca_ctf_export(struct moca_trace *t, int dirfd,
		    const struct moca_ctf_options *o,
		    struct moca_ctf_result *r);

#endif
