// SPDX-License-Identifier: GPL-2.0-or-later
/* malloc asks for transparent huge pages: fewer faults, fewer TLB misses. */
#include <stddef.h>

#include "try/list.h"

const char *try_huge_pages(const struct try_subject *s, struct try_made *out)
{
	switch (s->allocator) {
	case TRY_ALLOCATOR_GLIBC:
		out->setting = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1";
		break;
	case TRY_ALLOCATOR_JEMALLOC:
		out->setting = "MALLOC_CONF=thp:always";
		break;
	case TRY_ALLOCATOR_MIMALLOC:
		out->setting = "MIMALLOC_ALLOW_LARGE_OS_PAGES=1";
		break;
	case TRY_ALLOCATOR_TCMALLOC:
		return "tcmalloc has no variable for huge pages";
	default:
		return "the program's malloc is none of those that are known";
	}
	out->title = "malloc asks the kernel for huge pages";
	return NULL;
}
