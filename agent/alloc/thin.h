/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Recording less of allocations, so that they cost no more than they may. At
 * level 0 all is recorded. At level n > 0, of the objects below alloc_thin.min
 * (which rises with n) one in 2^n is sampled: its stack, its place and its end
 * are told, with its weight. The others are counted by size, exactly, and what
 * readers knew of such objects' places is void (event `thinned`). So no byte
 * is ever taken for an object that it is not of.
 *
 * Who sets the level: level= of MOCA_ALLOC, for good; else the higher one of
 * what the recorder wants (lib/ring/meter.h) and what the process finds
 * necessary to hold budget= (include/abi/agent.h). It measures one call in 64.
 */
#ifndef MOCA_ALLOC_THIN_H
#define MOCA_ALLOC_THIN_H

#include <stddef.h>
#include <stdint.h>

#include "agent/alloc/thread.h"
#include "agent/alloc/watch.h"

#pragma GCC visibility push(hidden)

struct alloc_thin {
	uint32_t level;
	/*
	 * How often the level has changed: who wrote an event by an old level
	 * sees that it has (record.c).
	 */
	uint32_t turn;
	size_t min;		/* objects from here on are told one by one */
	uint32_t tracks;	/* 1: frees are to be looked up, alloc_untrack */
	/* Of MOCA_ALLOC, before the first event. */
	uint32_t fixed;		/* 1: the level stays */
	uint32_t budget;	/* permille of CPU time; 0: none is to be held */
	uint64_t seed;		/* 0: another one in each process */
} __attribute__((aligned(64)));

extern struct alloc_thin alloc_thin;

/* Once, when the configuration is known. */
void alloc_thin_init(void);

/*
 * Is the object at p one whose end is told although it is small? Then it is
 * not from now on. For any thread, at any time.
 */
int alloc_untrack(const void *p);
/* From now on it is. 0: there is no room for it. */
int alloc_track(const void *p);

/* The next of the thread's calls that is to be sampled has come. */
void alloc_sample(struct alloc_thread *t, const void *p, size_t size,
		  unsigned kind, const struct alloc_frame *f);

/*
 * Which class of sizes: its objects have less than 2^class bytes, and at least
 * half of that.
 */
static inline unsigned alloc_class(size_t size)
{
	unsigned c = size ? 64 - __builtin_clzll(size) : 0;

	return c < ALLOC_CLASSES ? c : ALLOC_CLASSES - 1;
}

/*
 * An object was made that only has to be counted: done. 0: there is more to be
 * done, or it is not known.
 */
static inline int alloc_made_quick(size_t size)
{
	struct alloc_thread *t = alloc_self;
	struct alloc_count *c;

	if (unlikely(!t || !t->quick || size >= alloc_thin.min ||
		     t->quick_turn != __atomic_load_n(&alloc_thin.turn,
						      __ATOMIC_RELAXED)))
		return 0;
	t->quick--;
	c = &t->w.sized[alloc_class(size)];
	c->count++;
	c->bytes += size;
	return 1;
}

/*
 * The objects whose ends are told although they are small: by the 43 bits of
 * an address above its lowest four, mixed so that nothing is lost; 14 of them
 * choose two places, 29 stand in one of these. 0: free.
 */
#define ALLOC_PLACES (1u << 14)
#define ALLOC_ADDRESS_BITS 43
#define ALLOC_KEY_BITS 29

extern uint64_t alloc_tracked[ALLOC_PLACES];

static inline uint64_t *alloc_place(const void *p, uint32_t *key)
{
	uint64_t h = (uint64_t)p >> 4;

	h = h * 0x9e3779b97f4a7c15ull & ((1ull << ALLOC_ADDRESS_BITS) - 1);
	*key = (h & ((1u << ALLOC_KEY_BITS) - 1)) + 1;
	return &alloc_tracked[h >> ALLOC_KEY_BITS];
}

/*
 * An object is about to be freed, by free: 1 if nothing of it is to be told; it
 * has been counted. 0: there is more to be done, or it is not known.
 */
static inline int alloc_gone_quick(const void *p)
{
	struct alloc_thread *t = alloc_self;
	uint64_t both;
	uint32_t key;
	size_t usable;

	if (unlikely(!t || t->timer_gone.left <= 1 || !alloc_real.usable))
		return 0;
	usable = alloc_real.usable((void *)p);
	if (unlikely(usable >= alloc_thin.min))
		return 0;
	if (alloc_thin.tracks) {
		/* Pairs with alloc_track, as p came to this thread later. */
		both = __atomic_load_n(alloc_place(p, &key), __ATOMIC_RELAXED);
		if (unlikely((uint32_t)both == key || both >> 32 == key))
			return 0;
	}
	t->timer_gone.left--;
	t->w.freed.count++;
	t->w.freed.bytes += usable;
	return 1;
}

/* Before any more is done with t: what was done so is done. */
static inline void alloc_quick_end(struct alloc_thread *t)
{
	uint32_t done = t->quick_given - t->quick;

	t->timer_made.left -= done;
	t->until_sample -= done;
	t->quick = t->quick_given = 0;
}

static inline void alloc_quick_begin(struct alloc_thread *t, uint32_t turn)
{
	uint64_t n = t->until_sample;

	if (n > t->timer_made.left)
		n = t->timer_made.left;
	t->quick = t->quick_given = n ? n - 1 : 0;
	t->quick_turn = turn;
}

/* 1: this call is to be timed, by alloc_time and alloc_timed. */
static inline int alloc_is_timed(struct alloc_timer *t)
{
	return unlikely(!--t->left);
}

struct alloc_timing {
	uint64_t tsc, waited;
};

void alloc_time(struct alloc_timing *begin);
/* Of the thread itself: what it took; from time to time: is it too much? */
void alloc_timed(struct alloc_thread *t, struct alloc_timer *timer,
		 const struct alloc_timing *begin);

/* A thread begins, and its meter with it; or it is told of in a later trace. */
void alloc_meter_begin(struct alloc_thread *t);
void alloc_thin_tell(void);
/* What it has counted and measured since, added to the process' sums. */
void alloc_meter_flush(struct alloc_thread *t);
/* At exit: tell all counts of all threads that were flushed. */
void alloc_sized_tell_all(void);

#pragma GCC visibility pop

#endif
