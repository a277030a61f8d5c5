/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a function of an allocator does for its callers. */
#ifndef MOCA_ABI_ALLOC_ROLE_H
#define MOCA_ABI_ALLOC_ROLE_H

#include <stdint.h>

/* How an object was made; for readers, which function. */
enum moca_alloc_kind {
	MOCA_ALLOC_MALLOC = 0,
	MOCA_ALLOC_CALLOC = 1,
	MOCA_ALLOC_REALLOC = 2,	/* and reallocarray */
	MOCA_ALLOC_ALIGNED = 3,	/* posix_memalign, memalign, valloc, ... */
	MOCA_ALLOC_NEW = 4,	/* operator new, new[] */
	MOCA_ALLOC_MMAP = 5,	/* mmap, mremap by the program itself */
	MOCA_ALLOC_CUSTOM = 6,	/* --alloc-fn */
	MOCA_ALLOC_KEPT = 7,	/* no new object: a realloc failed, and left it */
};

#define MOCA_ROLE_EXIT 0xfe	/* kind of what ends the process */
#define MOCA_ROLE_USABLE 0xff	/* kind of malloc_usable_size */

/* Arguments from 0, -1: it has none. */
struct moca_role {
	uint8_t kind;		/* enum moca_alloc_kind, MOCA_ROLE_* */
	int8_t size;		/* bytes */
	int8_t count;		/* how many times as much */
	int8_t old;		/* the object that it ends */
	int8_t out;		/* where it stores the address; else it is the
				   result */
};

#endif
