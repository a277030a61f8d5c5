// SPDX-License-Identifier: GPL-2.0-or-later
/* mremap of memory on the memfd: its pages keep their offsets, where they can. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/fault/data-limit.h"
#include "collect/fault/mapcall-ctx.h"
#include "collect/fault/mm.h"
#include "collect/fault/shared.h"
#include "collect/fault/witness.h"
#include "collect/ptrace/maps.h"
#include "collect/ptrace/quiesce.h"
#include "lib/base/err.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* Protection of the mapping at addr. */
static int prot_at(struct ctx *x, uint64_t addr)
{
	struct vma_list l;
	int prot = PROT_READ | PROT_WRITE;

	if (maps_read(x->task->tid, &l))
		return prot;
	for (size_t i = 0; i < l.count; i++)
		if (l.items[i].start <= addr && addr < l.items[i].end)
			prot = l.items[i].prot;
	maps_free(&l);
	return prot;
}

/*
 * Give [start, end) one stretch of offsets of its own, with `room` bytes free
 * from its start, so that the kernel sees one mapping that can grow. For
 * mremap over what were several mappings.
 */
static int relocate(struct ctx *x, uint64_t start, uint64_t end,
		    uint64_t room)
{
	int prot = prot_at(x, start);
	unsigned int plane = x->mm->plane + 1;
	uint64_t pos = start, off, len = end - start;
	struct region r, whole;
	char *buf;
	long ret;
	int err = 0;

	while (plane < MEMFD_PLANES &&
	       moca_regions_uses(&x->mm->regions, plane_offset(plane, start),
				 room > len ? room : len))
		plane++;
	off = plane_offset(plane, start);
	buf = malloc(1 << 20);
	if (!buf)
		return -ENOMEM;
	while (!err && moca_regions_next(&x->mm->regions, &pos, end, &r)) {
		uint64_t from = r.off, to = off + (r.start - start);
		uint64_t left = r.end - r.start;

		while (left && !err) {
			off_t data = lseek(x->mm->memfd, from, SEEK_DATA);
			ssize_t n = left > 1 << 20 ? 1 << 20 : left;

			if (data < 0 || (uint64_t)data >= from + left)
				break;
			to += data - from;
			left -= data - from;
			from = data;
			if ((uint64_t)n > left)
				n = left;
			if (pread(x->mm->memfd, buf, n, from) != n ||
			    pwrite(x->mm->memfd, buf, n, to) != n)
				err = -EIO;
			from += n;
			to += n;
			left -= n;
		}
	}
	free(buf);
	if (err)
		return err;
	ret = tracee_call(&x->c, &err, SYS_mmap, start, len, prot,
			  MAP_SHARED | MAP_FIXED, x->mm->remote_fd, off);
	if (err || failed(ret))
		return err ? err : (int)ret;
	whole = (struct region){
		start, end, off, REGION_MEMFD,
		moca_regions_find(&x->mm->regions, start)->flags, NULL,
	};
	mm_drop(x->rec, x->mm, NULL, start, end, MM_GONE);
	err = moca_regions_add(&x->mm->regions, &whole);
	x->mm->moved++;
	mm_register(x->mm, start, end);
	mm_prefill(x->rec, x->mm, start, end);
	return err;
}

/* After mremap moved or grew [old, old + old_len), which was region r. */
static void remapped(struct ctx *x, const struct region *r, uint64_t old_len,
		     uint64_t new_len)
{
	uint64_t old = x->a[0], new = x->ret;
	struct region moved = *r;

	if (new != old)
		mm_drop(x->rec, x->mm, x->task, new, new + new_len, MM_GONE);
	if (r->kind == REGION_MEMFD && new != old) {
		/* The pages go along: nothing may be punched. */
		struct message *m = message_new(x->rec->queue, MSG_DROP, 0, NULL);

		if (m) {
			m->space = &x->mm->space;
			m->start = old;
			m->end = old + old_len;
			m->certified = 1;
			mm_placed(x->mm, r, old_len, m);
			queue_push(x->rec->queue, m);
		}
	}
	moca_regions_remove(&x->mm->regions, old, old + old_len);
	moved.start = new;
	moved.end = new + new_len;
	if (moca_regions_add(&x->mm->regions, &moved))
		moca_warn("out of memory for the table of mappings");
	if (mm_is_moved(x->mm, r) && x->mm->moved)
		x->mm->moved--;
	if (mm_is_moved(x->mm, &moved))
		x->mm->moved++;
	if (r->kind != REGION_UNSEEN)
		mm_register(x->mm, new, new + new_len);
	if (r->kind == REGION_MEMFD)
		mm_prefill_mapped(x->rec, x->mm, new,
				  new + (old_len < new_len ? old_len : new_len));
	if (r->kind == REGION_MEMFD)
		task_event(x->rec, x->task, MOCA_CHANGE_MMAP, new, new_len, 0,
			   PROT_READ | PROT_WRITE,
			   MOCA_MAP_MOVED | mm_map_flags(r), "");
	else
		shared_moved(x->rec, x->task, r, new, new_len);
}

/*
 * Frozen memory that mremap is to move or to grow: behind it in the memfd may
 * be what is another's, so it becomes the process's own before. 0, -ESRCH, or
 * another error, of which the program is told.
 */
static int thaw_for_mremap(struct ctx *x, uint64_t start, uint64_t end)
{
	struct region r;
	int frozen = 0, err;

	for (uint64_t pos = start;
	     moca_regions_next(&x->mm->regions, &pos, end, &r);)
		frozen |= r.kind == REGION_FROZEN;
	if (!frozen)
		return 0;
	quiesce(&x->mm->space, x->task);
	x->quiesced = 1;
	err = freeze_thaw_range(x->rec, x->mm, &x->c, start, end);
	if (err && err != -ESRCH)
		x->ret = -ENOMEM;
	return err;
}

int mapcall_mremap(struct ctx *x)
{
	uint64_t old = x->a[0], old_len = PAGE_UP(x->a[1]);
	uint64_t new_len = PAGE_UP(x->a[2]), flags = x->a[3];
	const struct region *found;
	struct region r;
	int err;

	if (new_len > old_len && data_limit_grown(x, old, new_len - old_len)) {
		x->ret = -ENOMEM;
		return 0;
	}
	err = thaw_for_mremap(x, old, old + old_len);
	if (err)
		return err == -ESRCH ? err : 0;
	found = moca_regions_find(&x->mm->regions, old);
	if (!found)
		return run_own(x);
	r = *found;
	witness_range(x->rec, x->mm, x->task, old, old + old_len);
	if (r.kind == REGION_MEMFD && !old_len) {
		x->ret = -EINVAL;	/* as for private memory */
		return 0;
	}
	/* Several of our mappings, or offsets behind that are another's. */
	if (r.kind == REGION_MEMFD &&
	    (r.end < old + old_len ||
	     (new_len > old_len &&
	      (r.end > old + old_len || x->mm->moved ||
	       r.off >> 47 != x->mm->plane ||
	       r.off + (r.end - r.start) + new_len - old_len >
		       plane_offset((r.off >> 47) + 1, 0))))) {
		err = relocate(x, old, old + old_len, new_len);
		if (err == -ESRCH)
			return err;
		found = moca_regions_find(&x->mm->regions, old);
		r = *found;
	} else if (r.kind == REGION_MEMFD && new_len > old_len) {
		uint64_t at = r.off + (old - r.start) + old_len;

		/* In place of the grown part another mapping may live. */
		if (moca_regions_uses(&x->mm->regions, at, new_len - old_len)) {
			err = relocate(x, old, old + old_len, new_len);
			if (err == -ESRCH)
				return err;
			r = *moca_regions_find(&x->mm->regions, old);
		}
	}
	if (r.start < old) {
		if (r.kind == REGION_MEMFD)
			r.off += old - r.start;
		r.start = old;
	}
	if (flags & MREMAP_FIXED)
		look(x, x->a[4], x->a[4] + new_len);
	err = run_own(x);
	if (err || failed(x->ret))
		return err;
	if (new_len < old_len && (uint64_t)x->ret == old) {
		mm_drop(x->rec, x->mm, x->task, old + new_len, old + old_len, MM_GONE);
		return 0;
	}
	if (new_len < old_len)
		mm_drop(x->rec, x->mm, x->task, old + new_len, old + old_len, MM_GONE);
	remapped(x, &r, new_len < old_len ? new_len : old_len, new_len);
	if ((flags & MREMAP_DONTUNMAP) && r.kind == REGION_MEMFD)
		/* The old range stays mapped, and reads as zeroes. */
		return mm_move(x->rec, x->mm, &x->c, old, old + old_len,
			       prot_at(x, x->ret), 0, "");
	return 0;
}
