// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/code/allocators.h"

#include <stddef.h>

#define NO (-1)
#define MAKES(n, k, s) { n, { k, s, NO, NO, NO } }
#define ENDS(n) { n, { MOCA_ALLOC_MALLOC, NO, NO, 0, NO } }

/* malloc's relatives, as executables define them; jemalloc's own ones last. */
const struct moca_allocator moca_allocators[] = {
	MAKES("malloc", MOCA_ALLOC_MALLOC, 0),
	{ "calloc", { MOCA_ALLOC_CALLOC, 0, 1, NO, NO } },
	{ "realloc", { MOCA_ALLOC_REALLOC, 1, NO, 0, NO } },
	{ "reallocarray", { MOCA_ALLOC_REALLOC, 1, 2, 0, NO } },
	{ "posix_memalign", { MOCA_ALLOC_ALIGNED, 2, NO, NO, 0 } },
	MAKES("aligned_alloc", MOCA_ALLOC_ALIGNED, 1),
	MAKES("memalign", MOCA_ALLOC_ALIGNED, 1),
	MAKES("valloc", MOCA_ALLOC_ALIGNED, 0),
	MAKES("pvalloc", MOCA_ALLOC_ALIGNED, 0),
	ENDS("free"),
	ENDS("cfree"),
	MAKES("_Znwm", MOCA_ALLOC_NEW, 0),
	MAKES("_Znam", MOCA_ALLOC_NEW, 0),
	MAKES("_ZnwmRKSt9nothrow_t", MOCA_ALLOC_NEW, 0),
	MAKES("_ZnamRKSt9nothrow_t", MOCA_ALLOC_NEW, 0),
	MAKES("_ZnwmSt11align_val_t", MOCA_ALLOC_NEW, 0),
	MAKES("_ZnamSt11align_val_t", MOCA_ALLOC_NEW, 0),
	MAKES("_ZnwmSt11align_val_tRKSt9nothrow_t", MOCA_ALLOC_NEW, 0),
	MAKES("_ZnamSt11align_val_tRKSt9nothrow_t", MOCA_ALLOC_NEW, 0),
	ENDS("_ZdlPv"),
	ENDS("_ZdaPv"),
	ENDS("_ZdlPvm"),
	ENDS("_ZdaPvm"),
	ENDS("_ZdlPvRKSt9nothrow_t"),
	ENDS("_ZdaPvRKSt9nothrow_t"),
	ENDS("_ZdlPvSt11align_val_t"),
	ENDS("_ZdaPvSt11align_val_t"),
	ENDS("_ZdlPvmSt11align_val_t"),
	ENDS("_ZdaPvmSt11align_val_t"),
	ENDS("_ZdlPvSt11align_val_tRKSt9nothrow_t"),
	ENDS("_ZdaPvSt11align_val_tRKSt9nothrow_t"),
	MAKES("mallocx", MOCA_ALLOC_MALLOC, 0),
	{ "rallocx", { MOCA_ALLOC_REALLOC, 1, NO, 0, NO } },
	ENDS("dallocx"),
	ENDS("sdallocx"),
	{ "malloc_usable_size", { MOCA_ROLE_USABLE, NO, NO, NO, NO } },
	{ 0 },
};
