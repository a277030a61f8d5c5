// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/clone3.h"

#include <linux/sched.h>
#include <stddef.h>
#include <sys/uio.h>

#include "collect/ptrace/child-tid.h"
#include "collect/ptrace/tracee.h"
#include "collect/ptrace/way.h"

#define MAGIC 0x336e6f6c6361636full
#define RED_ZONE 128
#define BEFORE offsetof(struct changed, args)

/* What lies in the stub, or below the stack. */
struct changed {
	uint64_t magic;
	uint64_t was;		/* the register, and where it points now */
	uint64_t points;
	uint64_t away;		/* flags */
	struct clone_args args;
	char later[128];	/* what kernels may add */
};

_Static_assert(sizeof(struct changed) <= STUB_ARGS_BYTES, "its place");
_Static_assert(sizeof(((struct space *)0)->clones) ==
		       STUB_ARGS_MAX * sizeof(pid_t), "places");

/*
 * Where t's arguments go: where all others of the process's are under way, below
 * its stack, where a coroutine's stack may have no room.
 */
static uint64_t place(const struct recorder *rec, struct task *t, uint64_t sp)
{
	const struct trace_way *way = rec->way->traced;

	if (t->space && way->forks_share && way->forks_share(t->space))
		for (int i = 0; i < STUB_ARGS_MAX; i++) {
			if (t->space->clones[i])
				continue;
			t->space->clones[i] = t->tid;
			return STUB_DATA + STUB_ARGS + i * STUB_ARGS_BYTES;
		}
	return (sp - RED_ZONE - sizeof(struct changed)) & -16ull;
}

void clone3_made(struct task *t)
{
	for (int i = 0; t->space && i < STUB_ARGS_MAX; i++)
		if (t->space->clones[i] == t->tid)
			t->space->clones[i] = 0;
}

int clone3_change(const struct recorder *rec, struct task *t,
		  struct tracee_regs *regs)
{
	struct changed c = { .magic = MAGIC, .was = regs->reg_a0 };
	struct iovec ours = { &c, 0 }, theirs;
	uint64_t size = regs->reg_a1, at;

	if (size < CLONE_ARGS_SIZE_VER0 || size > sizeof(c) - BEFORE ||
	    tracee_read(t->tid, regs->reg_a0, &c.args, size) != (ssize_t)size)
		return 0;
	c.away = (c.args.flags & CLONE_UNTRACED) |
		 child_tid_takes(rec, t, c.args.flags);
	if (!c.away)
		return 0;
	c.args.flags &= ~c.away;
	at = place(rec, t, regs->reg_sp);
	c.points = at + BEFORE;
	ours.iov_len = BEFORE + size;
	theirs = (struct iovec){ (void *)at, ours.iov_len };
	if (process_vm_writev(t->tid, &ours, 1, &theirs, 1, 0) !=
	    (ssize_t)ours.iov_len) {
		clone3_made(t);
		return 0;
	}
	t->clone_tid = c.away & CLONE_CHILD_SETTID ? c.args.child_tid : 0;
	regs->reg_a0 = c.points;
	return 1;
}

int clone3_restore(pid_t tid, struct tracee_regs *regs, uint64_t *child_tid)
{
	struct changed c;

	if (tracee_read(tid, regs->reg_a0 - BEFORE, &c,
			BEFORE + CLONE_ARGS_SIZE_VER0) !=
		    (ssize_t)(BEFORE + CLONE_ARGS_SIZE_VER0) ||
	    c.magic != MAGIC || c.points != regs->reg_a0)
		return 0;
	*child_tid = c.away & CLONE_CHILD_SETTID ? c.args.child_tid : 0;
	regs_restore_a0(regs, c.was);
	return 1;
}
