/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A chunk's payload: a directory of streams of bytes (id, encoding, length,
 * stored length), then the streams. A stream of zeros only is left out.
 */
#ifndef MOCA_FORMAT_STREAM_H
#define MOCA_FORMAT_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include <zstd.h>

#include "lib/base/bytes.h"

enum moca_stream_encoding {
	MOCA_STREAM_RAW = 0,
	MOCA_STREAM_ZSTD = 1,
	MOCA_STREAM_SAME = 2,	/* one byte, repeated */
};

#define MOCA_STREAMS_MAX 64	/* per chunk */

struct moca_stream_out {
	ZSTD_CCtx *cctx;
	struct moca_buf dir;	/* dir.data[0] counts the streams */
	struct moca_buf body;
};

#define MOCA_STREAM_LEVEL 1	/* of zstd, if there is no reason for another */

/* 0 or -ENOMEM. free is also right after a failed init. */
int moca_stream_out_init(struct moca_stream_out *s, int level);
void moca_stream_out_free(struct moca_stream_out *s);
/* Begin a new payload. */
void moca_stream_reset(struct moca_stream_out *s);
/*
 * Add a stream, if it is not empty. With keep, also when all of it is zero,
 * as its length matters. 0 or -ENOMEM.
 */
int moca_stream_put(struct moca_stream_out *s, uint8_t id, const uint8_t *raw,
		    size_t len, int keep);

/* Add a stream as it is, if it is not empty. 0 or -ENOMEM. */
int moca_stream_put_raw(struct moca_stream_out *s, uint8_t id,
			const uint8_t *raw, size_t len);

struct moca_stream {
	const uint8_t *data;	/* NULL = left out */
	uint32_t raw;
	uint32_t stored;
	uint8_t encoding;
};

struct moca_stream_in {
	ZSTD_DCtx *dctx;	/* of the caller */
	struct moca_stream streams[MOCA_STREAMS_MAX];
};

/* Parse the directory of a payload, which must outlive s. 0 or -EBADMSG. */
int moca_stream_parse(struct moca_stream_in *s, const uint8_t *payload,
		      size_t len);
/* The unpacked length of a stream; 0 when it was left out. */
size_t moca_stream_len(const struct moca_stream_in *s, uint8_t id);
/*
 * Unpack a stream that must be of exactly len bytes; zeros when it was left
 * out. 0 or -EBADMSG.
 */
int moca_stream_get(const struct moca_stream_in *s, uint8_t id, uint8_t *dst,
		    size_t len);
/* The len bytes of a stream that is stored as it is; else NULL. */
const uint8_t *moca_stream_peek(const struct moca_stream_in *s, uint8_t id,
				size_t len);

#endif
