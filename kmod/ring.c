// SPDX-License-Identifier: GPL-2.0-only
#include "ring.h"

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "map-pages.h"

struct moca_ring *moca_ring_create(u32 cpu, u32 chunk_bytes, u32 chunks,
				   int node)
{
	struct moca_ring *r = kzalloc_node(sizeof(*r), GFP_KERNEL_ACCOUNT, node);

	if (!r)
		return NULL;
	r->mem = moca_pages_new(moca_ring_bytes(chunk_bytes, chunks), true);
	if (!r->mem) {
		kfree(r);
		return NULL;
	}
	r->user = r->mem;
	r->kernel = r->mem + PAGE_SIZE;
	r->kernel->chunk_bytes = r->chunk_bytes = chunk_bytes;
	r->kernel->ring_chunks = r->chunks = chunks;
	r->kernel->cpu = r->cpu = cpu;
	return r;
}

void moca_ring_destroy(struct moca_ring *r)
{
	if (!r)
		return;
	vfree(r->mem);
	kfree(r);
}

u32 moca_ring_room(const struct moca_ring *r)
{
	/* Pairs with the release of user space: it has read the chunks before. */
	u64 consumed = smp_load_acquire(&r->user->consumed);
	u64 head = READ_ONCE(r->head);
	u64 held = head - consumed;

	/* A lie can only make the ring look full, or waste what it protects. */
	if (consumed > READ_ONCE(r->published) || held > r->chunks)
		return 0;
	return r->chunks - held;
}

static bool begin_chunk(struct moca_ring *r)
{
	struct moca_chunk_head *h;

	if (!moca_ring_room(r))
		return false;
	h = moca_ring_chunk(r, r->head);
	*h = (struct moca_chunk_head){
		.cpu = r->cpu, .interval = r->interval,
		.begin_ns = r->begin_ns, .lost = r->lost,
	};
	r->lost = 0;
	r->open = h;
	r->used = sizeof(*h);
	WRITE_ONCE(r->head, r->head + 1);
	return true;
}

static void end_chunk(struct moca_ring *r)
{
	if (!r->open)
		return;
	r->open->bytes = r->used;
	r->open = NULL;
}

void *moca_ring_reserve(struct moca_ring *r, u16 type, size_t bytes, u32 tid,
			u64 now)
{
	struct moca_rec *rec;

	bytes = ALIGN(bytes, 8);
	if (r->open && r->used + bytes > r->chunk_bytes)
		end_chunk(r);
	if (bytes > r->chunk_bytes - sizeof(struct moca_chunk_head) ||
	    (!r->open && !begin_chunk(r))) {
		r->lost++;
		r->all_lost++;
		return NULL;
	}
	rec = (void *)r->open + r->used;
	r->used += bytes;
	*rec = (struct moca_rec){
		.type = type, .bytes = bytes, .tid = tid, .time_ns = now,
	};
	return rec;
}

void moca_ring_cut(struct moca_ring *r, u64 next_interval, u64 next_begin_ns)
{
	end_chunk(r);
	/* Pairs with the acquire in moca_ring_publish and the monitor's. */
	smp_store_release(&r->cut, r->head);
	r->awaits = NULL;	/* the monitor's now */
	r->interval = next_interval;
	r->begin_ns = next_begin_ns;
}

void moca_ring_publish(struct moca_ring *r, u64 end_ns)
{
	/* Pairs with the release in moca_ring_cut. */
	u64 cut = smp_load_acquire(&r->cut);

	for (u64 n = r->published; n != cut; n++)
		moca_ring_chunk(r, n)->end_ns = end_ns;
	WRITE_ONCE(r->published, cut);
	/* Pairs with the acquire of user space: chunks are complete. */
	smp_store_release(&r->kernel->produced, cut);
}

int moca_ring_mmap(struct moca_ring *r, struct vm_area_struct *vma,
		   unsigned long offset)
{
	unsigned long len = vma->vm_end - vma->vm_start;
	size_t all = moca_ring_bytes(r->chunk_bytes, r->chunks);

	if (offset > all || len > all - offset || offset & ~PAGE_MASK)
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	/* Only the first page is user space's to write. */
	if (offset || len != PAGE_SIZE) {
		if (vma->vm_flags & VM_WRITE)
			return -EPERM;
		moca_map_readonly(vma);
	}
	return moca_map_pages(vma, r->mem, all >> PAGE_SHIFT,
			      offset >> PAGE_SHIFT);
}
