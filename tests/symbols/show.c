// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where variables really are: a line "NAME|TYPE ADDRESS SIZE TLS" for each, the
 * address a link-time one, for TLS relative to the thread pointer.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "show.h"

void show(const char *name, const void *at, size_t size, int tls)
{
	struct link_map *map;
	Dl_info info;
	long where;

	if (tls)
		where = (long)((const char *)at -
			       (const char *)__builtin_thread_pointer());
	else if (dladdr1(at, &info, (void **)&map, RTLD_DL_LINKMAP))
		where = (long)at - (long)map->l_addr;
	else
		return;
	printf("%s\t%ld\t%zu\t%d\n", name, where, size, tls);
}

/* As gfortran calls it. */
void show_(const char *name, const void *at, const long *size, long len);
void show_(const char *name, const void *at, const long *size, long len)
{
	char text[200];

	snprintf(text, sizeof(text), "%.*s", (int)len, name);
	show(text, at, (size_t)*size, 0);
}
