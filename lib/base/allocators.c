// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/allocators.h"

#include <stddef.h>

/* As enum moca_alloc_kind of agent/alloc/events.h has them. */
enum { MALLOC, CALLOC, REALLOC, ALIGNED, NEW };

#define NO (-1)
#define MAKES(n, k, s) { n, { k, s, NO, NO, NO } }
#define ENDS(n) { n, { MALLOC, NO, NO, 0, NO } }

/* malloc's relatives, as executables define them; jemalloc's own ones last. */
const struct moca_allocator moca_allocators[] = {
	MAKES("malloc", MALLOC, 0),
	{ "calloc", { CALLOC, 0, 1, NO, NO } },
	{ "realloc", { REALLOC, 1, NO, 0, NO } },
	{ "reallocarray", { REALLOC, 1, 2, 0, NO } },
	{ "posix_memalign", { ALIGNED, 2, NO, NO, 0 } },
	MAKES("aligned_alloc", ALIGNED, 1),
	MAKES("memalign", ALIGNED, 1),
	MAKES("valloc", ALIGNED, 0),
	MAKES("pvalloc", ALIGNED, 0),
	ENDS("free"),
	ENDS("cfree"),
	MAKES("_Znwm", NEW, 0),
	MAKES("_Znam", NEW, 0),
	MAKES("_ZnwmRKSt9nothrow_t", NEW, 0),
	MAKES("_ZnamRKSt9nothrow_t", NEW, 0),
	MAKES("_ZnwmSt11align_val_t", NEW, 0),
	MAKES("_ZnamSt11align_val_t", NEW, 0),
	MAKES("_ZnwmSt11align_val_tRKSt9nothrow_t", NEW, 0),
	MAKES("_ZnamSt11align_val_tRKSt9nothrow_t", NEW, 0),
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
	MAKES("mallocx", MALLOC, 0),
	{ "rallocx", { REALLOC, 1, NO, 0, NO } },
	ENDS("dallocx"),
	ENDS("sdallocx"),
	{ "malloc_usable_size", { MOCA_ROLE_USABLE, NO, NO, NO, NO } },
	{ 0 },
};
