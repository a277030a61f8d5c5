/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Children whose parent was killed between the fork and our look at it: the
 * kernel reports the fork no more, but the child stands at its first stop and
 * waits for us. Supervisor thread only.
 */
#ifndef MOCA_PTRACE_ORPHAN_H
#define MOCA_PTRACE_ORPHAN_H

#include "collect/ptrace/task.h"

/*
 * Find those of t, the last task of its address space, which has just ended
 * or is about to leave it: orphans_of waits for the first stop of all that was
 * not heard of; orphan_next gives t's, one by one, until each is announced.
 */
void orphans_of(const struct task *t);
struct task *orphan_next(const struct recorder *rec, const struct task *t);

#endif
