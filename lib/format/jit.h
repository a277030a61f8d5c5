/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of code that programs compiled while they ran (the file `jit`; doc/format.md):
 * to and from its chunks, and what an address was called at a time.
 */
#ifndef MOCA_FORMAT_JIT_H
#define MOCA_FORMAT_JIT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/format/chunk.h"

#define MOCA_S_JIT_LIST 1
#define MOCA_JIT_RAW_MAX (1u << 20)	/* bytes of a chunk, unpacked */
#define MOCA_JIT_MAX (1u << 20)		/* names in a trace */
#define MOCA_JIT_NAME_MAX 1023u		/* bytes of one, */
#define MOCA_JIT_NAMES_ALL (64u << 20)	/* and of all, with a NUL each */

/* Code of a process, from a time on until other code lies there. */
struct moca_jit {
	uint32_t pid;
	uint32_t name;		/* where it begins in moca_jits.names */
	uint64_t time_ns;	/* 0: at all times */
	uint64_t addr, size;	/* bytes, 1 or more; within the address space */
};

/* Any number of them; all zeros: none. */
struct moca_jits {
	struct moca_jit *list;	/* in the order of telling; once indexed by pid, addr */
	size_t count, room;
	char *names;
	uint32_t names_len, names_room;
	/* Once indexed (jit.c has what these are): */
	uint32_t *order;	/* of telling, by place in list */
	struct moca_jit_edge *edges;
	size_t edge_count;
	uint32_t *nodes, *items;
};

void moca_jits_free(struct moca_jits *j);
/*
 * Add one, its name cut to MOCA_JIT_NAME_MAX bytes. 0; -E2BIG: there is no room for
 * more; -EINVAL: it has no size, or no name; -ENOMEM.
 */
int moca_jits_add(struct moca_jits *j, uint32_t pid, uint64_t time_ns,
		  uint64_t addr, uint64_t size, const char *name, size_t len);

/* Put as many, from number `from` on, as one chunk holds: how many; -ENOMEM. */
int moca_jits_encode(struct moca_buf *raw, const struct moca_jits *j,
		     size_t from);
/* Add those of a chunk. 0; -EBADMSG, and none of them is added; -ENOMEM. */
int moca_jits_decode(struct moca_jits *j, const uint8_t *raw, size_t len,
		     uint32_t records);

/* All are there: prepare to find them. 0 or -ENOMEM. */
int moca_jits_index(struct moca_jits *j);
/*
 * The place in the list of what was told last of all that lies at addr and was there by
 * that time; or -1. Of an indexed list.
 */
int64_t moca_jits_find(const struct moca_jits *j, uint32_t pid, uint64_t addr,
		       uint64_t time_ns);
/* Does it depend on the time what is found at addr? */
int moca_jits_changes(const struct moca_jits *j, uint32_t pid, uint64_t addr);

struct moca_trace;
/* Of a trace that is open; indexed. */
const struct moca_jits *moca_trace_jits(const struct moca_trace *t);

#endif
