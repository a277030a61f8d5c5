/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory that several mappings are of: files, memfds, SysV segments,
 * anonymous shared memory. All that a trace has, with the range of each that is
 * ever mapped. A page of it is one page, whichever processes map it, and at
 * whatever addresses: it is known by a number of the memory, and by the address
 * that it has, or would have, where the memory was mapped first.
 */
#ifndef MOCA_IDENTITY_H
#define MOCA_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

#include <moca/reader.h>

#include "lib/base/table.h"

/* One memory. */
struct moca_memory_of {
	uint32_t memory;	/* enum moca_memory */
	uint64_t dev, ino;
	char *name;		/* of the first mapping; of a file without
				   " (deleted)" */
	uint64_t addr;		/* of the first byte that is ever mapped, */
	uint64_t len;		/* and from there to the last one */
	uint64_t base;		/* addr - its offset */
};

struct moca_identities {
	struct moca_memory_of *of;	/* [0] is none */
	size_t count, cap;		/* with [0] */
	struct moca_index index;
	int known;			/* some mapping told what it is of */
};

/* From the events of t. 0 or -errno; free is right after both. */
int moca_identities_build(struct moca_identities *x, struct moca_trace *t);
void moca_identities_free(struct moca_identities *x);

/*
 * The number of what a mapping is of; 0: it is nobody else's, or was not recorded.
 * Files are told apart by their names too, as inodes are used again.
 */
uint32_t moca_identities_find(const struct moca_identities *x, uint32_t memory,
			      uint64_t dev, uint64_t ino, const char *name);

#endif
