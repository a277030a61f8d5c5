/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writing what programs emit through libmocatrace: files marker-N, one per
 * buffer (stream), and marker-types, which describes the events. They stand
 * by themselves in a trace directory or beside the task files of a page trace,
 * which another process may be writing. See doc/format.md.
 *
 * A writer is used by one thread at a time. It keeps no stream's file open
 * between calls. What could not be written whole is cut off again.
 */
#ifndef MOCA_FORMAT_EVENT_WRITER_H
#define MOCA_FORMAT_EVENT_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include <moca/types.h>

struct moca_event_writer;

/*
 * One piece of a stream: words of records as in lib/ring/layout.h, SYNC and
 * events only, all committed. The clock is made ns by a straight line through
 * (clock0, ns0) and (clock1, ns1); clock1 > clock0.
 */
struct moca_event_chunk {
	uint32_t stream;
	uint32_t events;
	const uint64_t *records;
	size_t words;
	uint64_t begin;		/* positions in the stream */
	uint64_t end;
	uint64_t clock_before;	/* whole clock before the first record */
	uint64_t clock0, ns0;
	uint64_t clock1, ns1;
	uint64_t begin_ns;	/* of the first and last event; else now */
	uint64_t end_ns;
	uint64_t lost;		/* events dropped, newly told */
	uint64_t torn;
	uint64_t corrupt;	/* bytes */
	int compress;		/* 0: the program is faster than zstd */
};

/*
 * Write into directory dirfd (borrowed; must stay open). Files that are there
 * are gone on with: so a recording that was cut off can be completed. 0 or
 * -errno.
 */
int moca_event_writer_create(struct moca_event_writer **out, int dirfd);
void moca_event_writer_destroy(struct moca_event_writer *w);

/*
 * How far a stream is on disk: the end position of the last chunk written in
 * this or an earlier life. 0 when there is none. 0 or -errno.
 */
int moca_event_writer_position(struct moca_event_writer *w, uint32_t stream,
				uint64_t *position);

/*
 * Describe an event, before the first record that has its id; id 16 to
 * 16,383. fields as in moca/trace.h ("KIND NAME [...]\n" of each). 0, also
 * when it is described just so already; -EINVAL (not a description, another
 * than the one with that id, or more than 16 MiB of them: hostile input,
 * nothing was written), -errno.
 */
int moca_event_writer_type(struct moca_event_writer *w, uint32_t id,
			    const char *facility, const char *name,
			    const char *fields);
/* The types on disk: calls each for every one. 0 or -errno. */
int moca_event_writer_types(struct moca_event_writer *w,
			     void (*each)(void *arg, uint32_t id,
					  const char *facility,
					  const char *name,
					  const char *fields),
			     void *arg);

/*
 * Append a chunk. 0; -EINVAL (the records are not framed as they must be, or
 * are not as many events as told; a clock that stands still); -E2BIG (over
 * 65,536 events or nearly 16 MiB); -EEXIST (the file is another's); -errno.
 */
int moca_event_writer_chunk(struct moca_event_writer *w,
			     const struct moca_event_chunk *c);
/*
 * Append events about the stream's thread: TASK_START (pid, tid, name) comes
 * first in each stream, TASK_END last; GAP says what was not recorded.
 */
int moca_event_writer_changes(struct moca_event_writer *w, uint32_t stream,
			      const struct moca_change *events, size_t n);

/* Bytes written so far by this writer. */
uint64_t moca_event_writer_bytes(const struct moca_event_writer *w);

#endif
