// SPDX-License-Identifier: GPL-2.0-or-later
/* All threads allocate from one heap: less memory, and more waiting. */
#include <stddef.h>

#include "try/list.h"

const char *try_one_arena(const struct try_subject *s, struct try_made *out)
{
	if (s->threads < 2)
		return "the program has one thread";
	switch (s->allocator) {
	case TRY_ALLOCATOR_GLIBC:
		out->setting = "GLIBC_TUNABLES=glibc.malloc.arena_max=1";
		break;
	case TRY_ALLOCATOR_JEMALLOC:
		out->setting = "MALLOC_CONF=narenas:1";
		break;
	case TRY_ALLOCATOR_TCMALLOC:
	case TRY_ALLOCATOR_MIMALLOC:
		return "the program's malloc has no variable for it";
	default:
		return "the program's malloc is none of those that are known";
	}
	out->title = "all threads allocate from one heap of malloc";
	return NULL;
}
