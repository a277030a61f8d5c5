// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/ring/producer.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A writer that is in the way this long (5 to 17 s) was left by a longjmp. */
#define LEFT_INSIDE (1ull << 34)

#define WAIT_SLICE_MS 10

#ifdef SYS_futex
#define FUTEX_CALL SYS_futex
#else
#define FUTEX_CALL SYS_futex_time64
#endif

__thread uint64_t moca_ring_waited_ns;

static int power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

int moca_ring_attach(struct moca_ring *r, void *base, size_t file_size,
		     struct moca_doorbell *doorbell)
{
	struct moca_ring_header *h = base;
	uint64_t size;

	if (file_size < MOCA_RING_DATA || h->magic != MOCA_RING_MAGIC ||
	    h->version != MOCA_RING_VERSION || h->mode > MOCA_RING_BLOCK ||
	    h->clock > MOCA_CLOCK_TSC || !power_of_two(h->subbuf_size) ||
	    h->subbuf_size < MOCA_SUBBUF_MIN ||
	    h->subbuf_size > MOCA_SUBBUF_MAX || !power_of_two(h->subbufs) ||
	    h->subbufs < MOCA_SUBBUFS_MIN || h->subbufs > MOCA_SUBBUFS_MAX)
		return -EPROTO;
	size = (uint64_t)h->subbuf_size * h->subbufs;
	if (file_size - MOCA_RING_DATA < size)
		return -EPROTO;
	memset(r, 0, sizeof(*r));
	r->data = (uint8_t *)base + MOCA_RING_DATA;
	r->doorbell = doorbell;
	r->size = size;
	r->subbuf_size = h->subbuf_size;
	r->max_len = h->subbuf_size - MOCA_SYNC_BYTES - 8;
	if (r->max_len > (MOCA_REC_WORDS_MAX - 1) * 8)
		r->max_len = (MOCA_REC_WORDS_MAX - 1) * 8;
	r->clock = h->clock;
	r->mode = h->mode;
	r->timeout_ms = h->timeout_ms;
	r->stuck_limit = ~0ull;
	r->shm = h;	/* last: a handler may look */
	return 0;
}

static void ring_doorbell(struct moca_ring *r)
{
	struct moca_doorbell *d = r->doorbell;

	if (!d)
		return;
	/*
	 * Full barrier, pairs with the collector's: either it sees this
	 * count, or we see that it sleeps.
	 */
	__atomic_fetch_add(&d->rings, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&d->sleeping, __ATOMIC_SEQ_CST))
		syscall(FUTEX_CALL, &d->rings, FUTEX_WAKE, INT_MAX, NULL, NULL,
			0);
}

/* Wait until the consumer moved the limit, at most timeout_ms. 1: it did. */
static int wait_for_room(struct moca_ring *r, uint64_t limit)
{
	struct timespec slice = { 0, WAIT_SLICE_MS * 1000000 };
	uint64_t begin, end;
	int moved = 1;

	/* An outer writer may hold the consumer up; a dead one never moves. */
	if (r->nest > r->left + 1 || limit == r->stuck_limit)
		return 0;
	begin = moca_now_ns();
	end = begin + r->timeout_ms * 1000000ull;
	ring_doorbell(r);
	__atomic_store_n(&r->shm->waiting, 1, __ATOMIC_SEQ_CST);
	/* Little endian: the futex is the low half, which always changes. */
	while (__atomic_load_n(&r->shm->limit, __ATOMIC_ACQUIRE) == limit) {
		if ((int64_t)(moca_now_ns() - end) >= 0) {
			r->stuck_limit = limit;
			moved = 0;
			break;
		}
		syscall(FUTEX_CALL, &r->shm->limit, FUTEX_WAIT,
			(uint32_t)limit, &slice, NULL, 0);
	}
	moca_ring_waited_ns += moca_now_ns() - begin;
	return moved;
}

/* In one instruction, also at 32 bits: a handler may come at any moment. */
static void set_stuck(struct moca_ring *r, uint64_t since)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&r->stuck_since, since, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/*
 * Has what is in the way been there for so long that it was left? A handler that
 * comes amid this may set a later time, of the same floor: then the clock that was
 * read here is behind it.
 */
static int left_inside(struct moca_ring *r)
{
	uint64_t now = moca_clock_read(r->clock);
	int is_same = r->stuck_floor == r->floor;
	uint64_t since;

	/* Stored before the floor, read behind it: it is of this floor or later. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	since = __atomic_load_n(&r->stuck_since, __ATOMIC_RELAXED);
	if (!since || !is_same) {
		set_stuck(r, now);
		r->stuck_floor = r->floor;
		return 0;
	}
	if ((int64_t)(now - since) < (int64_t)LEFT_INSIDE)
		return 0;
	r->left = r->nest ? r->nest - 1 : 0;
	r->floor = __atomic_load_n(&r->shm->reserve, __ATOMIC_RELAXED);
	return 1;
}

/*
 * Erase the oldest subbuffer and raise the limit by it. Not when an outer
 * writer is just doing so, nor when it has a record there: 0. Else 1; look at
 * the limit again. At rest, erased + size is limit.
 */
static int erase_oldest(struct moca_ring *r, int needed)
{
	struct moca_ring_header *h = r->shm;
	uint64_t limit = __atomic_load_n(&h->limit, __ATOMIC_RELAXED);
	uint64_t erased = __atomic_load_n(&h->erased, __ATOMIC_RELAXED);
	uint64_t from = limit - r->size;

	if (erased != from || (int64_t)(from + r->subbuf_size - r->floor) > 0) {
		if (__atomic_load_n(&h->limit, __ATOMIC_RELAXED) != limit)
			return 1;	/* a handler did it meanwhile */
		if (!needed || !left_inside(r))
			return 0;
	}
	/* Of the handlers that come here, one wins. */
	if (erased == from &&
	    !moca_ring_cas(&h->erased, from, from + r->subbuf_size))
		return 1;
	/* Pairs with the consumer's look at erased after it has copied. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memset(r->data + (from & (r->size - 1)), 0, r->subbuf_size);
	__atomic_store_n(&h->limit, limit + r->subbuf_size, __ATOMIC_RELEASE);
	set_stuck(r, 0);
	return 1;
}

/* May the subbuffer at start be entered? 1, or 0: there is no room. */
static int make_room(struct moca_ring *r, uint64_t start)
{
	uint64_t limit = __atomic_load_n(&r->shm->limit, __ATOMIC_ACQUIRE);

	while ((int64_t)(start + r->subbuf_size - limit) > 0) {
		if (r->mode == MOCA_RING_DISCARD ||
		    (r->mode == MOCA_RING_OVERWRITE && !erase_oldest(r, 1)) ||
		    (r->mode == MOCA_RING_BLOCK && !wait_for_room(r, limit)))
			return 0;
		limit = __atomic_load_n(&r->shm->limit, __ATOMIC_ACQUIRE);
	}
	return 1;
}

/* Keep one subbuffer ahead ready, for the handlers that come meanwhile. */
static void erase_ahead(struct moca_ring *r, uint64_t start)
{
	if ((int64_t)(start + 2 * r->subbuf_size -
		      __atomic_load_n(&r->shm->limit, __ATOMIC_RELAXED)) > 0)
		erase_oldest(r, 0);
}

static uint64_t *word_at(struct moca_ring *r, uint64_t pos)
{
	return (uint64_t *)(r->data + (pos & (r->size - 1)));
}

static void write_sync(struct moca_ring *r, uint64_t pos, uint64_t clock)
{
	struct moca_sync sync = {
		.clock = clock,
		.lost = __atomic_load_n(&r->shm->lost, __ATOMIC_RELAXED),
	};
	uint64_t *p = word_at(r, pos);

	moca_ring_busy(p, moca_rec_make(clock, MOCA_REC_SYNC, MOCA_REC_BUSY,
					MOCA_SYNC_BYTES / 8));
	memcpy(p + 1, &sync, sizeof(sync));
	moca_ring_commit(r, p, pos,
			 moca_rec_make(clock, MOCA_REC_SYNC, MOCA_REC_COMMITTED,
				       MOCA_SYNC_BYTES / 8));
}

static void write_pad(struct moca_ring *r, uint64_t pos)
{
	moca_ring_commit(r, word_at(r, pos), pos,
			 moca_rec_make(0, MOCA_REC_PAD, MOCA_REC_COMMITTED, 1));
}

/*
 * One try: reserve bytes, with a SYNC before them. Returns 1 and *pos where
 * they begin; 0: a handler came between; -1: no room.
 */
static int try_reserve(struct moca_ring *r, uint32_t bytes, uint64_t *where,
		       uint64_t *clock)
{
	uint64_t pos = __atomic_load_n(&r->shm->reserve, __ATOMIC_RELAXED);
	uint64_t m = r->subbuf_size - 1, off = pos & m, start;

	__asm__ volatile("" ::: "memory");	/* as in moca_ring_reserve */
	*clock = moca_clock_read(r->clock);
	if (off && off + MOCA_SYNC_BYTES + bytes <= r->subbuf_size) {
		start = pos;
		off = 0;
	} else {
		start = (pos + m) & ~m;
		if (!make_room(r, start))
			return -1;
	}
	/* A handler that comes before our SYNC is there writes its own. */
	r->last = *clock - MOCA_REC_SILENCE;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!moca_ring_cas(&r->shm->reserve, pos,
			   start + MOCA_SYNC_BYTES + bytes))
		return 0;
	if (off)
		write_pad(r, pos);
	write_sync(r, start, *clock);
	r->last = *clock;
	*where = start + MOCA_SYNC_BYTES;
	return 1;
}

uint64_t *moca_ring_reserve_slow(struct moca_ring *r, unsigned id,
				 uint32_t bytes, uint64_t *position,
				 uint64_t *header)
{
	int saved_errno = errno, ret;
	uint64_t clock, *p;

	do {
		ret = try_reserve(r, bytes, position, &clock);
	} while (!ret);
	if (ret < 0) {
		moca_ring_drop(r);
		errno = saved_errno;
		return NULL;
	}
	p = word_at(r, *position);
	*header = moca_rec_make(clock, id, MOCA_REC_COMMITTED, bytes / 8);
	moca_ring_busy(p, moca_rec_make(clock, id, MOCA_REC_BUSY, bytes / 8));
	/* Was a subbuffer entered? Then the one before it is complete. */
	if ((*position & (r->subbuf_size - 1)) == MOCA_SYNC_BYTES) {
		if (r->mode == MOCA_RING_OVERWRITE)
			erase_ahead(r, *position - MOCA_SYNC_BYTES);
		else
			ring_doorbell(r);
	}
	errno = saved_errno;
	return p;
}

void moca_ring_switch(struct moca_ring *r)
{
	uint64_t pos, m = r->subbuf_size - 1;
	int saved_errno = errno;

	do {
		pos = __atomic_load_n(&r->shm->reserve, __ATOMIC_RELAXED);
		if (!(pos & m))
			goto out;
	} while (!moca_ring_cas(&r->shm->reserve, pos, (pos + m) & ~m));
	write_pad(r, pos);
out:
	ring_doorbell(r);
	errno = saved_errno;
}
