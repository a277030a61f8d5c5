/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of the reader share. */
#ifndef MOCA_FORMAT_TRACE_H
#define MOCA_FORMAT_TRACE_H

#include <pthread.h>

#include <moca/reader.h>

#include "lib/format/ahead.h"
#include "lib/format/event-type.h"
#include "lib/format/file.h"
#include "lib/format/jit.h"
#include "lib/format/machine.h"
#include "lib/format/mapping.h"
#include "lib/format/meta.h"
#include "lib/format/seal.h"
#include "lib/format/stacks.h"

/* One marker-N. */
struct moca_event_file {
	uint32_t number;
	uint32_t task;		/* index of the task that it is of */
	uint64_t end;		/* bytes, at open */
	uint64_t begin_ns;	/* nothing in it is earlier ... */
	uint64_t end_ns;	/* ... or later */
};

/* Where the chunks of a task are: first those in task-shared, then task-N. */
struct moca_task_file {
	uint64_t end;		/* bytes of its task-N, at open */
	size_t place;		/* in shared_places, its first */
	size_t place_count;
};

/* Streams of one task that are in use at the same time, at most. */
#define MOCA_EVENT_STREAMS_MAX 16

struct moca_trace {
	int dirfd;
	struct moca_meta *meta;
	struct moca_task *tasks;	/* task.name is allocated */
	struct moca_task_file *task_files;	/* of the first file_count */
	size_t file_count;		/* of tasks; the others are of events
					   alone */
	uint64_t *shared_places;	/* of chunks in task-shared, by task */
	size_t task_count;
	struct moca_event_file *events; /* by task, begin_ns, number */
	size_t event_count;
	size_t *first_event;		/* of each task, and one more */
	struct moca_types types;
	struct moca_machine *machine;	/* NULL: none, or damaged */
	struct moca_stacks stacks;
	struct moca_jits jits;
	struct moca_seal found;		/* of the files, without payloads */
	uint64_t unsealed;		/* of damage.files: the seal tells of them */
	int launch_error;		/* of the file launch, which is one then */
	pthread_mutex_t damage_lock;	/* of the next four */
	struct moca_damage damage;
	uint64_t *places;		/* set of damaged chunks; 0 = empty */
	size_t place_count;
	size_t place_cap;
	pthread_mutex_t mapping_lock;	/* of the next two */
	int mappings_built;
	struct moca_mappings mappings;
};

/* Count the chunk at pos of the file as damaged, unless it is. */
void moca_trace_damaged_chunk(struct moca_trace *t, const struct moca_file *f,
			      uint64_t pos);

/*
 * While opening: step through a file, whose end goes to *end, and call fold
 * for each chunk of this version and of the file's own number (of
 * MOCA_FILE_SHARED: of any task, which f->task is then); damage is
 * counted, also when fold says -EBADMSG. 0; -EINVAL if it is not to be used;
 * or another error of fold.
 */
int moca_trace_scan(struct moca_trace *t, enum moca_file_type type,
		    uint32_t number, uint64_t *end, struct moca_decoder *d,
		    int (*fold)(void *arg, struct moca_decoder *d,
				const struct moca_file *f,
				const struct moca_header *h, uint64_t pos),
		    void *arg);
/*
 * Scan task-shared, if there is one, and the files of these tasks; t->tasks is
 * sorted by number. 0 or -errno.
 */
int moca_trace_scan_tasks(struct moca_trace *t, const uint32_t *numbers,
			  size_t count, int has_shared, struct moca_decoder *d);
/* Step through the chunks of the task with that index. As moca_file_open ... */
int moca_task_file_open(struct moca_file *f, const struct moca_trace *t,
			size_t task);
/* ... and moca_file_next. */
int moca_task_file_next(struct moca_file *f, const struct moca_trace *t,
			size_t task, struct moca_header *h, uint64_t *pos);
/* A task that nothing is known of. 0 or -ENOMEM. */
int moca_task_init(struct moca_task *task, uint32_t id);
/* What a change tells about its task as a whole. 0 or -ENOMEM. */
int moca_task_fold(struct moca_task *task, const struct moca_change *e);
/*
 * Scan the event files with these numbers, give each to a task, or a task of
 * its own, and read the types. 0 or -errno.
 */
int moca_trace_scan_events(struct moca_trace *t, const uint32_t *numbers,
			    size_t count, int has_types,
			    struct moca_decoder *d);
/* Let a new cursor of events look into marker-N with N below n only. */
void moca_cursor_streams_below(struct moca_cursor *c, uint32_t n);
/* Let a new cursor tell no changes of event files. */
void moca_task_changes_only(struct moca_cursor *c);
/*
 * Let a new cursor, whose query is of tasks at most, tell chunks without their
 * accesses, which are NULL: by headers and checksums, without unpacking.
 */
void moca_chunks_only(struct moca_cursor *c);
/*
 * Let the thread of a, which the cursor must not outlive, unpack chunks of accesses
 * before a new cursor is asked for them. What it tells, and when, stays the same;
 * damage is counted when the caller comes to it. Nothing but this starts threads.
 */
void moca_cursor_ahead(struct moca_cursor *c, struct moca_ahead *a);
/*
 * Give the cursor's descriptors back until it reads on: for who has many. What it
 * told last stays valid.
 */
void moca_cursor_park(struct moca_cursor *c);
/* The task with that number, or NULL. */
const struct moca_task *moca_trace_find_task(const struct moca_trace *t,
					     uint32_t id);

#endif
