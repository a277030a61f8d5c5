/* SPDX-License-Identifier: GPL-2.0-only */
/* Flushing TLBs, and splitting huge mappings: what the kernel does not export. */
#ifndef MOCA_KMOD_FLUSH_H
#define MOCA_KMOD_FLUSH_H

#include <linux/mm_types.h>

/* Find the kernel's functions. Without them, all CPUs are flushed wholly, and huge
 * pages are seen as a whole. 0; -EOPNOTSUPP, which is said in the kernel's log: a
 * guest of Xen whose CPUs we cannot flush. */
int moca_flush_init(void);
/* MOCA_HAS_* of what was found. */
u32 moca_flush_features(void);

/* Flush [start, end) of mm on all CPUs. May wait for them: interrupts on. */
void moca_flush(struct mm_struct *mm, unsigned long start, unsigned long end);
/* False: cannot be split here. Under the mmap lock. */
bool moca_split_huge(struct vm_area_struct *vma, pmd_t *pmd,
		     unsigned long addr);

#endif
