// SPDX-License-Identifier: GPL-2.0-or-later
/* mlock and its relatives: Moca's own memory counts for no limit. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "collect/fault/mapcall-ctx.h"
#include "collect/fault/mm.h"
#include "collect/fault/ours.h"
#include "collect/fault/witness.h"

/*
 * The kernel refused mlockall: all mappings together are above the limit. Are
 * they so without those of our libraries? Else lock the others, as it would.
 */
static int lock_others(struct ctx *x)
{
	uint64_t flags = x->a[0], total = 0;
	struct rlimit limit;
	struct vma_list l;
	int err = 0;

	if (prlimit(x->task->tid, RLIMIT_MEMLOCK, NULL, &limit) ||
	    maps_read(x->task->tid, &l))
		return 0;
	for (size_t i = 0; i < l.count; i++) {
		struct vma *v = &l.items[i];

		if (ours_holds(x->mm, v->start, v->end) ||
		    ours_is(x->task->pid, v))
			v->end = v->start;
		total += v->end - v->start;
	}
	if (total <= limit.rlim_cur) {
		x->ret = 0;
		if (flags & MCL_FUTURE)
			x->ret = tracee_call(&x->c, &err, SYS_mlockall,
					     flags & ~(uint64_t)MCL_CURRENT, 0,
					     0, 0, 0, 0);
		/* As there: what cannot be filled is no error. */
		for (size_t i = 0; i < l.count && !err && !x->ret; i++)
			if (l.items[i].end > l.items[i].start)
				tracee_call(&x->c, &err, SYS_mlock2,
					    l.items[i].start,
					    l.items[i].end - l.items[i].start,
					    flags & MCL_ONFAULT ?
						    MLOCK_ONFAULT : 0, 0, 0, 0);
	}
	maps_free(&l);
	return err;
}

/* Locked memory is filled at once, without having been touched. */
int mapcall_mlock(struct ctx *x)
{
	int err = run_own(x), all = x->nr == SYS_mlockall;
	uint64_t start = all ? 0 : x->a[0] & PAGE_MASK, end;

	x->mm->locked = 1;
	if (!err && all && x->ret == -ENOMEM && x->a[0] & MCL_CURRENT)
		err = lock_others(x);
	if (err || failed(x->ret))
		return err;
	end = all ? USER_END : PAGE_UP(x->a[0] + x->a[1]);
	mm_prefill_mapped(x->rec, x->mm, start, end);
	witness_filled(x->rec, x->mm, x->task, start, end);
	if (all)
		x->mm->populates = (x->a[0] & MCL_FUTURE) != 0;
	return 0;
}
