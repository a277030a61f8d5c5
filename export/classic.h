/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text format of the original MOCA: one file Moca-taskX per task.
 *
 *	Task id pid [page_size]		page_size only in task 0's file
 *	Chunk id N start end cpumask
 *	Access @virt @phys reads writes cpumask		N lines, one per page
 *
 * An interval of a task is one chunk. Times are nanoseconds since the start of
 * the recording. Addresses are hexadecimal with 0x and of the page's first
 * byte; @phys is 0x0 when unknown. A cpumask has one binary digit per CPU,
 * CPU 0 last. pid is that of the thread. An access of unknown type counts as
 * a read, as does an instruction fetch. A task with counts of exact mode and no
 * accesses has these: loads as reads, stores as writes, a chunk per slice.
 */
#ifndef MOCA_EXPORT_CLASSIC_H
#define MOCA_EXPORT_CLASSIC_H

#include <stdint.h>

#include "export/pick.h"

struct classic_options {
	uint64_t origin_ns;	/* what times are relative to */
	unsigned page_size;	/* a power of two */
	unsigned cpus;		/* digits of a cpumask, at least */
	const struct moca_query *range;	/* what is wanted; NULL: all */
	const struct export_pick *pick;	/* which accesses of it; NULL: all */
};

#define CLASSIC_MASK_WORDS 16

/* A page in a chunk: as an Access line. */
struct classic_page {
	uint64_t addr;
	uint64_t phys;
	uint64_t reads;
	uint64_t writes;
	uint64_t cpus[CLASSIC_MASK_WORDS];
};

struct classic_chunk {
	const struct moca_task *task;
	size_t index;			/* of the task */
	uint64_t begin_ns, end_ns;	/* since the origin */
	const struct classic_page *pages;
	size_t count;
};

/*
 * Each chunk of all tasks, by task and time, as it would be written. What fn returns
 * other than 0 ends the walk. 0, that, or -errno.
 */
int moca_classic_chunks(struct moca_trace *t,
			const struct classic_options *options,
			int (*fn)(void *arg, const struct classic_chunk *chunk),
			void *arg);

/*
 * Write all tasks of t into the directory dirfd, over files of the same name.
 * Memory is bounded by the pages of one interval. 0 or -errno.
 */
int moca_classic_export(struct moca_trace *t, int dirfd,
			const struct classic_options *options);

#endif
