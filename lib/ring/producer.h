/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The program's side of a buffer: one thread, and the signal handlers that
 * interrupt it, at any instruction. All of it is signal-safe; none of it
 * locks. doc/design/tracer.md has the protocol, tests/model/ring.pml its proof.
 */
#ifndef MOCA_RING_PRODUCER_H
#define MOCA_RING_PRODUCER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/ring/clock.h"
#include "lib/ring/layout.h"

/* What a thread knows of its buffer. Private memory; zero = no buffer. */
struct moca_ring {
	struct moca_ring_header *shm;	/* mapped */
	uint8_t *data;
	struct moca_doorbell *doorbell;	/* NULL: the collector polls */
	uint64_t size;			/* of all subbuffers */
	uint64_t last;			/* clock of about the last record */
	uint64_t floor;		/* no writer inside is at a place below */
	uint64_t stuck_limit;	/* limit at which waiting was in vain */
	uint64_t stuck_floor;	/* floor at which erasing had to wait, */
	uint64_t stuck_since;	/* and the clock then */
	uint32_t subbuf_size;
	uint32_t max_len;		/* of a payload */
	uint32_t clock;			/* enum moca_ring_clock */
	uint32_t mode;			/* enum moca_ring_mode */
	uint32_t timeout_ms;
	uint32_t nest;	/* writers inside, counted by the caller: before
			   reserve and after commit. The tracing level. */
	uint32_t left;	/* of nest: given up on, see left_inside() */
};

/*
 * Set up for the file mapped at base, whose header the collector has filled
 * in: it is checked against file_size. 0 or -EPROTO.
 */
int moca_ring_attach(struct moca_ring *r, void *base, size_t file_size,
		     struct moca_doorbell *doorbell);

/* The rest of moca_ring_reserve: a new subbuffer, a silence, no room. */
uint64_t *moca_ring_reserve_slow(struct moca_ring *r, unsigned id,
				 uint32_t bytes, uint64_t *position,
				 uint64_t *header);

/* Time for which the calling thread has waited for room, in all its buffers. */
extern __thread uint64_t moca_ring_waited_ns
	__attribute__((visibility("hidden")));

/* Close the current subbuffer, so that the collector gets it. */
void moca_ring_switch(struct moca_ring *r);

/* Count an event that was dropped. */
static inline void moca_ring_drop(struct moca_ring *r)
{
	/* Read by the consumer, at any time: moca_ring_take_lost. */
	__atomic_fetch_add(&r->shm->lost, 1, __ATOMIC_RELAXED);
}

/*
 * Compare and swap against this thread's own signal handlers only: nobody
 * else writes *p, so one instruction is enough, without a bus lock.
 */
static inline int moca_ring_cas(uint64_t *p, uint64_t old, uint64_t new_)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	char done;

	__asm__ volatile("cmpxchgq %3, %1"
			 : "=@ccz"(done), "+m"(*p), "+a"(old)
			 : "r"(new_)
			 : "memory");
	return done;
#elif defined(__i386__) && !defined(__SANITIZE_THREAD__)
	char done;

	__asm__ volatile("cmpxchg8b %1"
			 : "=@ccz"(done), "+m"(*p), "+A"(old)
			 : "b"((uint32_t)new_), "c"((uint32_t)(new_ >> 32))
			 : "memory");
	return done;
#else
	return __atomic_compare_exchange_n(p, &old, new_, 0, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
#endif
}

/*
 * Before anything of the payload: so a reader of what a dead thread left knows
 * the length, or finds zeros up to the next record.
 */
static inline void moca_ring_busy(uint64_t *p, uint64_t header)
{
	__atomic_store_n(p, header, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/*
 * Reserve a record with a payload of len bytes, at most r->max_len. Where the
 * record begins (its payload: one word on), or NULL: no room, counted. *header
 * and *position are for the commit.
 */
static inline uint64_t *moca_ring_reserve(struct moca_ring *r, unsigned id,
					  uint32_t len, uint64_t *position,
					  uint64_t *header)
{
	uint32_t bytes = (len + 15) & ~7u;
	uint64_t pos, clock, *p;

	/* A handler that comes before this is done sees an older floor. */
	if (r->nest <= r->left + 1)
		r->floor = __atomic_load_n(&r->shm->reserve, __ATOMIC_RELAXED);
	do {
		/*
		 * The clock is read between this load and the swap: a handler
		 * that comes between makes the swap fail, so times are in order.
		 */
		pos = __atomic_load_n(&r->shm->reserve, __ATOMIC_RELAXED);
		__asm__ volatile("" ::: "memory");
		clock = moca_clock_read(r->clock);
		/* Unsigned: offset 0 is as bad as one too near the end. */
		if (__builtin_expect(((uint32_t)pos & (r->subbuf_size - 1)) -
						     1 >=
					     r->subbuf_size - bytes ||
				     clock - r->last >= MOCA_REC_SILENCE, 0))
			return moca_ring_reserve_slow(r, id, bytes, position,
						      header);
	} while (!moca_ring_cas(&r->shm->reserve, pos, pos + bytes));
	r->last = clock;
	p = (uint64_t *)(r->data + (pos & (r->size - 1)));
	*position = pos;
	*header = moca_rec_make(clock, id, MOCA_REC_COMMITTED, bytes / 8);
	moca_ring_busy(p, moca_rec_make(clock, id, MOCA_REC_BUSY, bytes / 8));
	return p;
}

static inline void moca_ring_commit(struct moca_ring *r, uint64_t *p,
				    uint64_t position, uint64_t header)
{
	uint64_t limit = __atomic_load_n(&r->shm->limit, __ATOMIC_RELAXED);

	/* After a long time inside, the place may have been given up on. */
	if (__builtin_expect((int64_t)(limit - r->size - position) > 0, 0))
		return;
	/* Pairs with the consumer's acquire load: the payload is there. */
	__atomic_store_n(p, header, __ATOMIC_RELEASE);
}

#endif
