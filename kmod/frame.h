/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The frame of a first touch. Its fault is recorded before the kernel has found
 * a page for it; the same CPU looks back when it records its next fault, and
 * before memory of the address space goes. The monitor's sweep finds what
 * neither does: the last record of a CPU that sees no more faults.
 */
#ifndef MOCA_KMOD_FRAME_H
#define MOCA_KMOD_FRAME_H

#include <linux/types.h>

struct mm_struct;
struct moca_rec_access;
struct moca_ring;
struct moca_session;

/* The node that a frame is on; -1: frame 0 (none), or no memory. */
int moca_frame_node(u64 pfn);

/* rec, the last of r, has no frame yet: its page will be of mm. */
void moca_frame_await(struct moca_ring *r, struct moca_rec_access *rec,
		      struct mm_struct *mm);

/*
 * Fill in the record of r that waits, if its page is of mm and is there by now.
 * Interrupts are off, r is this CPU's, and the tables of mm do not end: it is
 * current's, or nobody uses it any more and current takes it down.
 */
void moca_frame_fill(struct moca_session *s, struct moca_ring *r,
		     const struct mm_struct *mm);

#endif
