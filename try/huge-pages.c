// SPDX-License-Identifier: GPL-2.0-or-later
/* malloc asks for transparent huge pages: fewer faults, fewer TLB misses. */
#include <stddef.h>

#include "try/list.h"

const char *try_huge_pages(const struct try_subject *s, const char **title,
			   const char **setting)
{
	if (!s->glibc)
		return "the program's malloc is not glibc's";
	*title = "malloc asks the kernel for huge pages";
	*setting = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1";
	return NULL;
}
