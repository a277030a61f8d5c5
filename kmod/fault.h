/* SPDX-License-Identifier: GPL-2.0-only */
/* Seeing page faults: hooks that are there while a session runs. */
#ifndef MOCA_KMOD_FAULT_H
#define MOCA_KMOD_FAULT_H

#include <linux/types.h>

/* Put the hooks in, if this is the first user. May sleep. 0 or -errno. */
int moca_fault_get(void);
/* Take them out after the last: when it returns, no hook runs. */
void moca_fault_put(void);
/* MOCA_HAS_* of how faults are seen, or, without a user, would be. */
u32 moca_fault_features(void);

#endif
