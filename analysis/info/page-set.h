/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of distinct pages. A page belongs to an owner (a process, a mapping);
 * the pages of an owner's 2 MiB block share one bitmap in a hash table, so
 * that a page of a densely used memory costs about two bits.
 */
#ifndef MOCA_ANALYSIS_INFO_PAGE_SET_H
#define MOCA_ANALYSIS_INFO_PAGE_SET_H

#include <stddef.h>
#include <stdint.h>

struct page_block;

struct page_set {
	struct page_block *blocks;
	size_t slots;		/* a power of two, or 0 */
	size_t used;
	uint64_t pages;		/* distinct (owner, page) */
};

/* Add a page by its number. 1 when it is new, 0, or -ENOMEM. */
int page_set_add(struct page_set *s, uint32_t owner, uint64_t page);
/* Is the page in it? */
int page_set_has(const struct page_set *s, uint32_t owner, uint64_t page);
/* Empty the set; memory is kept for the next use. */
void page_set_clear(struct page_set *s);
void page_set_free(struct page_set *s);

#endif
