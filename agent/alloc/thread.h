/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a thread keeps: its recent call stacks and where its stack is. */
#ifndef MOCA_AGENT_ALLOC_THREAD_H
#define MOCA_AGENT_ALLOC_THREAD_H

#include <stdint.h>

#include "agent/alloc/watch.h"
#include "include/abi/alloc-events.h"

#define ALLOC_CACHE 512		/* recent call stacks of a thread */
#define ALLOC_WAYS 8		/* of them by one caller and stack pointer */
#define ALLOC_SLOTS 32		/* of one, words of the stack it depends on */

/*
 * A call stack that was walked before. The walk depends on the return address
 * and stack pointer that it began with, on rbp in some, and on words that it
 * read: if all are as they were, so is the stack.
 */
struct alloc_cached {
	uint64_t ip;		/* 0: empty */
	uint64_t cfa;
	uint64_t rbp;
	uint32_t id;		/* 0: could not be told */
	uint8_t slots;
	uint8_t uses_rbp;
	uint8_t foreign;	/* not on the thread's own stack */
	uint8_t tries;		/* while id is 0 */
	uint32_t off[ALLOC_SLOTS];	/* from cfa, bytes */
	uint64_t value[ALLOC_SLOTS];
};

/* Not yet added to the stack's sum. */
struct alloc_count {
	uint64_t count;
	uint64_t bytes;
};

#define ALLOC_PAGE 4096
#define ALLOC_CLASSES 32	/* of sizes: thin.h */

/* What watching has cost since it was last added to the process' sums. */
struct alloc_meter {
	uint64_t calls, events, walks;
	uint64_t ticks;		/* scaled up from the calls that were timed */
	uint64_t cpu_ns;	/* of the thread, as far as it was added */
};

/* All that a fork wipes: the child has counted nothing. */
struct alloc_wiped {
	struct alloc_count skipped;
	struct alloc_count freed;	/* all frees */
	struct alloc_count sized[ALLOC_CLASSES];	/* by class, if thinned */
	struct alloc_meter meter;
	int32_t told;		/* tid that thread and tls were told of */
};

struct alloc_thread {
	/* Pages that a fork wipes. */
	struct alloc_count counts[ALLOC_CACHE];
	union {
		struct alloc_wiped w;
		char page[ALLOC_PAGE];
	};
	/* And what it keeps. */
	int32_t tid;		/* 0: free */
	uint32_t generation;	/* of the registry, when it was told */
	uint32_t cached;	/* of the registry, for all in the cache */
	uint32_t unloads;	/* of modules, likewise */
	uint32_t rounds;	/* of destructors, at its end */
	struct alloc_thread *next;	/* of all, ever */
	uint64_t low, high;	/* its stack; high is 0 if not known */
	uint64_t foreign_low, foreign_high;	/* another one, lately used */
	uint32_t foreign_unmaps;	/* valid as long as nothing was unmapped */
	/* thin.h */
	struct alloc_timer {
		uint32_t left;	/* calls until one is timed, */
		uint32_t gap;	/* for which it stands */
	} timer_made, timer_gone;
	uint64_t until_sample;	/* small objects until one is sampled, */
	uint32_t sample_level;	/* of so much weight; 0: none was drawn yet */
	/* Objects that need only be counted, at this turn of the level. */
	uint32_t quick, quick_given, quick_turn;
	uint64_t random;
	uint64_t last_tick;	/* TSC when its meter was flushed */
	uint32_t victim;	/* random: what goes out of the cache */
	struct alloc_cached cache[ALLOC_CACHE];
};

_Static_assert(offsetof(struct alloc_thread, tid) % ALLOC_PAGE == 0, "page");
#define ALLOC_WIPED offsetof(struct alloc_thread, tid)

#pragma GCC visibility push(hidden)

extern __thread struct alloc_thread *alloc_self ALLOC_TLS;
extern uint32_t alloc_unloads;	/* counts dlclose */
extern uint32_t alloc_unmaps;	/* of what may have been a foreign stack */

struct alloc_thread *alloc_thread_slow(uint64_t sp);

/*
 * The calling thread, told to all traces; NULL: it has ended, or no memory.
 * sp: its stack pointer.
 */
static inline struct alloc_thread *alloc_thread_get(uint64_t sp)
{
	struct alloc_thread *t = alloc_self;

	if (likely(t && t->generation == __atomic_load_n(moca_trace_generation,
							 __ATOMIC_RELAXED) &&
		   t->unloads == __atomic_load_n(&alloc_unloads,
						 __ATOMIC_RELAXED)))
		return t;
	return alloc_thread_slow(sp);
}

/* Once, in the constructor: keys, handlers of fork, where TLS is. */
void alloc_thread_init(void);
/* At exit: tell all that was counted, of all threads. */
void alloc_thread_finish(void);

/* The readable mapping that holds addr, from /proc. 0: there is none. */
int alloc_find_mapping(uint64_t addr, uint64_t *begin, uint64_t *end);
/*
 * The bounds of the stack that sp is on: *high is the end, up to which it can
 * be read. foreign: it is not the thread's own. 0: not known.
 */
int alloc_stack_bounds(struct alloc_thread *t, uint64_t sp, uint64_t *high,
		       int *foreign);
/*
 * [addr, addr + size) is about to go, or has gone: no foreign stack known may
 * be in it. To be called on both sides. 1: there may have been one.
 */
int alloc_stack_unmapped(uint64_t addr, uint64_t size);

#pragma GCC visibility pop

#endif
