/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* malloc and its relatives, by the names that programs define them under. */
#ifndef MOCA_BASE_ALLOCATORS_H
#define MOCA_BASE_ALLOCATORS_H

#include <stdint.h>

/* What a function does for its callers; arguments from 0, -1: it has none. */
struct moca_role {
	uint8_t kind;		/* enum moca_alloc_kind */
	int8_t size;		/* bytes */
	int8_t count;		/* how many times as much */
	int8_t old;		/* the object that it ends */
	int8_t out;		/* where it stores the address; else it is the
				   result */
};

#define MOCA_ROLE_EXIT 0xfe	/* kind of what ends the process */
#define MOCA_ROLE_USABLE 0xff	/* kind of malloc_usable_size */

struct moca_allocator {
	const char *name;
	struct moca_role role;
};

/* The last one has no name. */
extern const struct moca_allocator moca_allocators[];

#endif
