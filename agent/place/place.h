/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libmoca-place inside a program: it applies a plan to what the program allocates.
 * Only the files that the plan names have their calls of allocators led here, by
 * their own tables (GOT); nothing is interposed. All of it keeps errno, takes no
 * locks, and may run in any thread; place_scan() runs before there is a second
 * thread, and behind dlopen.
 */
#ifndef MOCA_AGENT_PLACE_PLACE_H
#define MOCA_AGENT_PLACE_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "include/abi/place.h"

/* Linux 5.14; not in the headers of older C libraries. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#pragma GCC visibility push(hidden)

/* The plan; NULL: there is none, and nothing is done. Set in the constructor. */
extern struct moca_place_head *place_plan;

static inline void place_add(uint64_t *sum, uint64_t n)
{
	/* Read when the program has ended: no order is needed. */
	__atomic_fetch_add(sum, n, __ATOMIC_RELAXED);
}

static inline void place_count(uint32_t *sum)
{
	__atomic_fetch_add(sum, 1, __ATOMIC_RELAXED);
}

/*
 * init.c: has a library been opened with RTLD_DEEPBIND? Stubs of calls may then lead
 * to allocators of such libraries.
 */
int place_is_deep(void);
/* modules.c: look at all modules of the process; new ones are led here. */
void place_scan(void);
/* The policy of a call that returns to ret; NULL: none. */
struct moca_place_policy *place_policy_slow(uint64_t ret);

#define PLACE_CACHE 1024	/* return addresses; a power of two */
#define PLACE_NONE 0xffffu	/* no policy */
#define PLACE_WRAPPER 0xfffeu	/* its caller's */
/* ret << 16 | index of its policy. 0: empty. A stale entry is never wrong. */
extern uint64_t place_cache[PLACE_CACHE];

/* 0: a call that returns there is known to have no policy. */
static inline int place_is_wanted(uint64_t ret)
{
	/* One word: it is of one address, whoever writes meanwhile. */
	uint64_t e = __atomic_load_n(&place_cache[ret % PLACE_CACHE],
				     __ATOMIC_RELAXED);

	return e != (ret << 16 | PLACE_NONE);
}

static inline struct moca_place_policy *place_policy(uint64_t ret)
{
	return place_is_wanted(ret) ? place_policy_slow(ret) : NULL;
}

/*
 * apply.c: what a policy wants of these bytes, which nobody uses yet (statics:
 * whose pages keep what is in them).
 */
void place_apply(struct moca_place_policy *p, void *addr, size_t size);

/*
 * calls.c. The functions that take the place of the program's, by name, and what
 * they lead to.
 */
struct place_call {
	const char *name;
	void *ours;
	void **real;		/* NULL in it: the program has none such */
	int only_bound;		/* has versions: which one, its slot tells */
};
/* Ends with a name that is NULL. */
extern const struct place_call place_calls[];
/* Find what is not found yet. */
void place_find_real(void);

#pragma GCC visibility pop

#endif
