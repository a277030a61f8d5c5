/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fork's child that cannot get a memfd of its own: no descriptor is free, or a
 * limit of its own is in the way. Its memory becomes the kernel's, as a plain
 * fork would have made it, and it goes on untraced.
 */
#ifndef MOCA_FAULT_FORK_NATIVE_H
#define MOCA_FAULT_FORK_NATIVE_H

#include "collect/fault/mm.h"

/*
 * mm, of the child that runs calls in c, has inherited the memory of from, and may
 * have mapped some of it from a memfd of its own by now, or privately from one
 * that is frozen, which stays so. Who tells it looks at mm->refused, when the
 * child is announced. 0 or -errno: it shares some with its parent.
 */
int fork_go_native(struct mm *mm, struct mm *from, struct tracee_calls *c);

#endif
