/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mappings of one address space that the recorder acts on, as sorted,
 * disjoint ranges. Memory that has no region is left alone.
 */
#ifndef MOCA_FAULT_REGION_H
#define MOCA_FAULT_REGION_H

#include <stddef.h>
#include <stdint.h>

enum region_kind {
	REGION_MEMFD,	/* the program's private memory, moved to our memfd */
	REGION_SHARED,	/* shared by the program itself: may be zapped */
	REGION_FILE,	/* private, of a file, never writable: may be zapped */
	REGION_STACK,	/* a main thread's stack: never zapped */
	/*
	 * Private memory that stays the kernel's, such as a file's that may
	 * be written: never zapped, each sweep makes its writes fault again.
	 */
	REGION_PRIVATE,
	REGION_FROZEN,	/* private, of a memfd shared since a fork: freeze.h */
	/* What no fault can show again, such as huge pages and devices. */
	REGION_UNSEEN,
};

#define REGION_WIPEONFORK 1u
#define REGION_FILE_COPY 2u	/* of a private file mapping: filecopy.h */
#define REGION_DONTFORK 4u
#define REGION_DONTDUMP 8u

struct base;

struct region {
	uint64_t start;
	uint64_t end;		/* exclusive, both page aligned */
	uint64_t off;		/* of start in the memfd; 0 for other kinds */
	uint32_t kind;
	uint32_t flags;
	struct base *base;	/* of REGION_FROZEN; else NULL */
};

struct region_map {
	struct region *items;
	size_t count;
	size_t room;
};

void moca_regions_free(struct region_map *m);

/*
 * Room for some regions ahead. Later ones make room before it is needed, so that
 * what the program has done can still be noted when there is no memory for a
 * while. 0 or -ENOMEM.
 */
int moca_regions_reserve(struct region_map *m);
/* Insert a range over whatever was there. 0 or -ENOMEM. */
int moca_regions_add(struct region_map *m, const struct region *r);
/* Forget [start, end). 0 or -ENOMEM (a range may be split in two). */
int moca_regions_remove(struct region_map *m, uint64_t start, uint64_t end);
/*
 * Set and clear flags of [start, end), of regions on a memfd only. 0 or
 * -ENOMEM.
 */
int moca_regions_flag(struct region_map *m, uint64_t start, uint64_t end,
		      uint32_t set, uint32_t clear);

/* The region that holds addr, or NULL. */
const struct region *moca_regions_find(const struct region_map *m,
				       uint64_t addr);
/* Index of the first region that ends after addr (count if none). */
size_t moca_regions_after(const struct region_map *m, uint64_t addr);
/*
 * The next part of [*pos, end) that lies in a region; moves *pos behind it.
 * 1 and *out clipped to the range (off adjusted), or 0.
 */
int moca_regions_next(const struct region_map *m, uint64_t *pos, uint64_t end,
		      struct region *out);
/* 1 when a region that is not frozen uses any of the memfd's offsets [off,
 * off + len). */
int moca_regions_uses(const struct region_map *m, uint64_t off, uint64_t len);

#endif
