/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Columns of integers as two streams of buckets, id and id + 1. */
#ifndef MOCA_FORMAT_COLUMN_H
#define MOCA_FORMAT_COLUMN_H

#include <stddef.h>
#include <stdint.h>

#include "lib/format/bucket.h"
#include "lib/format/chunk.h"
#include "lib/format/stream.h"

/* Room for the streams of one column. */
struct moca_column {
	uint8_t low[MOCA_CHUNK_RECORDS_MAX];
	uint8_t rest[8 * MOCA_CHUNK_RECORDS_MAX + MOCA_BUCKET_PAD];
};

/* n <= MOCA_CHUNK_RECORDS_MAX; keep as of moca_stream_put. 0 or -ENOMEM. */
int moca_column_put(struct moca_column *c, struct moca_stream_out *s,
		    uint8_t id, const uint64_t *v, size_t n, int keep);
/* The reverse; zeros when it was left out. 0 or -EBADMSG. */
int moca_column_get(struct moca_column *c, const struct moca_stream_in *s,
		    uint8_t id, uint64_t *v, size_t n);

#endif
