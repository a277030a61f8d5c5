/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changes to and from the bytes of a change chunk's one stream. */
#ifndef MOCA_FORMAT_CHANGE_H
#define MOCA_FORMAT_CHANGE_H

#include <moca/types.h>

#include "lib/format/chunk.h"
#include "lib/format/stream.h"

#define MOCA_S_CHANGES 1
#define MOCA_NAME_MAX 4095		/* longer names are cut by the writer */
#define MOCA_CHANGES_RAW_MAX (1u << 20)	/* bytes of one chunk, unpacked */
#define MOCA_CHANGE_BYTES_MAX (15 * MOCA_VARINT_MAX + MOCA_NAME_MAX + 1)

/* Append one change; *prev_ns is the time of the one before. 0 or -ENOMEM. */
int moca_change_encode(struct moca_buf *b, const struct moca_change *e,
		      uint64_t *prev_ns);
/*
 * Make a chunk's payload in s of as many of the *n changes as go into one, with
 * scratch, and step over them; h's times and records are set. 0 or -ENOMEM.
 */
int moca_changes_pack(struct moca_stream_out *s, struct moca_buf *scratch,
		     struct moca_header *h, const struct moca_change **changes,
		     size_t *n);
/* Take one change from *p; its name points into the bytes. 0 or -EBADMSG. */
int moca_change_decode(struct moca_change *e, const uint8_t **p,
		      const uint8_t *end, uint64_t *prev_ns);

#endif
