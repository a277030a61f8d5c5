/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What `moca place` and libmoca-place.so, which it has programs load, share: a
 * file in memory (memfd) that the environment names. It has a head, then so many
 * modules, policies, ranges and statics, in this order. moca writes all of it
 * before the program starts; programs only add to what is marked "added".
 */
#ifndef MOCA_ABI_PLACE_H
#define MOCA_ABI_PLACE_H

#include <stdint.h>

#define MOCA_PLACE_ENV "MOCA_PLACE"	/* path of the file */
#define MOCA_PLACE_MAGIC 0x31636c70616f636dull
#define MOCA_PLACE_MAX 4096		/* of modules, policies, ranges, statics */
#define MOCA_PLACE_ALIGN_MAX (2u << 20)
#define MOCA_PLACE_NODES 1024
#define MOCA_PLACE_ID_MAX 32		/* bytes of a build id */

struct moca_place_head {
	uint64_t magic;
	uint32_t modules, policies, ranges, statics;
	uint32_t processes;	/* added: those that loaded the agent */
	uint32_t crowded;	/* added: those that had too many mappings */
	uint32_t unread;	/* added: tables of modules that made no sense */
	uint32_t unused;
};

/* A file of code: known by its build id, or without one by device and inode. */
struct moca_place_module {
	uint8_t id[MOCA_PLACE_ID_MAX];
	uint32_t id_size;	/* 0: it has none */
	uint32_t loads;		/* added: times that a process loaded it */
	uint64_t dev, ino;
	uint32_t slots;		/* added: calls of allocators led to the agent */
	uint32_t pointers;	/* added: slots that may be compared; left alone */
};

enum moca_place_memory {
	MOCA_PLACE_MEMORY_NONE,
	MOCA_PLACE_MEMORY_LOCAL,
	MOCA_PLACE_MEMORY_PREFERRED,
	MOCA_PLACE_MEMORY_BIND,
	MOCA_PLACE_MEMORY_INTERLEAVE,
};

/* What was done, or was to be done, for blocks of a policy. */
struct moca_place_sum {
	uint64_t count, bytes;
};

struct moca_place_policy {
	uint32_t huge, prefault;	/* 1: wanted */
	uint32_t memory;		/* enum moca_place_memory */
	uint32_t align, pad;		/* bytes, powers of two; 0: not wanted */
	uint32_t max_node;		/* bits of nodes that mbind shall read */
	uint64_t nodes[MOCA_PLACE_NODES / 64];
	/* All of these are added. */
	struct moca_place_sum matched;	/* blocks of these sites, statics */
	struct moca_place_sum aligned, huge_done, memory_done, prefault_done;
	uint64_t loose;			/* blocks that could not be aligned */
	uint64_t small;			/* have no whole page, or huge page */
	uint64_t refused;		/* by the kernel */
	uint32_t error;			/* the last reason: errno */
	uint32_t unused;
};

/*
 * Code that calls allocators for a policy: link-time addresses. Of a wrapper, its
 * caller has the policy.
 */
#define MOCA_PLACE_WRAPPER UINT32_MAX
struct moca_place_range {
	uint64_t begin, end;
	uint32_t module, policy;	/* indices; MOCA_PLACE_WRAPPER */
};

/* A variable: the same, of data. */
struct moca_place_static {
	uint64_t begin, end;
	uint32_t module, policy;
};

static inline uint64_t moca_place_size(const struct moca_place_head *h)
{
	return sizeof(*h) + h->modules * sizeof(struct moca_place_module) +
	       h->policies * sizeof(struct moca_place_policy) +
	       h->ranges * sizeof(struct moca_place_range) +
	       h->statics * sizeof(struct moca_place_static);
}

static inline struct moca_place_module *
moca_place_modules(struct moca_place_head *h)
{
	return (struct moca_place_module *)(h + 1);
}

static inline struct moca_place_policy *
moca_place_policies(struct moca_place_head *h)
{
	return (struct moca_place_policy *)(moca_place_modules(h) + h->modules);
}

static inline struct moca_place_range *
moca_place_ranges(struct moca_place_head *h)
{
	return (struct moca_place_range *)(moca_place_policies(h) + h->policies);
}

static inline struct moca_place_static *
moca_place_statics(struct moca_place_head *h)
{
	return (struct moca_place_static *)(moca_place_ranges(h) + h->ranges);
}

#endif
