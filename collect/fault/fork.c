// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fork without exec: parent and child must not share what was private. The
 * child gets a memfd of its own with a copy, mapped over what it inherited.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collect/fault/filecopy.h"
#include "collect/fault/mm.h"
#include "lib/base/err.h"

/* Copy the existing pages of [from, from + len) to the child's memfd. */
static int copy_pages(int src, int dst, uint64_t from, uint64_t to,
		      uint64_t len)
{
	uint64_t pos = from, end = from + len;

	while (pos < end) {
		off_t data = lseek(src, pos, SEEK_DATA), hole;
		loff_t in, out;

		if (data < 0)
			return errno == ENXIO ? 0 : -errno;
		if ((uint64_t)data >= end)
			return 0;
		hole = lseek(src, data, SEEK_HOLE);
		if (hole < 0 || (uint64_t)hole > end)
			hole = end;
		in = data;
		out = to + (data - from);
		while (in < hole) {
			ssize_t n = copy_file_range(src, &in, dst, &out,
						    hole - in, 0);

			/* The collector's call for a zapper may come now. */
			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				return n ? -errno : -EIO;
		}
		pos = hole;
	}
	return 0;
}

struct fork_piece {
	struct vma *vma;
	struct region region;	/* in the child */
	uint64_t from;		/* offset in the parent's memfd */
};

/* What of the child's mappings comes from the parent's memfd. */
static size_t find_pieces(const struct mm *parent, struct vma_list *l,
			  struct fork_piece *out)
{
	size_t n = 0;

	for (size_t i = 0; i < l->count; i++) {
		struct vma *v = &l->items[i];

		if (v->ino != parent->memfd_ino ||
		    makedev(v->major, v->minor) != parent->memfd_dev ||
		    v->offset >= MEMFD_STUB)
			continue;
		out[n].vma = v;
		out[n].from = v->offset;
		out[n].region = (struct region){
			.start = v->start, .end = v->end,
			.off = plane_offset(0, v->start),
			.kind = REGION_MEMFD,	/* flags: adopt_pieces */
		};
		n++;
	}
	return n;
}

/*
 * Contents of one VMA of the child. A VMA may span regions that differ in
 * flags only; those that are wiped on fork stay holes.
 */
static int copy_piece(const struct mm *parent, const struct mm *child,
		      const struct fork_piece *p)
{
	uint64_t pos = p->region.start;
	struct region r;
	int ret;

	while (moca_regions_next(&parent->regions, &pos, p->region.end, &r)) {
		uint64_t skip = r.start - p->region.start;

		if (r.kind != REGION_MEMFD || (r.flags & REGION_WIPEONFORK))
			continue;
		ret = copy_pages(parent->memfd, child->memfd, p->from + skip,
				 p->region.off + skip, r.end - r.start);
		if (ret)
			return ret;
	}
	return 0;
}

static int map_pieces(struct mm *mm, struct tracee_calls *c,
		      const struct fork_piece *p, size_t n)
{
	size_t done = 0;

	while (done < n) {
		unsigned int k = 0, want;
		int ret;

		for (; k < STUB_CALLS_MAX && done + k < n; k++) {
			const struct region *r = &p[done + k].region;

			mm->stub->calls[k] = (struct stub_call){
				.nr = SYS_mmap, .flags = STUB_CALL_MUST,
				.args = { r->start, r->end - r->start,
					  p[done + k].vma->prot,
					  MAP_SHARED | MAP_FIXED,
					  mm->remote_fd, r->off },
			};
		}
		want = k;
		ret = tracee_list(c, want);
		if (ret < 0)
			return ret;
		if ((unsigned int)ret != want ||
		    mm->stub->calls[want - 1].ret < 0)
			return -ENOMEM;
		done += want;
	}
	return 0;
}

static void adopt_pieces(struct recorder *rec, struct mm *parent,
			 struct mm *mm, struct task *t,
			 const struct fork_piece *p, size_t n)
{
	struct region r;
	uint64_t pos = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t at = p[i].region.start;

		if (moca_regions_add(&mm->regions, &p[i].region))
			moca_warn("out of memory for the table of mappings");
		while (moca_regions_next(&parent->regions, &at,
					 p[i].region.end, &r))
			if (r.flags)
				moca_regions_flag(&mm->regions, r.start, r.end,
						  r.flags, 0);
		mm_register(mm, p[i].region.start, p[i].region.end);
		mm_prefill(rec, mm, p[i].region.start, p[i].region.end);
	}
	while (moca_regions_next(&parent->regions, &pos, USER_END, &r)) {
		if (r.kind == REGION_MEMFD)
			continue;
		if (moca_regions_add(&mm->regions, &r))
			moca_warn("out of memory for the table of mappings");
		if (r.kind != REGION_STACK || rec->opt->stack)
			mm_register(mm, r.start, r.end);
	}
}

int mm_fork(struct recorder *rec, struct task *parent, struct task *child)
{
	struct mm *from = parent->mm, *mm = child->mm;
	struct fork_piece *pieces = NULL;
	struct user_regs_struct regs;
	struct tracee_calls c;
	struct vma_list l;
	size_t n;
	int ret;

	ret = filecopy_inherit(mm, from);
	if (ret)
		return ret;
	mm->brk = from->brk;
	mm->populates = 0;	/* as mlockall's effect: not inherited */
	mm->stack_start = from->stack_start;
	mm->stack_end = from->stack_end;
	memcpy(mm->ours, from->ours, sizeof(mm->ours));
	ret = maps_read(child->tid, &l);
	if (ret)
		return ret;
	pieces = calloc(l.count + 1, sizeof(*pieces));
	ret = pieces ? tracee_get_regs(child, &regs) : -ENOMEM;
	if (!ret)
		ret = tracee_begin(&c, child, &regs);
	if (ret)
		goto err_maps;
	ret = mm_setup_child(rec, from, mm, &c);
	if (ret)
		goto err_end;
	n = find_pieces(from, &l, pieces);
	for (size_t i = 0; i < n && !ret; i++)
		ret = copy_piece(from, mm, &pieces[i]);
	if (!ret)
		ret = map_pieces(mm, &c, pieces, n);
	if (ret)
		goto err_end;
	pthread_mutex_lock(&mm->lock);
	adopt_pieces(rec, from, mm, child, pieces, n);
	pthread_mutex_unlock(&mm->lock);
err_end:
	if (tracee_end(&c) && !ret)
		ret = -ESRCH;
err_maps:
	free(pieces);
	maps_free(&l);
	return ret;
}
