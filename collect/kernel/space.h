/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An address space as the module tells of it: its mappings, and which of its
 * pages were seen in the life of their mapping.
 */
#ifndef MOCA_KERNEL_SPACE_H
#define MOCA_KERNEL_SPACE_H

#include <stddef.h>
#include <stdint.h>

#include <moca/types.h>

#include "include/uapi/moca.h"

struct kernel_space;

/* With one holder. NULL: no memory. */
struct kernel_space *kernel_space_new(void);
/* What a fork's child has: the same mappings, and no page seen. */
struct kernel_space *kernel_space_copy(const struct kernel_space *s);
struct kernel_space *kernel_space_hold(struct kernel_space *s);
void kernel_space_drop(struct kernel_space *s);

/* [start, end) of the mapping m is new, or another one than was known there. */
typedef void (*kernel_space_piece)(void *arg, const struct moca_rec_mapping *m,
				   uint64_t start, uint64_t end);

/*
 * Is the mapping Moca's own: a library that it has programs load, a buffer, or the
 * variables of such a library that follow its file?
 */
int kernel_space_own(const struct kernel_space *s,
		     const struct moca_rec_mapping *m);

/*
 * m is what is mapped there now. What is known of it already, and the rest of
 * one that has grown, is the same life; where another one was, pages begin
 * anew. 0 or -ENOMEM.
 */
int kernel_space_map(struct kernel_space *s, const struct moca_rec_mapping *m,
		     kernel_space_piece piece, void *arg);

/*
 * A page was touched: by a thread that is known (1), or by one that is not (0).
 * Counts it once in the life of its mapping; of Moca's own, never.
 */
void kernel_space_touch(struct kernel_space *s, uint64_t addr, int known,
			struct moca_certificate *cert);

#endif
