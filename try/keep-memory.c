// SPDX-License-Identifier: GPL-2.0-or-later
/* malloc gives nothing back to the kernel: pages are cleared and mapped once. */
#include <stddef.h>

#include "try/list.h"

const char *try_keep_memory(const struct try_subject *s, struct try_made *out)
{
	switch (s->allocator) {
	case TRY_ALLOCATOR_GLIBC:
		out->setting = "GLIBC_TUNABLES=glibc.malloc.trim_threshold=4294967296:glibc.malloc.mmap_threshold=33554432:glibc.malloc.top_pad=16777216";
		break;
	case TRY_ALLOCATOR_JEMALLOC:
		out->setting = "MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1";
		break;
	case TRY_ALLOCATOR_TCMALLOC:
		out->setting = "TCMALLOC_RELEASE_RATE=0 TCMALLOC_AGGRESSIVE_DECOMMIT=0";
		break;
	case TRY_ALLOCATOR_MIMALLOC:
		/* The second one: before 2.1. */
		out->setting = "MIMALLOC_PURGE_DELAY=-1 MIMALLOC_PAGE_RESET=0";
		break;
	default:
		return "the program's malloc is none of those that are known";
	}
	out->title = "malloc keeps the memory that the program frees";
	return NULL;
}
