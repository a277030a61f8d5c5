/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Appending chunks to the files of a trace directory, whole or not at all. */
#ifndef MOCA_FORMAT_APPEND_H
#define MOCA_FORMAT_APPEND_H

#include <stdint.h>

#include "lib/format/chunk.h"
#include "lib/format/stream.h"

/* What a writer knows of a file that it appends to. */
struct moca_append {
	enum moca_file_type type;
	uint32_t number;	/* of the file's name */
	int flags;		/* for openat(2): O_CREAT, O_EXCL */
	int tail;		/* what lies beyond end is to be cut off */
	uint64_t end;		/* where its last whole chunk ends, if tail */
};

/*
 * Append the chunk that h and s hold: number and payload of h are filled in
 * from next_number[h->kind], which is counted up. A tail is cut off first, what
 * could not be written whole is cut off again. *bytes is the chunk's size. 0,
 * -E2BIG or -errno.
 */
int moca_append_chunk(int dirfd, struct moca_append *a, struct moca_header *h,
		      const struct moca_stream_out *s, uint64_t *next_number,
		      uint64_t *bytes);

#endif
