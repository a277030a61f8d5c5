/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rings of chunks, one per CPU and the monitor's. A ring is written by one side at
 * a time without a lock: by its CPU with interrupts off (and what an interrupt
 * of that CPU does to it, moca_ring_cut, is then kept away), or, the monitor's,
 * by who holds the session's lock.
 */
#ifndef MOCA_KMOD_RING_H
#define MOCA_KMOD_RING_H

#include <linux/mm.h>
#include <linux/types.h>
#include <uapi/moca.h>

struct vm_area_struct;

struct moca_ring {
	void *mem;			/* control pages, then chunks */
	struct moca_ring_user *user;	/* hostile: read once, checked */
	struct moca_ring_kernel *kernel;
	u32 chunk_bytes, chunks;
	u32 cpu;

	struct moca_chunk_head *open;	/* NULL: none */
	u32 used;			/* bytes of it */
	u64 head;			/* chunks begun */
	u64 cut;			/* chunks of intervals that ended */
	u64 published;			/* chunks that user space was given */
	u64 lost;			/* records, since the last chunk was begun */
	u64 interval, begin_ns;		/* that new chunks are of */

	/* Sums, written like the ring. */
	u64 all_lost, faults, false_faults;
	/* The last access: a fault that is tried again is no second one. */
	u64 last_page;
	u32 last_tid, last_interval;
	/* The last access, if its page was still to be made: frame.h. */
	struct moca_rec_access *awaits;
	struct mm_struct *awaits_mm;	/* compared only */
};

/* Bytes of a ring's mapping. */
static inline size_t moca_ring_bytes(u32 chunk_bytes, u32 chunks)
{
	return 2 * PAGE_SIZE + (size_t)chunk_bytes * chunks;
}

struct moca_ring *moca_ring_create(u32 cpu, u32 chunk_bytes, u32 chunks,
				   int node);
void moca_ring_destroy(struct moca_ring *r);

/*
 * Room for a record of bytes, at the end of what is there, with its header
 * filled in; NULL: none, and counted as lost.
 */
void *moca_ring_reserve(struct moca_ring *r, u16 type, size_t bytes, u32 tid,
			u64 now);

/* End the open chunk; what comes next is of another interval. */
void moca_ring_cut(struct moca_ring *r, u64 next_interval, u64 next_begin_ns);
/* Give user space what was cut. Under the session's lock. */
void moca_ring_publish(struct moca_ring *r, u64 end_ns);
/* Chunks that can still be begun. Any context; as of some moment. */
u32 moca_ring_room(const struct moca_ring *r);
/* The n-th chunk. */
static inline struct moca_chunk_head *moca_ring_chunk(const struct moca_ring *r,
						      u64 n)
{
	return r->mem + 2 * PAGE_SIZE + (n & (r->chunks - 1)) * r->chunk_bytes;
}

/* Map the part of r that offset (from its begin) says into vma. 0 or -errno. */
int moca_ring_mmap(struct moca_ring *r, struct vm_area_struct *vma,
		   unsigned long offset);

#endif
