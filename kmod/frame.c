// SPDX-License-Identifier: GPL-2.0-only
#include "frame.h"

#include <linux/mm.h>
#include <linux/pgtable.h>

#include "pagetable.h"
#include "ring.h"
#include "session.h"

int moca_frame_node(u64 pfn)
{
	return pfn && pfn_valid(pfn) ? pfn_to_nid(pfn) : NUMA_NO_NODE;
}

void moca_frame_await(struct moca_ring *r, struct moca_rec_access *rec,
		      struct mm_struct *mm)
{
	r->awaits = rec;
	r->awaits_mm = mm;
}

void moca_frame_fill(struct moca_session *s, struct moca_ring *r,
		     const struct mm_struct *mm)
{
	struct moca_rec_access *a = r->awaits;
	u64 pfn;

	if (!a || r->awaits_mm != mm)
		return;
	pfn = moca_frame_lockless(mm, a->addr);
	/*
	 * The kernel tries the fault again, after reading from a disk, say; or
	 * the zero page was read, and memory of its own comes with a write.
	 */
	if (!pfn || is_zero_pfn(pfn))
		return;
	r->awaits = NULL;
	if (s->sees_frames)
		a->pfn = pfn;
	a->node = moca_frame_node(pfn);
}
