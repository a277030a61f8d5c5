// SPDX-License-Identifier: GPL-2.0-or-later
/* malloc gives nothing back to the kernel: pages are cleared and mapped once. */
#include <stddef.h>

#include "try/list.h"

const char *try_keep_memory(const struct try_subject *s, const char **title,
			    const char **setting)
{
	if (!s->glibc)
		return "the program's malloc is not glibc's";
	*title = "malloc keeps the memory that the program frees";
	*setting = "GLIBC_TUNABLES=glibc.malloc.trim_threshold=4294967296:glibc.malloc.mmap_threshold=33554432:glibc.malloc.top_pad=16777216";
	return NULL;
}
