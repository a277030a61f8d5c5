// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mseal: sealed memory can never be mapped anew, so none of it may be on the memfd
 * then. A fork could not make it the child's own, and no end of the recording could
 * give it back.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/fault/mapcall-ctx.h"
#include "collect/fault/mm.h"
#include "collect/ptrace/limits.h"
#include "collect/ptrace/quiesce.h"
#include "lib/base/err.h"

/* Does the kernel that runs have it? A range of no bytes is sealed by nobody. */
static int is_there(void)
{
	return !syscall(SYS_mseal, 0, 0, 0);
}

/* Is all of [start, end) mapped? The kernel seals all of it, or nothing. */
static int all_mapped(pid_t tid, uint64_t start, uint64_t end)
{
	struct vma_list l;
	uint64_t pos = start;

	if (maps_read(tid, &l))
		return 1;
	for (size_t i = 0; i < l.count; i++)
		if (l.items[i].start <= pos && pos < l.items[i].end)
			pos = l.items[i].end;
	maps_free(&l);
	return pos >= end;
}

/* May the call in x seal [start, end)? If not, the kernel says why. */
static int may_seal(const struct ctx *x, uint64_t start, uint64_t end)
{
	return !(start & ~PAGE_MASK) && !x->a[2] && start < end &&
	       end <= USER_END && is_there() &&
	       all_mapped(x->task->tid, start, end);
}

/*
 * All tasks stand still. Has one of them a child that is not known yet? It still
 * sees the memfd, which would be emptied under it.
 */
static int has_new_child(const struct ctx *x)
{
	return quiesced(&x->mm->space, x->task) &&
	       !quiesced_settled(&x->mm->space, x->task);
}

int mapcall_mseal(struct ctx *x)
{
	uint64_t start = x->a[0], end = start + PAGE_UP(x->a[1]);
	struct limits limits;
	int err;

	/* An munmap may fail from now on. */
	x->mm->busy = 1;
	if (!mapcall_on_memfd(x->mm, start, end) || !may_seal(x, start, end))
		return run_own(x);
	if (!x->quiesced)
		quiesce(&x->mm->space, x->task);
	x->quiesced = 1;
	if (has_new_child(x)) {
		/* The call is made again, when the child has its own memory. */
		regs_rewind(&x->c.saved, x->nr);
		x->ret = x->c.saved.reg_ret;
		return 0;
	}
	/* Private memory counts for RLIMIT_DATA, as it did before it was moved. */
	limits_raise(&limits, x->task->tid);
	err = mm_unmove_range(x->rec, x->mm, &x->c, start, end,
			      x->mm->wp_async ?
			      "sealed memory (mseal): first touches and writes "
			      "are seen, repeated reads are not" :
			      "sealed memory (mseal): first touches are seen, "
			      "repeated accesses are not");
	limits_restore(&limits);
	if (!err)
		return run_own(x);
	if (err == -ESRCH)
		return err;
	/* Sealed on the memfd, it could never be the program's own again. */
	moca_warn("cannot make %lu KiB of the memory of process %d its own before it "
		  "seals them: %s; its mseal fails (ENOMEM), and they are not sealed. "
		  "Less memory was free, or allowed (RLIMIT_DATA), than it needs "
		  "while it is recorded",
		  (end - start) >> 10, x->mm->space.pid, strerror(-err));
	x->ret = -ENOMEM;
	return 0;
}
