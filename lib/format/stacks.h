/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Call stacks to and from the chunks of the file `stacks`; doc/format.md. */
#ifndef MOCA_FORMAT_STACKS_H
#define MOCA_FORMAT_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include <moca/types.h>

#include "lib/base/bytes.h"
#include "lib/format/chunk.h"

#define MOCA_S_STACK_LIST 1
#define MOCA_STACKS_RAW_MAX (1u << 20)	/* bytes of a chunk, unpacked */

/*
 * Add as many of the n stacks, numbered from first on, as one chunk holds, to the
 * empty buffer: how many; *raw has them. -ENOMEM; -EINVAL: one that is none.
 */
int moca_stacks_encode(struct moca_buf *raw, uint32_t first,
		       const struct moca_stack *list, size_t n);

/* All stacks of a trace, as a reader has them. All zeros: none. */
struct moca_stacks {
	uint64_t *frames;
	size_t frame_count, frame_room;
	struct moca_stack_place {
		uint32_t at;	/* in frames */
		uint16_t count;	/* 0: there is none of that number */
		uint16_t flags;
	} *list;		/* by number; the first is of 0 */
	size_t count, room;
};

void moca_stacks_free(struct moca_stacks *s);
/*
 * Add those of a chunk, whose header told `records`. 0; -EBADMSG: lengths or
 * numbers are not as in doc/format.md, and none of them is added; -ENOMEM.
 */
int moca_stacks_decode(struct moca_stacks *s, const uint8_t *raw, size_t len,
		       uint32_t records);
/* 0 or -ENOENT. */
int moca_stacks_get(const struct moca_stacks *s, uint32_t number,
		    struct moca_stack *out);

#endif
