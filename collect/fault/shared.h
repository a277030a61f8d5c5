/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that the program shares itself, and that has no path any more or never
 * had one: whether its entries may be thrown away.
 */
#ifndef MOCA_FAULT_SHARED_H
#define MOCA_FAULT_SHARED_H

#include <sys/types.h>

#include "collect/fault/memory.h"
#include "collect/ptrace/maps.h"
#include "collect/ptrace/tracee.h"

/*
 * Do the pages of v, a shared mapping of process pid, stay where they are when
 * their entries go? So it is of the kernel's own shared memory (memfd, SysV,
 * MAP_SHARED | MAP_ANONYMOUS) and of files that were deleted; not of huge
 * pages, and not of devices.
 */
int shared_may_zap(const struct mm *mm, pid_t pid, const struct vma *v);

/*
 * The program's own shmat with arguments a, and shmdt of addr. 0 and *ret, what
 * the program gets; or -errno.
 */
int shared_attach(struct recorder *rec, struct mm *mm, struct tracee_calls *c,
		  const uint64_t a[6], long *ret);
int shared_detach(struct recorder *rec, struct mm *mm, struct tracee_calls *c,
		  uint64_t addr, long *ret);

/*
 * mremap has put what was region r, not on the memfd, to [addr, addr + len): tell
 * what it is of, as before.
 */
void shared_moved(struct recorder *rec, struct task *t, const struct region *r,
		  uint64_t addr, uint64_t len);

#endif
