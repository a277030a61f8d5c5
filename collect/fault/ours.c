// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/ours.h"

#include "collect/run/own.h"

int ours_is(pid_t pid, const struct vma *v)
{
	return own_is(pid, v->name, moca_identity_dev(v->major, v->minor),
		      v->ino);
}

void ours_add(struct mm *mm, uint64_t start, uint64_t end)
{
	unsigned int i;

	if (ours_holds(mm, start, end))
		return;
	for (i = 0; i < MM_OURS; i++)
		if (mm->ours[i].start == mm->ours[i].end)
			break;
	/* What there is no room for is observed as any other memory. */
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
