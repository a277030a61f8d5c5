// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#include "map-pages.h"

static void change_flags(struct vm_area_struct *vma, unsigned long set,
			 unsigned long clear)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

void *moca_pages_new(unsigned long bytes, bool charged)
{
	return __vmalloc(bytes, __GFP_ZERO |
				(charged ? GFP_KERNEL_ACCOUNT : GFP_KERNEL));
}

int moca_map_pages(struct vm_area_struct *vma, void *area, unsigned long pages,
		   unsigned long first)
{
	unsigned long n = vma_pages(vma), i;
	int err;

	if (first > pages || n > pages - first)
		return -EINVAL;
	change_flags(vma, VM_DONTEXPAND | VM_DONTDUMP, 0);
	for (i = 0; i < n; i++) {
		err = vm_insert_page(vma, vma->vm_start + i * PAGE_SIZE,
				     vmalloc_to_page(area + (first + i) *
							    PAGE_SIZE));
		if (err)
			return err;
	}
	return 0;
}

void moca_map_readonly(struct vm_area_struct *vma)
{
	change_flags(vma, 0, VM_MAYWRITE);
}

void moca_map_not_inherited(struct vm_area_struct *vma)
{
	change_flags(vma, VM_DONTCOPY, 0);
}
