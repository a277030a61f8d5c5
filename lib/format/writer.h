/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writing a trace directory: one file per task, and one for all that do little,
 * made of chunks that are appended whole. See doc/format.md.
 *
 * A writer is used by one thread at a time. It keeps no file open between
 * calls, so thousands of tasks need no descriptors. A chunk that could not be
 * written whole (ENOSPC) is cut off again: the file stays readable.
 */
#ifndef MOCA_FORMAT_WRITER_H
#define MOCA_FORMAT_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include <moca/types.h>

#define MOCA_CPUMASK_WORDS 16	/* 1,024 CPUs */

struct moca_writer;

/* What a chunk's header says besides what the records tell. */
struct moca_chunk_info {
	uint32_t task;
	uint64_t interval;	/* number of the interval, from 0 */
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t lost;		/* samples lost in this task and interval */
	int more;		/* the interval's next chunk continues this */
};

/*
 * Start a trace in the existing, empty directory dirfd (borrowed; must stay
 * open). 0, or -errno.
 */
int moca_writer_create(struct moca_writer **out, int dirfd);
void moca_writer_destroy(struct moca_writer *w);

/*
 * Append one chunk of n accesses, in order of time. n may be 0 (a chunk that
 * only tells of loss). The interval told is widened to hold every record's
 * time; phys is kept as a page, one per page and chunk (doc/format.md). 0;
 * -E2BIG (n above 65,536), -EINVAL (not in order of time, a type, mode or
 * weight that is none, or a task above 4,194,303), -EEXIST (the task's file was there
 * before), or -errno of the file system. Nothing is left half-written.
 */
int moca_writer_accesses(struct moca_writer *w,
			 const struct moca_chunk_info *info,
			 const struct moca_access *recs, size_t n);

/*
 * Append one chunk of n rows of counts, sorted by address, none twice. interval
 * is the number of the slice, from 0; lost must be 0. begin_ns and end_ns are
 * widened to hold every first_ns. n may be 0. 0; -E2BIG (n above 65,536),
 * -EINVAL (a shift that is not 6 to 12, an address that is not the begin of a
 * granule or not above the one before, a row without accesses, or with a first
 * touch of a type that it has none of; a sum above 2^64 - 1; a time of 2^62 ns),
 * -EEXIST or -errno as above.
 */
int moca_writer_counts(struct moca_writer *w,
		       const struct moca_chunk_info *info, unsigned shift,
		       const struct moca_count *rows, size_t n);

/*
 * Append n changes of a task, in order of time; as several chunks if they are
 * many, of which those before one that fails stay. Names are cut at 4,095
 * bytes. 0 or -errno as above.
 */
int moca_writer_changes(struct moca_writer *w, uint32_t task,
		       const struct moca_change *changes, size_t n);

/*
 * Append call stacks, numbered from first on, above all that were appended before. They
 * come before the accesses that tell their numbers. 0; -EINVAL: a stack without frames, or
 * with too many, or too many stacks (moca/types.h); -EEXIST or -errno as above.
 */
int moca_writer_stacks(struct moca_writer *w, uint32_t first,
		       const struct moca_stack *list, size_t n);

struct moca_jits;
/* Append the names of compiled code, which is done once. 0; -EEXIST or -errno as above. */
int moca_writer_jit(struct moca_writer *w, const struct moca_jits *j);

/* Bytes written so far, in all files; those of access chunks; and accesses. */
uint64_t moca_writer_bytes(const struct moca_writer *w);
uint64_t moca_writer_access_bytes(const struct moca_writer *w);
uint64_t moca_writer_access_count(const struct moca_writer *w);

#endif
