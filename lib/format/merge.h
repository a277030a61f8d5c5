/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The changes or the events of one task, by time, from all files that have
 * some. A file is open only while its time is: so are most one at a time.
 */
#ifndef MOCA_FORMAT_MERGE_H
#define MOCA_FORMAT_MERGE_H

#include "lib/format/event-decode.h"
#include "lib/format/trace.h"

#define MOCA_MERGE_MAX (MOCA_EVENT_STREAMS_MAX + 1)	/* and the task's */

/* One file, and the record of it that is next to be told. */
struct moca_source {
	struct moca_file file;
	struct moca_decoder decoder;
	uint64_t time_ns;		/* of the record */
	struct moca_change change;
	const uint8_t *change_pos;	/* in decoder.changes */
	const uint8_t *change_end;
	uint64_t change_ns;
	struct moca_event event;
	struct moca_event_walk walk;
	uint64_t floor_ns;		/* of the events of the chunks before */
};

/* Zero-initialise, with trace, query and kind set. */
struct moca_merge {
	struct moca_trace *trace;
	const struct moca_query *query;
	uint8_t kind;			/* of chunk */
	int task_files_only;
	uint32_t streams_below;		/* only marker-N with N less; 0: all */
	size_t task;			/* index */
	struct moca_source *open[MOCA_MERGE_MAX];
	size_t open_count;
	size_t next;			/* of trace->events, to be opened */
	size_t end;
	struct moca_source *last;	/* whose record was told last */
	struct moca_source *spare;
};

void moca_merge_free(struct moca_merge *m);
/* Begin with the task of that index. 0 or -errno. */
int moca_merge_start(struct moca_merge *m, size_t task);
/* The next record; *out is valid until the next call. 1, 0 or -errno. */
int moca_merge_next(struct moca_merge *m, struct moca_source **out);

#endif
