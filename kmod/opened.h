/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel opens: mprotect gives all entries of a range the new rights,
 * false faults as well, and mremap moves entries that are open to another
 * address. Both would be touched without a fault until the next sweep. What moves
 * is made false faults first; of the rest of a large move, and after mprotect, the
 * task makes them before it returns to its program.
 */
#ifndef MOCA_KMOD_OPENED_H
#define MOCA_KMOD_OPENED_H

#include <linux/types.h>

struct moca_space;

/* While faults are seen by ftrace. May sleep. What cannot be hooked is found by
 * sweeps, as touched by nobody known. */
void moca_opened_hook(void);
/* When it returns, no hook runs; work of tasks may still be to be done. */
void moca_opened_unhook(void);

/* Whether an entry looks accessed because it was, at another address: a sweep
 * is there before the task that moved it. Under the entry's lock. */
bool moca_opened_is_moved(struct moca_space *sp, unsigned long addr);

#endif
