/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace that an import writes. Tasks get numbers in the order in which they
 * come; their accesses are kept until a chunk is full, or until many are kept.
 */
#ifndef MOCA_IMPORT_TRACE_H
#define MOCA_IMPORT_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include <moca/types.h>

struct moca_meta;
struct moca_writer;

/* Of an access; begin and end 0: they are those of its records. */
struct import_interval {
	uint64_t number;
	uint64_t begin_ns, end_ns;
	int clip;		/* it ends with the recording at the latest */
};

struct import_task {
	uint32_t pid, tid;
	int ended;
	int told;		/* its begin is */
	uint64_t last_ns;	/* of its accesses */
	struct moca_change *changes;	/* names are allocated */
	size_t change_count, change_room;
	size_t exec;		/* of changes, from 1: an exec whose path is not
				   known yet; 0 */
	struct moca_access *accesses;
	size_t access_count, access_room;
	struct import_interval interval;	/* of these accesses */
};

struct import_trace {
	struct moca_writer *writer;
	struct import_task *tasks;
	size_t count, room;
	size_t kept;		/* accesses of all tasks, beside one of each */
	uint64_t begin_ns, end_ns;	/* first and last time; 0: none yet */
	uint64_t records, chunks, lost;
	uint64_t loads, stores;
};

/* dirfd: an empty directory, borrowed. 0 or -errno; free it in any case. */
int import_trace_begin(struct import_trace *x, int dirfd);
void import_trace_free(struct import_trace *x);

/* A new task: its number, or -errno (-E2BIG: there are too many). */
int64_t import_trace_task(struct import_trace *x, uint32_t pid, uint32_t tid);
/*
 * Something that happened to a task; its name is copied. Of one task in order of
 * time; time 0 is the begin of the recording. 0 or -errno.
 */
int import_trace_change(struct import_trace *x, uint32_t task,
			const struct moca_change *c);
/* In order of time and of intervals of the task, or -ESTALE. 0 or -errno. */
int import_trace_access(struct import_trace *x, uint32_t task,
			const struct import_interval *interval,
			const struct moca_access *a);
/*
 * Rows as moca_writer_counts() wants them, however many, of pages; slices of a task rise. 0; -EOVERFLOW: all
 * loads and stores of the trace together are 2^64 or more; -errno.
 */
int import_trace_counts(struct import_trace *x, uint32_t task, uint64_t slice,
			uint64_t begin_ns, uint64_t end_ns,
			const struct moca_count *rows, size_t n);
/*
 * Write what is left, and metadata that has all but what the format tells: from is
 * its name, reason why nothing can be certified. 0 or -errno.
 */
int import_trace_end(struct import_trace *x, int dirfd, struct moca_meta *m,
		     const char *from, const char *reason);

#endif
