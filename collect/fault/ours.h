/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of our own in the program: libmoca-alloc, libmocatrace, their buffers.
 * It is left alone: to look at it in each interval would cost faults, and
 * tell nothing of the program.
 */
#ifndef MOCA_FAULT_OURS_H
#define MOCA_FAULT_OURS_H

#include "collect/fault/memory.h"
#include "collect/ptrace/maps.h"

/* Is that mapping of process pid one of a file or memory of ours? */
int ours_is(pid_t pid, const struct vma *v);
/*
 * One of our libraries was mapped at [start, end): the loader's first mapping
 * is as long as all of it, and the others come on top of it.
 */
void ours_add(struct mm *mm, uint64_t start, uint64_t end);
/* Does all of [start, end) lie in memory of ours? */
int ours_holds(const struct mm *mm, uint64_t start, uint64_t end);
/* [start, end) is unmapped, or is something else from now on. */
void ours_remove(struct mm *mm, uint64_t start, uint64_t end);

#endif
