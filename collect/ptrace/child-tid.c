// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/child-tid.h"

#include <sys/syscall.h>
#include <sys/uio.h>

#include "collect/ptrace/clone3.h"
#include "collect/ptrace/pidns.h"
#include "collect/ptrace/tracee.h"
#include "collect/ptrace/way.h"

uint64_t child_tid_takes(const struct recorder *rec, const struct task *t,
			 uint64_t flags)
{
	const struct trace_way *way = rec->way->traced;

	if (flags & CLONE_VM || !t->space || !way->forks_share ||
	    !way->forks_share(t->space))
		return 0;
	return flags & CLONE_CHILD_SETTID;
}

/*
 * On arm64 no register of the child has the place: the first argument's register holds
 * clone's result. The kernel's copy of that register is the first argument of the call
 * that made the child, which the stub makes with another one than the program's.
 */
static void take_from_maker(struct task *maker, struct task *child)
{
	struct tracee_regs regs;

	/* Its clone was not heard of: the child may be another thread's. */
	if (maker->clone_changed && (tracee_get_regs(child, &regs) ||
				     regs.reg_sp != maker->clone_sp))
		return;
	child->child_tid = maker->clone_tid;
	maker->clone_tid = 0;
}

void child_tid_begin(struct task *maker, struct task *child)
{
	struct tracee_regs regs;
	uint64_t flags;

	if (!MOCA_IS_X86)
		take_from_maker(maker, child);
	if (!MOCA_IS_X86 || child->gone || tracee_get_regs(child, &regs))
		return;
	if (regs.reg_nr == SYS_clone3 &&
	    clone3_restore(child->tid, &regs, &child->child_tid))
		tracee_set_regs(child, &regs);
	if (regs.reg_nr != SYS_clone)
		return;
	flags = child_tid_restore(regs.reg_a0);
	if (flags == regs.reg_a0)
		return;
	if (regs.reg_a0 >> 32 & CLONE_CHILD_SETTID)
		child->child_tid = regs.reg_child_tid;
	regs_restore_a0(&regs, flags);
	tracee_set_regs(child, &regs);
}

void child_tid_write(const struct task *child)
{
	struct iovec there = { (void *)child->child_tid, sizeof(pid_t) };
	pid_t number;
	struct iovec local = { &number, sizeof(number) };

	if (!child->child_tid)
		return;
	number = pidns_number(child->tid);
	process_vm_writev(child->tid, &local, 1, &there, 1, 0);
}
