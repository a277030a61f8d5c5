/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of pages of one address space, in blocks of 2 MiB: memory grows with
 * the pages that were touched, at 9 bits each.
 */
#ifndef MOCA_RUN_PAGESET_H
#define MOCA_RUN_PAGESET_H

#include <stddef.h>
#include <stdint.h>

#define BLOCK_SHIFT 21
#define BLOCK_PAGES 512
#define BLOCK_WORDS (BLOCK_PAGES / 64)
/* A word is a stripe of lib/base/stripe.h: what a sweep lets go or leaves as a whole. */

struct page_block {
	struct page_block *next;	/* of the same bucket */
	uint64_t number;		/* address >> BLOCK_SHIFT */
	uint32_t present;	/* faults since the block was last zapped */
	uint64_t seen[BLOCK_WORDS];	/* has a record */
	uint64_t prefilled[BLOCK_WORDS];	/* exists without a touch */
	uint64_t kept[BLOCK_WORDS];	/* of these: emptied */
	uint64_t faulted[BLOCK_WORDS];	/* since the block was last zapped */
	uint64_t fresh[BLOCK_WORDS];	/* first touched since then */
	uint64_t undone[BLOCK_WORDS];	/* had a fault, which a sweep undid */
	uint8_t *nodes;		/* of each page, plus 1: last known, 0 = none;
				   NULL: of no page */
	uint64_t exists[BLOCK_WORDS];	/* the page tables have it */
	/* Of sweeps that let go a sample. gone and recent are of the sweep that
	   is named, and empty in any later one. */
	uint32_t sweep;
	uint8_t large;		/* a bit for each stripe: it is sampled */
	uint8_t faults[BLOCK_WORDS];	/* as present, of a stripe */
	uint64_t gone[BLOCK_WORDS];	/* had an entry, which the sweep let go */
	uint64_t recent[BLOCK_WORDS];	/* faulted since the sweep */
};

struct pageset;

struct pageset *pageset_new(void);
void pageset_free(struct pageset *s);

/* The block of an address; create: make it (NULL then: no memory). */
struct page_block *pageset_block(struct pageset *s, uint64_t addr, int create);

/* Mark a page as seen. 1 when it was not before; -ENOMEM: nobody knows. */
int pageset_see(struct pageset *s, uint64_t addr);

enum page_fault {
	PAGE_TOUCHED,	/* the first of a page that was empty */
	PAGE_COPIED,	/* the first of a page that existed already */
	PAGE_KEPT,	/* the same, of an emptied one: natively a first touch */
	PAGE_REPEATED,	/* the first since the page was zapped */
	PAGE_AGAIN,	/* a later one: a write after a read */
	PAGE_UNSHARED,	/* the same, after the first touch: without recording
			   it copies the page of zeros */
	PAGE_FAULTS
};

/* pageset_see, and what fault it was: by what it costs. */
enum page_fault pageset_fault(struct pageset *s, uint64_t addr);
/* Has a sweep undone a fault of the page? If not, its faults are the program's own. */
int pageset_undone(struct pageset *s, uint64_t addr);
/* A block is zapped: its present, faulted and fresh begin anew. */
void pageset_zapped(struct page_block *b);

/* A sweep begins. A page that its sample has stands for `weight` pages. */
void pageset_sweep(struct pageset *s, uint16_t weight);
/* The number of the last one; 0: there was none. */
uint32_t pageset_sweeps(const struct pageset *s);
/*
 * The pages of `mask` in a stripe of b are zapped. Returns how many faults they
 * had since they were zapped last, to 64.
 */
unsigned int pageset_let_go(struct pageset *s, struct page_block *b,
			    unsigned int stripe, uint64_t mask);
/* All pages of the block that a stripe has in [start, end). */
uint64_t pageset_mask(const struct page_block *b, unsigned int stripe,
		      uint64_t start, uint64_t end);
/*
 * What a fault stands for, f being what pageset_fault said of it: `weight`, for
 * a page that had an entry, of which the last sweep let go a sample; 1, for a
 * page whose fault had to come, as it had no entry or is not sampled; 0, for a
 * write to a page that was not let go. *ours: it was let go by the last sweep.
 */
uint16_t pageset_weigh(struct pageset *s, uint64_t addr, enum page_fault f,
		       int *ours);
/* Pages that nobody touched: they hold data, */
enum page_filled {
	FILLED_DATA,
	FILLED_MAPPED,	/* and have entries, */
	FILLED_SWEPT,	/* which the next sweep shall count as it does faults */
	FILLED_KEPT,	/* or they hold zeros, of memory that was given back; */
	FILLED_TOUCHED	/* no: they were touched after all */
};
void pageset_prefill(struct pageset *s, uint64_t start, uint64_t end,
		     enum page_filled filled);
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
