/* SPDX-License-Identifier: GPL-2.0-only */
/* Showing memory of the module to programs. */
#ifndef MOCA_KMOD_MAP_PAGES_H
#define MOCA_KMOD_MAP_PAGES_H

struct vm_area_struct;

/*
 * Zeroed memory that may be mapped; free it by vfree(), at any time: mapped
 * pages live on until they are unmapped. charged: to the caller's cgroup.
 */
void *moca_pages_new(unsigned long bytes, bool charged);

/*
 * Map page first and following of the area, `pages` long, to all of vma. To be
 * called by mmap of a file. 0, -EINVAL (out of the area), another -errno.
 */
int moca_map_pages(struct vm_area_struct *vma, void *area, unsigned long pages,
		   unsigned long first);

/* Programs may not make this mapping writable later. */
void moca_map_readonly(struct vm_area_struct *vma);
/* Children do not have it. */
void moca_map_not_inherited(struct vm_area_struct *vma);

#endif
