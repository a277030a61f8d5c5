// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/clone3.h"

#include <linux/sched.h>
#include <stddef.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "collect/ptrace/child-tid.h"
#include "collect/ptrace/tracee.h"

#define MAGIC 0x336e6f6c6361636full
#define RED_ZONE 128
#define BEFORE offsetof(struct changed, args)

/* What lies below the stack. */
struct changed {
	uint64_t magic;
	uint64_t was;		/* the register, and where it points now */
	uint64_t points;
	uint64_t away;		/* flags */
	struct clone_args args;
	char later[128];	/* what kernels may add */
};

int clone3_change(const struct recorder *rec, const struct task *t,
		  struct user_regs_struct *regs)
{
	struct changed c = { .magic = MAGIC, .was = regs->rdi };
	struct iovec ours = { &c, 0 }, theirs;
	uint64_t size = regs->rsi, at;

	if (size < CLONE_ARGS_SIZE_VER0 || size > sizeof(c) - BEFORE ||
	    tracee_read(t->tid, regs->rdi, &c.args, size) != (ssize_t)size)
		return 0;
	c.away = (c.args.flags & CLONE_UNTRACED) |
		 child_tid_takes(rec, t, c.args.flags);
	if (!c.away)
		return 0;
	c.args.flags &= ~c.away;
	at = (regs->rsp - RED_ZONE - sizeof(c)) & -16ull;
	c.points = at + BEFORE;
	ours.iov_len = BEFORE + size;
	theirs = (struct iovec){ (void *)at, ours.iov_len };
	if (process_vm_writev(t->tid, &ours, 1, &theirs, 1, 0) !=
	    (ssize_t)ours.iov_len)
		return 0;
	regs->rdi = c.points;
	return 1;
}

int clone3_restore(pid_t tid, struct user_regs_struct *regs,
		   uint64_t *child_tid)
{
	struct changed c;

	if (tracee_read(tid, regs->rdi - BEFORE, &c,
			BEFORE + CLONE_ARGS_SIZE_VER0) !=
		    (ssize_t)(BEFORE + CLONE_ARGS_SIZE_VER0) ||
	    c.magic != MAGIC || c.points != regs->rdi)
		return 0;
	*child_tid = c.away & CLONE_CHILD_SETTID ? c.args.child_tid : 0;
	regs->rdi = c.was;
	return 1;
}
