/* SPDX-License-Identifier: GPL-2.0-only */
/* The pages that have a record in an interval, with their frames. */
#ifndef MOCA_KMOD_PAGE_SET_H
#define MOCA_KMOD_PAGE_SET_H

#include <linux/types.h>

struct moca_page_set;

/* For most pages at a time. NULL: no memory. */
struct moca_page_set *moca_page_set_create(u64 most);
/* What it takes of the kernel's memory. */
u64 moca_page_set_bytes(u64 most);
void moca_page_set_destroy(struct moca_page_set *p);

/* Empty it, and make it ready for n pages. */
void moca_page_set_begin(struct moca_page_set *p, u64 n);
/* addr: any in the page. pfn 0: not known yet. */
void moca_page_set_add(struct moca_page_set *p, u32 pid, u64 addr, u64 pfn);
/* Where the frame of the page is kept; NULL: the page is not in the set. */
u64 *moca_page_set_find(struct moca_page_set *p, u32 pid, u64 addr);

#endif
