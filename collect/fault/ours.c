// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/ours.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int ours_name(const char *name)
{
	const char *base = strrchr(name, '/');
	const char *dir = getenv("MOCA_SHM_DIR");
	char shm[PATH_MAX];

	snprintf(shm, sizeof(shm), "%s/moca-%u/", dir && *dir ? dir :
		 "/dev/shm", geteuid());
	base = base ? base + 1 : name;
	return !strncmp(base, "libmoca-alloc.so", 16) ||
	       !strncmp(base, "libmocatrace.so", 15) ||
	       !strncmp(name, shm, strlen(shm)) ||
	       !strncmp(name, "/memfd:moca-doorbell", 20);
}

void ours_add(struct mm *mm, uint64_t start, uint64_t end)
{
	unsigned int i;

	if (ours_holds(mm, start, end))
		return;
	for (i = 0; i < MM_OURS; i++)
		if (mm->ours[i].start == mm->ours[i].end)
			break;
	/* One too many is observed as any other memory. */
	if (i == MM_OURS)
		return;
	mm->ours[i].start = start;
	mm->ours[i].end = end;
}

int ours_holds(const struct mm *mm, uint64_t start, uint64_t end)
{
	unsigned int i;

	for (i = 0; i < MM_OURS; i++)
		if (start >= mm->ours[i].start && end <= mm->ours[i].end &&
		    start < end)
			return 1;
	return 0;
}

void ours_remove(struct mm *mm, uint64_t start, uint64_t end)
{
	unsigned int i;

	for (i = 0; i < MM_OURS; i++)
		if (mm->ours[i].start < end && start < mm->ours[i].end)
			mm->ours[i].start = mm->ours[i].end = 0;
}
