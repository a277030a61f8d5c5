/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages that the kernel looks up for a system call. Before 6.5 move_pages(2) takes
 * false faults for no pages at all, and neither moves them nor says where they
 * are: their entries are repaired before it looks.
 */
#ifndef MOCA_KMOD_LOOKUP_H
#define MOCA_KMOD_LOOKUP_H

/* With the hook on page faults. Without ftrace nothing is repaired. */
void moca_lookup_hook(void);
void moca_lookup_unhook(void);

#endif
