/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* malloc and its relatives, by the names that programs define them under. */
#ifndef MOCA_CODE_ALLOCATORS_H
#define MOCA_CODE_ALLOCATORS_H

#include "include/abi/alloc-role.h"

struct moca_allocator {
	const char *name;
	struct moca_role role;
};

/* The last one has no name. */
extern const struct moca_allocator moca_allocators[];

#endif
