/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace in order of time: changes, events, accesses and counts of all tasks, merged.
 * Memory: one decoded chunk of each kind per task that lives at that moment, of
 * MOCA_AHEAD_CURSORS_MAX tasks two of accesses, which a thread unpacks ahead.
 */
#ifndef MOCA_TIMELINE_H
#define MOCA_TIMELINE_H

#include <moca/reader.h>

enum moca_timeline_kind {
	MOCA_TIMELINE_CHANGE = 1,
	MOCA_TIMELINE_EVENT = 2,
	MOCA_TIMELINE_ACCESSES = 3,
	MOCA_TIMELINE_COUNTS = 4,	/* at their begin */
};

struct moca_timeline_item {
	enum moca_timeline_kind kind;
	uint64_t time_ns;		/* of accesses: of the first */
	const struct moca_task *task;
	size_t task_index;		/* of it, in the trace */
	const struct moca_change *change;
	const struct moca_event *event;
	/*
	 * count accesses of one task, by time: all that it has before any other
	 * task has anything.
	 */
	const struct moca_access *accesses;
	size_t count;
	uint64_t interval;	/* that these were seen in */
	const struct moca_counts *counts;
};

struct moca_timeline;

/*
 * query: as of moca_cursor_open, or NULL; it bounds accesses and counts only, since
 * earlier changes and events tell what there is. 0 or -errno.
 */
int moca_timeline_open(struct moca_timeline **out, struct moca_trace *t,
		       const struct moca_query *query);
void moca_timeline_close(struct moca_timeline *tl);
/* Accesses of one task, as those of an item. */
struct moca_timeline_run {
	const struct moca_access *accesses;
	size_t count;
	size_t task_index;
	uint64_t interval;
};

/*
 * Behind an item of accesses: the runs that come next, max at most, as far as nothing
 * has to be read for them, and nothing else comes before. How many; all are valid until
 * the next moca_timeline_next().
 */
size_t moca_timeline_more(struct moca_timeline *tl,
			  struct moca_timeline_run *runs, size_t max);
/*
 * The next item, valid until the next call. 1, 0 at the end, -errno. At one
 * time changes come before events, and both before accesses, and all before counts.
 */
int moca_timeline_next(struct moca_timeline *tl,
		       struct moca_timeline_item *out);

#endif
