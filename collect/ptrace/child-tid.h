/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CLONE_CHILD_SETTID: the kernel writes a new process's number into the child's
 * memory when the child first runs. That is before the child gets memory of its
 * own (mm_fork), so that the parent would find its child's number where its own
 * was: glibc's fork asks for it at the thread's tid, by which mutexes know their
 * owner. So the flag is taken from the call, and the number is written when the
 * child's memory is its own. So it is with clone3 (clone3.h).
 *
 * The flags taken away wait in the upper half of the register, which clone(2)
 * ignores: the child has a copy, also when its parent dies unheard. On arm64 the
 * maker's task has the place (clone_tid); a child whose maker is unknown as the parent
 * died unheard, and one with a stack of its own then, gets no number.
 * Supervisor thread only.
 */
#ifndef MOCA_PTRACE_CHILD_TID_H
#define MOCA_PTRACE_CHILD_TID_H

#include <linux/sched.h>

#include "collect/ptrace/task.h"

/* The flags of t's clone that child_tid_write() is to stand for, or 0. */
uint64_t child_tid_takes(const struct recorder *rec, const struct task *t,
			 uint64_t flags);

/* Where flags that are not to reach the kernel wait, and back. Of a call that
 * nobody changed, the upper half may hold anything. */
#define CLONE_FLAGS_AWAY ((uint64_t)CLONE_UNTRACED | CLONE_CHILD_SETTID)
static inline uint64_t child_tid_put_away(uint64_t flags, uint64_t away)
{
	return ((uint32_t)flags & ~away) | away << 32;
}

static inline uint64_t child_tid_restore(uint64_t flags)
{
	return flags >> 32 & ~CLONE_FLAGS_AWAY ? flags :
						 (uint32_t)flags | flags >> 32;
}

/* At the child's first stop, its registers as clone left them: note the place
 * of its number if we are to write it, and put its flags back. maker: who made it,
 * or the last task of its process, which was killed before its clone was heard of. */
void child_tid_begin(struct task *maker, struct task *child);

/* Write the number, where it is to go. Errors are ignored, as by the kernel. */
void child_tid_write(const struct task *child);

#endif
