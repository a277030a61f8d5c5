/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Translated code and where it is. A cache is within reach (2 GiB) of its
 * source, so that rip-relative operands stay rip-relative. Code grows up from its
 * begin, literals - what code jumps through or pushes - down from its end, so
 * that writing one does not disturb running code. All under the lock.
 */
#ifndef MOCA_EXACT_CACHE_H
#define MOCA_EXACT_CACHE_H

#include "agent/exact/translate.h"

/* Literals at a cache's begin: where its code leads to. */
enum exit_literal {
	LIT_LINK, LIT_JUMP, LIT_SYSCALL, LIT_NATIVE, LIT_STALE,
	LIT_COLD_LOAD, LIT_COLD_STORE, LIT_HELPER, LIT_ENTER_LOOP, LIT_LEAVE_LOOP,
	LIT_LEAVE_LOOP_FLAGS,
	LIT_COUNT
};

struct cache {
	uint8_t *base, *at, *end;	/* at: next code; end: lowest literal */
	uint8_t *touched;	/* pages below have memory */
	struct region **regions;	/* by address */
	int count, room;
	int number;
};

/* What a region takes at most. */
#define REGION_ROOM (131072 + REGION_INSNS * 2048ul)

/* Can all of k refer to all of [low, high]? */
int moca_exact_cache_reaches(const struct cache *k, uint64_t low, uint64_t high);
/* A cache within reach of [low, high] with room bytes, or NULL. */
struct cache *moca_exact_cache_near(uint64_t low, uint64_t high, size_t room);
/* A new literal, or NULL: no room. */
uint64_t *moca_exact_literal(struct cache *k, uint64_t value);
/* A region is complete: w's leaders can be found from now on. */
int moca_exact_cache_add(struct cache *k, struct region *r,
			 const struct work *w);
/* Translation of pc, or 0; its region. */
uint64_t moca_exact_cache_find(uint64_t pc, struct region **r);
/*
 * A literal through which code of cache k jumps to target: there, if it is
 * translated already, else through the dispatcher, which then changes it. The code at
 * *at is extended by what that takes. NULL: no room.
 */
uint64_t *moca_exact_link_to(struct cache *k, uint8_t **at, uint64_t target);

#endif
