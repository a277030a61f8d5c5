/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of counts to and from the streams of a chunk; see doc/format.md. */
#ifndef MOCA_FORMAT_COUNTS_H
#define MOCA_FORMAT_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include <moca/types.h>

#include "lib/format/chunk.h"
#include "lib/format/column.h"
#include "lib/format/stream.h"

/* A granule is a power of two of bytes, from a cache line to a page. */
#define MOCA_GRANULE_SHIFT_MIN 6
#define MOCA_GRANULE_SHIFT_MAX 12

enum moca_counts_stream {
	MOCA_S_GRANULES = 1,	/* gaps of the sorted granules; + rest */
	MOCA_S_LOADS = 3,	/* + rest */
	MOCA_S_STORES = 5,	/* + rest */
	MOCA_S_FIRST = 7,	/* time to the first touch before; + rest */
	MOCA_S_FIRST_STORE = 9,	/* one bit each */
};

/* What a header's words, otherwise a mask of CPUs, are in a chunk of counts. */
enum moca_counts_word {
	MOCA_COUNTS_LOADS,	/* sum of the rows' */
	MOCA_COUNTS_STORES,
	MOCA_COUNTS_SHIFT,	/* log2 of a granule */
	MOCA_COUNTS_WORDS,
};

/* Memory for one chunk's worth of work, of a writer or of a cursor. */
struct moca_counts_scratch {
	uint64_t values[MOCA_CHUNK_RECORDS_MAX];
	uint8_t bits[MOCA_CHUNK_RECORDS_MAX / 8];
	struct moca_column column;
};

/*
 * The rows must be as moca_writer_counts() wants them, and end_ns - begin_ns
 * below 2^62, with every first_ns that is not 0 between the two. 0 or -ENOMEM.
 */
int moca_counts_encode(struct moca_counts_scratch *x,
		       struct moca_stream_out *s,
		       const struct moca_count *rows, size_t n, unsigned shift,
		       uint64_t begin_ns);
/*
 * h->records rows, of which all is checked that moca_writer_counts() promises,
 * also the sums in the header. 0 or -EBADMSG.
 */
int moca_counts_decode(struct moca_counts_scratch *x,
		       const struct moca_stream_in *s, struct moca_count *rows,
		       const struct moca_header *h);
/*
 * Is what a header tells of counts in order, as far as it alone can show? 1 or 0.
 */
int moca_counts_header_valid(const struct moca_header *h);

#endif
