// SPDX-License-Identifier: GPL-2.0-or-later
/* All threads allocate from one heap: less memory, and more waiting. */
#include <stddef.h>

#include "try/list.h"

const char *try_one_arena(const struct try_subject *s, const char **title,
			  const char **setting)
{
	if (!s->glibc)
		return "the program's malloc is not glibc's";
	if (s->threads < 2)
		return "the program has one thread";
	*title = "all threads allocate from one heap of malloc";
	*setting = "GLIBC_TUNABLES=glibc.malloc.arena_max=1";
	return NULL;
}
