/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accesses to many objects, each counted by page, time and thread, in bounded
 * memory: exact until there are too many cells; then those objects that have
 * most of them get a coarser grid, in time or in pages, until it fits again.
 * What is coarser is still exact: a cell has the sums of the ones it replaced.
 */
#ifndef MOCA_GRID_H
#define MOCA_GRID_H

#include <stddef.h>
#include <stdint.h>

#define MOCA_GRID_PAGE_BITS 52	/* a page shift of so many: one group */

/* One cell: what one thread did in one group of pages in one bin of time. */
struct moca_grid_cell {
	uint64_t group;		/* page number >> page_shift */
	uint32_t bin;		/* (time - begin) * bins / length >> time_shift */
	uint16_t thread;	/* as given */
	uint8_t node;		/* as given; part of what a cell is */
	uint8_t flags;		/* likewise */
	uint32_t first;		/* the least `first` given */
	uint32_t reads, writes, other;	/* counts; they stay at UINT32_MAX */
};

struct moca_grid {
	unsigned page_shift;
	unsigned time_shift;
	size_t count;
	size_t cap;		/* of cells; 0: there are none */
	/* A hash table in pieces: empty where all three counts are 0. */
	struct moca_grid_cell **blocks;
};

#define MOCA_GRID_BLOCK ((size_t)256)	/* cells */

/* Memory for so many cells: of a grid, or in the list of those that no grid has. */
union moca_grid_block {
	union moca_grid_block *next;
	struct moca_grid_cell cells[MOCA_GRID_BLOCK];
};

/* The i-th cell of g->cap. */
static inline struct moca_grid_cell *moca_grid_at(const struct moca_grid *g,
						  size_t i)
{
	return &g->blocks[i / MOCA_GRID_BLOCK][i % MOCA_GRID_BLOCK];
}

struct moca_grids {
	struct moca_grid *grids;	/* by key */
	size_t grid_count, grid_cap;
	size_t cells;		/* of all */
	size_t limit;		/* of cells; grows only if nothing else helps */
	unsigned min_bins_log2;	/* coarsen time no further while pages can */
	unsigned bins_log2;	/* of time, at time_shift 0 */
	unsigned max_shift;	/* of time */
	void **chunks;		/* memory of blocks */
	size_t chunk_count, chunk_cap;
	union moca_grid_block *free_blocks;
};

/*
 * Grids of 1 << bins_log2 bins of time, of limit cells together. Nothing is
 * allocated yet; freed by moca_grids_free.
 */
void moca_grids_init(struct moca_grids *g, unsigned bins_log2, size_t limit);
void moca_grids_free(struct moca_grids *g);

/*
 * Add a cell's counts to the grid with that key; c->group is a page number and
 * c->bin a bin, both at shift 0. Keys are small numbers. 0 or -ENOMEM.
 */
int moca_grids_add(struct moca_grids *g, uint32_t key,
		   const struct moca_grid_cell *c);
/*
 * Are these two, as moca_grids_add() takes them, of one cell of the grid with that key?
 * Then c's counts are added to *to, which stands for both until it is added itself: 1.
 * Else 0.
 */
int moca_grids_join(const struct moca_grids *g, uint32_t key,
		    struct moca_grid_cell *to, const struct moca_grid_cell *c);
/* Get what adding it will need nearer. */
void moca_grids_prefetch(const struct moca_grids *g, uint32_t key,
			 const struct moca_grid_cell *c);

/* Make the two one, at the coarser of each resolution, in into. */
int moca_grids_merge(struct moca_grids *g, uint32_t into, uint32_t from);
/* The grid of a key, or NULL if nothing was added to it. */
const struct moca_grid *moca_grids_get(const struct moca_grids *g,
				       uint32_t key);
/* One step coarser. 1; 0: it cannot be any coarser; -ENOMEM. */
int moca_grids_coarsen(struct moca_grids *g, uint32_t key);
/* Forget a grid. */
void moca_grids_drop(struct moca_grids *g, uint32_t key);

/*
 * The cells of a grid in one array, by group, bin, thread, node, flags. The
 * caller frees it. NULL: no memory.
 */
struct moca_grid_cell *moca_grid_sorted(const struct moca_grid *g);

#endif
