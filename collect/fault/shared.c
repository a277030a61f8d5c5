// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/shared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

/* Their files are of page cache, whose pages stay when entries go. */
static int keeps_pages(const char *type)
{
	static const char *const types[] = {
		"tmpfs", "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs",
		"overlay", "nfs", "nfs4", "zfs",
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(type, types[i]))
			return 1;
	return 0;
}

/* Is the device mounted in pid's view, as a file system of that sort? */
static int on_known_mount(pid_t pid, const struct vma *v)
{
	char path[64], want[32], device[32], type[64], *line = NULL, *p;
	size_t room = 0;
	int found = 0;
	FILE *f;

	snprintf(want, sizeof(want), "%u:%u", v->major, v->minor);
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (!found && getline(&line, &room, f) > 0) {
		p = strstr(line, " - ");
		found = p && sscanf(line, "%*s %*s %31s", device) == 1 &&
			sscanf(p, " - %63s", type) == 1 &&
			!strcmp(device, want) && keeps_pages(type);
	}
	free(line);
	fclose(f);
	return found;
}

int shared_may_zap(const struct mm *mm, pid_t pid, const struct vma *v)
{
	static const char deleted[] = " (deleted)";
	size_t n = strlen(v->name), d = sizeof(deleted) - 1;

	if (!v->shared || maps_identity(v).memory == MOCA_MEMORY_PRIVATE)
		return 0;
	/* The kernel's own mount, which our memfd is on: never huge pages. */
	if (mm->memfd >= 0 &&
	    mm->memfd_dev == makedev(v->major, v->minor))
		return 1;
	return v->name[0] == '/' && n > d && !strcmp(v->name + n - d, deleted) &&
	       on_known_mount(pid, v);
}
