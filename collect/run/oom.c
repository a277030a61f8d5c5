// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/oom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOT "/sys/fs/cgroup"

/* The number behind a word at the beginning of a line; 0: there is none. */
static uint64_t number_of(const char *dir, const char *file, const char *word)
{
	char path[640], line[256];
	size_t len = strlen(word);
	uint64_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, word, len) && (!len || line[len] == ' ')) {
			n = strtoull(line + len, NULL, 10);
			break;
		}
	if (f)
		fclose(f);
	return n;
}

static uint64_t group_count(const struct oom *o)
{
	return !o->dir[0] ? 0 :
	       o->v2 ? number_of(o->dir, "memory.events", "oom_kill") :
		       number_of(o->dir, "memory.oom_control", "oom_kill");
}

/* Of a line of /proc/self/cgroup, "4:memory:/path" or "0::/path". */
static int find_dir(struct oom *o, const char *line)
{
	const char *list = strchr(line, ':');
	const char *path = list ? strchr(list + 1, ':') : NULL;
	char file[640];

	if (!path)
		return 0;
	o->v2 = path == list + 1;
	if (!o->v2 && strncmp(list, ":memory:", 8))
		return 0;
	snprintf(o->dir, sizeof(o->dir), "%s%s%.400s", ROOT,
		 o->v2 ? "" : "/memory", path + 1);
	snprintf(file, sizeof(file), "%s/%s", o->dir,
		 o->v2 ? "memory.events" : "memory.oom_control");
	if (!access(file, R_OK))
		return 1;
	o->dir[0] = 0;	/* seen from within a container, say */
	return 0;
}

void oom_begin(struct oom *o)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[512];

	memset(o, 0, sizeof(*o));
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (find_dir(o, line))
			break;
	}
	if (f)
		fclose(f);
	o->group = group_count(o);
	o->machine = number_of("/proc", "vmstat", "oom_kill");
}

static int has_limit(const char *dir, int v2)
{
	uint64_t max = number_of(dir, v2 ? "memory.max" :
				      "memory.limit_in_bytes", "");

	return max && max < 1ull << 50;
}

int oom_is_limited(void)
{
	struct oom o;
	char *end;

	oom_begin(&o);
	if (!o.dir[0])
		return has_limit(ROOT, 1) || has_limit(ROOT "/memory", 0);
	while (strlen(o.dir) >= strlen(ROOT)) {
		if (has_limit(o.dir, o.v2))
			return 1;
		end = strrchr(o.dir, '/');
		*end = 0;
	}
	return 0;
}

int oom_since(const struct oom *o, char *why, size_t size)
{
	if (o->dir[0]) {
		uint64_t max = number_of(o->dir, o->v2 ? "memory.max" :
				     "memory.limit_in_bytes", "");

		if (group_count(o) == o->group)
			return 0;
		if (max && max < 1ull << 50)
			snprintf(why, size, "its control group may use %lu MiB "
				 "of memory (%s)", max >> 20, o->dir);
		else
			snprintf(why, size, "memory ran out in its control "
				 "group (%s)", o->dir);
		return 1;
	}
	if (number_of("/proc", "vmstat", "oom_kill") == o->machine)
		return 0;
	snprintf(why, size, "memory ran out");
	return 1;
}
