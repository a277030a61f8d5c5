// SPDX-License-Identifier: GPL-2.0-or-later
#include "import/perf-map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "import/perf-line.h"

/* Hexadecimal digits, with or without 0x, and then the character. 0 or -EINVAL. */
static int hex(const char **s, char end, uint64_t *out)
{
	char *after;

	if (**s == '-' || **s == '+' || **s == ' ')
		return -EINVAL;
	errno = 0;
	*out = strtoull(*s, &after, 16);
	if (errno || after == *s || *after != end)
		return -EINVAL;
	*s = after + 1;
	return 0;
}

/* "fe:00 11035729 3063081370]": device, inode, generation; or "<build id>]"; or "]". */
static int identity(const char **s, struct moca_change *map)
{
	const char *end = strchr(*s, ']');
	uint64_t major, minor;
	char *after;

	if (!end)
		return -EINVAL;
	if (**s != '<' && **s != ']') {
		if (hex(s, ':', &major) || hex(s, ' ', &minor) ||
		    major > UINT32_MAX || minor > UINT32_MAX)
			return -EINVAL;
		map->ino = strtoull(*s, &after, 10);
		if (after == *s || *after != ' ')
			return -EINVAL;
		map->dev = map->ino ? major << 32 | minor : 0;
	}
	*s = end + 1;
	return 0;
}

static int begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

/* Which memory it is of, by its name. */
static void memory(struct moca_change *map)
{
	int shared = (map->flags & MOCA_MAP_SHARED) != 0;

	if (!strcmp(map->name, "//anon"))
		map->name = "";
	if (begins(map->name, "/SYSV"))
		map->memory = MOCA_MEMORY_SYSV;
	else if (begins(map->name, "/memfd:"))
		map->memory = MOCA_MEMORY_MEMFD;
	else if (begins(map->name, "/anon_hugepage"))
		map->memory = shared ? MOCA_MEMORY_HUGETLB : MOCA_MEMORY_PRIVATE;
	else if (begins(map->name, "/dev/zero") && shared)
		map->memory = MOCA_MEMORY_ANONYMOUS;
	else if (*map->name == '/')
		map->memory = MOCA_MEMORY_FILE;
	else if (!shared)
		map->memory = MOCA_MEMORY_PRIVATE;
	if (map->memory == MOCA_MEMORY_FILE)
		map->flags |= MOCA_MAP_FILE;
	if (map->memory == MOCA_MEMORY_PRIVATE)
		map->dev = map->ino = map->offset = 0;
	if (!strcmp(map->name, "[stack]"))
		map->flags |= MOCA_MAP_STACK;
}

int perf_map_parse(const char *text, struct moca_change *map, uint32_t *pid,
		   uint32_t *tid)
{
	const char *s = text, *p;

	while (*s == ' ')
		s++;
	if (begins(s, "-1/"))
		return 1;
	if (perf_line_task(&s, '/', pid, tid) || *s++ != ':' || *s++ != ' ' ||
	    *s++ != '[' || hex(&s, '(', &map->addr) || hex(&s, ')', &map->len) ||
	    !begins(s, " @ "))
		return -EINVAL;
	s += 3;
	/* MMAP has nothing behind the offset. */
	p = s;
	if (hex(&s, ' ', &map->offset) &&
	    (s = p, hex(&s, ']', &map->offset) || !s--))
		return -EINVAL;
	if (identity(&s, map) || *s++ != ':' || *s++ != ' ')
		return -EINVAL;
	for (; *s && *s != ' '; s++) {
		map->prot |= *s == 'r' ? PROT_READ : *s == 'w' ? PROT_WRITE :
			     *s == 'x' ? PROT_EXEC : 0;
		map->flags |= *s == 's' ? MOCA_MAP_SHARED : 0;
	}
	if (*s++ != ' ')
		return -EINVAL;
	map->name = s;
	if (map->addr + map->len < map->addr)
		return -EINVAL;
	memory(map);
	return 0;
}
