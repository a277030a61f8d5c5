/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of pages of one address space, in blocks of 2 MiB: memory grows with
 * the pages that were touched, at 6 bits each.
 */
#ifndef MOCA_RUN_PAGESET_H
#define MOCA_RUN_PAGESET_H

#include <stddef.h>
#include <stdint.h>

#define BLOCK_SHIFT 21
#define BLOCK_PAGES 512
#define BLOCK_WORDS (BLOCK_PAGES / 64)

struct page_block {
	struct page_block *next;	/* of the same bucket */
	uint64_t number;		/* address >> BLOCK_SHIFT */
	uint32_t present;	/* faults since the block was last zapped */
	uint64_t seen[BLOCK_WORDS];	/* has a record */
	uint64_t prefilled[BLOCK_WORDS];	/* exists without a touch */
	uint64_t faulted[BLOCK_WORDS];	/* since the block was last zapped */
	uint64_t fresh[BLOCK_WORDS];	/* first touched since then */
	uint8_t *nodes;		/* of each page, plus 1: last known, 0 = none;
				   NULL: of no page */
	uint64_t exists[BLOCK_WORDS];	/* the page tables have it */
};

struct pageset;

struct pageset *pageset_new(void);
void pageset_free(struct pageset *s);

/* The block of an address; create: make it (NULL then: no memory). */
struct page_block *pageset_block(struct pageset *s, uint64_t addr, int create);

/* Mark a page as seen. 1 when it was not before. */
int pageset_see(struct pageset *s, uint64_t addr);

enum page_fault {
	PAGE_TOUCHED,	/* the first of a page that was empty */
	PAGE_COPIED,	/* the first of a page that existed already */
	PAGE_REPEATED,	/* the first since the page was zapped */
	PAGE_AGAIN,	/* a later one: a write after a read */
	PAGE_UNSHARED,	/* the same, after the first touch: without recording
			   it copies the page of zeros */
	PAGE_FAULTS
};

/* pageset_see, and what fault it was: by what it costs. */
enum page_fault pageset_fault(struct pageset *s, uint64_t addr);
/* A block is zapped: its present, faulted and fresh begin anew. */
void pageset_zapped(struct page_block *b);
void pageset_prefill(struct pageset *s, uint64_t start, uint64_t end);
void pageset_exists(struct pageset *s, uint64_t start, uint64_t end);

/*
 * Of [start, end): pages that exist, were not prefilled and are not seen
 * (blind), and those that are seen (known).
 */
void pageset_blind(struct pageset *s, uint64_t start, uint64_t end,
		   uint64_t *blind, uint64_t *known);

/*
 * Existing pages [start, end): how many of them were touched (seen, or not
 * prefilled), and how many of those seen.
 */
void pageset_settle(struct pageset *s, uint64_t start, uint64_t end,
		    uint64_t *touched, uint64_t *seen);
/* Forget [start, end); returns how many of its pages were marked seen. */
uint64_t pageset_clear(struct pageset *s, uint64_t start, uint64_t end);

/* The node that a page was on when it was asked last; -1 = none was told. */
int pageset_node(struct pageset *s, uint64_t addr);
void pageset_set_node(struct pageset *s, uint64_t addr, int node);

/* Walk the blocks that exist in [start, end), in any order. */
typedef void (*pageset_visit)(struct page_block *b, void *arg);
void pageset_walk(struct pageset *s, uint64_t start, uint64_t end,
		  pageset_visit visit, void *arg);

#endif
