// SPDX-License-Identifier: GPL-2.0-or-later
/* madvise: what it empties, and advice that lasts. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "collect/fault/filecopy.h"
#include "collect/fault/mapcall-ctx.h"
#include "collect/fault/mm.h"
#include "collect/fault/witness.h"

#define MADV_COLLAPSE_NR 25
#define MADV_DONTNEED_LOCKED_NR 24
#define MADV_GUARD_INSTALL_NR 102
/* Bytes of a huge page. */
#define HUGE_SIZE (2ull << 20)
#define HUGE_UP(x) (((x) + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1))

int mapcall_on_memfd(const struct mm *mm, uint64_t start, uint64_t end)
{
	struct region r;

	while (moca_regions_next(&mm->regions, &start, end, &r))
		if (r.kind == REGION_MEMFD || r.kind == REGION_FROZEN)
			return 1;
	return 0;
}

/* Is each piece of [start, end) a region of that kind, without a hole? */
static int all_are(const struct mm *mm, uint64_t start, uint64_t end,
		   int (*kind)(const struct region *))
{
	struct region r;

	while (start < end) {
		uint64_t at = start;

		if (!moca_regions_next(&mm->regions, &start, end, &r) ||
		    r.start != at || !kind(&r))
			return 0;
	}
	return 1;
}

/* On the memfd, and no copy of a file. */
static int is_memory(const struct region *r)
{
	return r->kind == REGION_MEMFD && !(r->flags & REGION_FILE_COPY);
}

/* Is any of it a file's copy that is the program's own again? */
static int has_own_copy(const struct mm *mm, uint64_t start, uint64_t end)
{
	struct region r;

	while (moca_regions_next(&mm->regions, &start, end, &r))
		if (filecopy_is_own(&r))
			return 1;
	return 0;
}

static int do_discard(struct ctx *x, uint64_t start, uint64_t end)
{
	int err;

	if (!filecopy_can_refill(x->mm, start, end)) {
		/* The file's own pages cannot be shown: keep what is there. */
		x->ret = -ENOMEM;
		return 0;
	}
	if (start & ~PAGE_MASK)
		return run_own(x); /* an error */
	err = freeze_empty(x->rec, x->mm, &x->c, start, end);
	if (err == -ESRCH)
		return err;
	if (err) {
		x->ret = -ENOMEM;
		return 0;
	}
	/*
	 * Giving the pages back is all that the call would do, but for locked memory,
	 * where it is an error; who is attached to may have locked some before.
	 */
	if (x->a[2] == MADV_DONTNEED && !x->mm->locked && !x->rec->attach &&
	    all_are(x->mm, start, end, is_memory))
		x->ret = 0;
	else
		err = run_own(x);
	/* Where it is sealed the kernel empties a file's pages, and no copy's. */
	if (!err && x->ret == -EPERM &&
	    all_are(x->mm, start, end, filecopy_is_own))
		x->ret = 0;
	/* ENOMEM: some of it was unmapped, the rest was done. */
	if (err || (failed(x->ret) && x->ret != -ENOMEM))
		return err;
	mm_drop(x->rec, x->mm, x->task, start, end, MM_EMPTIED);
	err = filecopy_refill(x->mm, x->task->tid, start, end);
	if (!err)
		mm_prefill(x->rec, x->mm, start, end);
	if (!err && has_own_copy(x->mm, start, end))
		witness_filled(x->rec, x->mm, x->task, start, end);
	return err;
}

/*
 * Would the kernel refuse to collapse [start, end) of anonymous memory? It does so
 * where the mapping at start has room for no huge page, or both ends lie inside
 * the same one.
 */
static int collapse_refused(const struct ctx *x, uint64_t start, uint64_t end)
{
	struct vma v;

	if (start & ~PAGE_MASK || start >= end ||
	    maps_find(x->task->tid, start, &v))
		return 0;	/* the call will be, or is of no bytes */
	free(v.name);
	if (end > v.end)
		end = v.end;
	return HUGE_UP(v.start) + HUGE_SIZE > v.end ||
	       (end & ~(HUGE_SIZE - 1)) < HUGE_UP(start);
}

/* Advice that lasts, and has to be given again where memory is mapped anew. */
static int do_lasting_advice(struct ctx *x, uint64_t start, uint64_t end,
			     uint32_t set, uint32_t clear)
{
	int err = run_own(x);

	if (!err && !failed(x->ret))
		err = moca_regions_flag(&x->mm->regions, start, end, set,
					clear);
	return err;
}

int mapcall_madvise_concerns(const struct ctx *x)
{
	uint64_t start = x->a[0], end = start + PAGE_UP(x->a[1]);

	return mapcall_on_memfd(x->mm, start, end) ||
	       has_own_copy(x->mm, start, end);
}

/* Does the advice empty pages? */
static int discards(int advice)
{
	return advice == MADV_FREE || advice == MADV_DONTNEED ||
	       advice == MADV_DONTNEED_LOCKED_NR ||
	       advice == MADV_GUARD_INSTALL_NR;
}

int mapcall_madvise(struct ctx *x)
{
	uint64_t start = x->a[0], end = start + PAGE_UP(x->a[1]);
	int advice = x->a[2], err;

	/* Where nothing is on the memfd, the recorder is needed to empty copies of files. */
	if (!mapcall_on_memfd(x->mm, start, end) && !discards(advice))
		return run_own(x);
	/* As of a file's pages before Linux 6.15; what lies behind could not be filled. */
	if (advice == MADV_GUARD_INSTALL_NR && has_own_copy(x->mm, start, end)) {
		x->ret = -EINVAL;
		return 0;
	}
	switch (advice) {
	case MADV_FREE:
		x->a[2] = MADV_DONTNEED;
		/* fall through */
	case MADV_DONTNEED:
	case MADV_GUARD_INSTALL_NR:
	case MADV_DONTNEED_LOCKED_NR:
		return do_discard(x, start, end);
	case MADV_WIPEONFORK:
	case MADV_KEEPONFORK:
		x->a[2] = MADV_NORMAL;
		return do_lasting_advice(
			x, start, end,
			advice == MADV_WIPEONFORK ? REGION_WIPEONFORK : 0,
			advice == MADV_KEEPONFORK ? REGION_WIPEONFORK : 0);
	case MADV_DONTFORK:
		return do_lasting_advice(x, start, end, REGION_DONTFORK, 0);
	case MADV_DOFORK:
		return do_lasting_advice(x, start, end, 0, REGION_DONTFORK);
	case MADV_DONTDUMP:
		return do_lasting_advice(x, start, end, REGION_DONTDUMP, 0);
	case MADV_DODUMP:
		return do_lasting_advice(x, start, end, 0, REGION_DONTDUMP);
	case 100: /* MADV_HWPOISON */
	case 101: /* MADV_SOFT_OFFLINE */
		err = run_own(x);
		/* The kernel fetched the pages; the program touched none. */
		mm_prefill(x->rec, x->mm, start, end);
		return err;
	case MADV_REMOVE:
		x->ret = -EINVAL; /* as for private memory */
		return 0;
	case MADV_COLLAPSE_NR:
		if (collapse_refused(x, start, end)) {
			x->ret = -EINVAL;
			return 0;
		}
		x->a[2] = MADV_NORMAL;
		return run_own(x);
	case MADV_HUGEPAGE:
		/* Natively one fault takes 512 pages of it. */
		atomic_fetch_add(&x->rec->costs.huge_asked,
				 (end - start) / PAGE_SIZE);
		/* fall through */
	case 22: /* MADV_POPULATE_READ */
	case 23: /* MADV_POPULATE_WRITE */
		/* A wish about speed, which would blur or hide accesses. */
		x->a[2] = MADV_NORMAL;
		/* fall through */
	default:
		return run_own(x);
	}
}
