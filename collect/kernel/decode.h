/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is in a chunk: no length in it is believed. Records are used where they
 * lie, so a chunk must stay unchanged meanwhile: callers pass a copy.
 */
#ifndef MOCA_KERNEL_DECODE_H
#define MOCA_KERNEL_DECODE_H

#include <stddef.h>

#include "include/uapi/moca.h"

struct kernel_chunk {
	const struct moca_chunk_head *head;
	size_t bytes;		/* head->bytes, checked */
	size_t pos;		/* of the next record */
};

/*
 * The chunk at p, 8-byte aligned, which has no more than room bytes. 0, or
 * -EBADMSG: its head makes no sense.
 */
int kernel_chunk_open(struct kernel_chunk *c, const void *p, size_t room);

/*
 * The next record of a known type, with all of its fields inside and its text
 * NUL-terminated; others are stepped over. 1; 0: no more; -EBADMSG: from here
 * on it makes no sense, and *c has no more.
 */
int kernel_chunk_next(struct kernel_chunk *c, const struct moca_rec **rec);

#endif
