/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where in the data what happens when: accesses by place and slice of time, in
 * a hierarchy of places (all, objects, parts, groups of pages), divided into
 * areas in which they are alike (aggregate.h).
 *
 * Only used pages are places: those of an object, by process and address, are
 * divided into leaves of as many each (the last may have fewer), the leaves
 * into parts of as many each.
 */
#ifndef MOCA_SPACE_H
#define MOCA_SPACE_H

#include "analysis/grid.h"
#include "analysis/levels.h"

#define MOCA_SPACE_OBJECTS 24	/* at most, in all */
#define MOCA_SPACE_LEAVES 512
#define MOCA_SPACE_PARTS 16	/* of an object */
#define MOCA_SPACE_SLICES_LOG2 5
#define MOCA_SPACE_NONE UINT32_MAX

struct moca_space_input {
	size_t objects;		/* 1 to MOCA_SPACE_OBJECTS */
	const struct moca_grid *const *grids;	/* of each; none is empty */
	unsigned bins_log2;	/* of the grids' time, at time_shift 0 */
	unsigned slices_log2;	/* wanted; at most MOCA_SPACE_SLICES_LOG2 */
	/* The process of a cell. */
	uint32_t (*process)(const void *arg, const struct moca_grid_cell *c);
	const void *arg;
};

struct moca_space_node {
	uint32_t parent;	/* number; MOCA_SPACE_NONE: it is the root */
	uint32_t object;	/* MOCA_SPACE_NONE: the root */
	uint32_t leaf_begin, leaf_end;	/* the leaves below, or itself */
	/* Of its first used page the process and number; behind its last. */
	uint32_t first_process, last_process;
	uint64_t first_page, end_page;
	/* Used pages, in groups of 1 << page_shift: so many at most. */
	uint64_t pages;
};

struct moca_space {
	size_t leaves, nodes;	/* nodes 0 to leaves - 1 are the leaves */
	struct moca_space_node *node;
	size_t slices;		/* 1 << ...: of the grids' time */
	uint64_t *reads, *writes, *other;	/* [leaf][slice] */
	struct moca_levels levels;	/* not without moca_space_divide */
};

/*
 * Count the cells. Beside what it gives, about 70 bytes for each group of pages
 * of the grids while it runs. 0 or -ENOMEM, with nothing to free.
 */
int moca_space_count(struct moca_space *out, const struct moca_space_input *in,
		     size_t leaves);
/*
 * Fill levels; below 300 MB while it runs (921 nodes x 528 intervals, and 256
 * MiB of curves). 0, -ENOMEM; -E2BIG: it takes more; try with fewer leaves.
 */
int moca_space_divide(struct moca_space *x);
void moca_space_free(struct moca_space *x);

#endif
