// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/stub-call.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "collect/fault/mm.h"
#include "collect/fault/zap.h"
#include "collect/ptrace/vdso.h"

static int meets(uint64_t start, uint64_t len)
{
	return start < STUB_BASE + STUB_SIZE &&
	       len > (start < STUB_BASE ? STUB_BASE - start : 0);
}

int stub_call_meets(const struct ctx *x)
{
	switch (x->nr) {
	case SYS_mmap:
		return x->a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE) &&
		       meets(x->a[0], x->a[1]);
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_madvise:
		return meets(x->a[0], x->a[1]);
	case SYS_mremap:
		return meets(x->a[0], x->a[1] ? x->a[1] : 1) ||
		       (x->a[3] & MREMAP_FIXED && meets(x->a[4], x->a[2]));
	case SYS_shmat:
		return meets(x->a[1], 1);
	default:
		return 0;
	}
}

int stub_remove(struct tracee_calls *c)
{
	const uint64_t stub[6] = { STUB_BASE, STUB_SIZE };
	uint64_t insn = vdso_syscall(c->task->tid);
	struct tracee_regs regs;
	long ret;
	int err = insn ? tracee_get_regs(c->task, &regs) : -ENOEXEC;

	/* From the filter's stop, where the stub is done, to the exit. */
	if (!err && c->task->filtered) {
		regs.reg_nr = -1;
		err = tracee_set_regs(c->task, &regs);
		if (!err)
			err = tracee_finish_call(c->task);
	}
	return err ? err : tracee_raw_call(c, insn, SYS_munmap, stub, &ret);
}

int stub_call_leave(struct ctx *x)
{
	int err;

	/* It runs there: see its end. */
	zap_end(x->mm);
	err = mapcall_leave(x, "the program uses addresses where Moca's own code "
			       "is: real faults only");
	if (err)
		return err;
	/* A stub that stays is in nobody's way: the memory is the program's own. */
	return stub_remove(&x->c) == -ESRCH ? -ESRCH : 0;
}
