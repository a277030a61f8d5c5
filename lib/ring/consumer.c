// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/ring/consumer.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ERASED_TRIES 64		/* a program that erases faster is hostile */
#define LOST_MAX (1ull << 48)	/* a larger jump is no count */

int moca_ring_reader_init(struct moca_ring_reader *r, void *base,
			  uint32_t subbuf_size, uint32_t subbufs,
			  uint32_t mode)
{
	memset(r, 0, sizeof(*r));
	r->copy = malloc(subbuf_size);
	if (!r->copy)
		return -ENOMEM;
	r->shm = base;
	r->data = (uint8_t *)base + MOCA_RING_DATA;
	r->subbuf_size = subbuf_size;
	r->size = (uint64_t)subbuf_size * subbufs;
	r->mode = mode;
	return 0;
}

void moca_ring_reader_free(struct moca_ring_reader *r)
{
	free(r->copy);
	r->copy = NULL;
}

static uint64_t load_word(const uint8_t *p)
{
	/* Pairs with the release store in moca_ring_commit. */
	return __atomic_load_n((const uint64_t *)p, __ATOMIC_ACQUIRE);
}

/*
 * How far the records in shared memory are committed, from offset off on. What
 * makes no sense is left to parse(), which sees the copy: then it is `to`.
 */
static uint64_t committed_end(const uint8_t *sub, uint64_t off, uint64_t to)
{
	uint64_t h, words;

	while (off < to) {
		h = load_word(sub + off);
		words = moca_rec_words(h);
		if (!h || moca_rec_state(h) == MOCA_REC_BUSY)
			return off;
		if (!words || words * 8 > to - off ||
		    moca_rec_id(h) == MOCA_REC_PAD)
			return to;
		off += words * 8;
	}
	return off;
}

/* A count that the program tells. */
static uint64_t new_losses(struct moca_ring_reader *r, uint64_t lost)
{
	uint64_t d = lost - r->lost;

	if (d > LOST_MAX)
		return 0;
	r->lost = lost;
	return d;
}

static void take_sync(struct moca_ring_reader *r, const uint8_t *payload,
		      struct moca_ring_batch *out)
{
	struct moca_sync sync;

	memcpy(&sync, payload, sizeof(sync));
	if (r->clock && (int64_t)(sync.clock - r->clock) < 0)
		sync.clock = r->clock;
	r->clock = sync.clock;
	out->lost += new_losses(r, sync.lost);
}

struct parse {
	struct moca_ring_reader *r;
	struct moca_ring_batch *out;
	uint64_t off, to;
	uint64_t kept;		/* end of the records kept, in the copy */
	int final;
};

static void keep(struct parse *p, uint64_t bytes)
{
	if (p->kept != p->off)
		memmove(p->r->copy + p->kept, p->r->copy + p->off, bytes);
	p->kept += bytes;
}

static void corrupt(struct parse *p)
{
	p->out->corrupt += p->to - p->off;
	p->off = p->to;
}

static void take_event(struct parse *p, uint64_t h)
{
	p->r->clock = moca_rec_clock(p->r->clock, h);
	if (!p->out->events++)
		p->out->clock_first = p->r->clock;
	p->out->clock_last = p->r->clock;
}

/* What is not committed. 0: stop here. */
static int step_over(struct parse *p, uint64_t h)
{
	uint64_t words = moca_rec_words(h);

	if (!p->final) {
		p->out->busy = 1;
		return 0;
	}
	if (h) {	/* busy: the length is known; SYNC is no event */
		p->out->torn += moca_rec_id(h) != MOCA_REC_SYNC;
		p->off += words * 8;
		return 1;
	}
	/* Reserved, and nothing written: zero up to the next record. */
	p->out->torn++;
	do {
		p->off += 8;
		if (p->off >= p->to)
			return 1;
		memcpy(&h, p->r->copy + p->off, 8);
	} while (!h);
	return 1;
}

static void parse(struct parse *p)
{
	struct moca_ring_reader *r = p->r;
	uint64_t h, words;
	unsigned id, id_end = MOCA_REC_FIRST;

	/* Pairs with the release store of who gives out ids. */
	if (r->id_end)
		id_end = __atomic_load_n(r->id_end, __ATOMIC_ACQUIRE);

	while (p->off < p->to) {
		memcpy(&h, r->copy + p->off, 8);
		words = moca_rec_words(h);
		id = moca_rec_id(h);
		if (h && (!words || words * 8 > p->to - p->off ||
			  !moca_rec_state(h) || moca_rec_state(h) == 3)) {
			corrupt(p);
		} else if (!h || moca_rec_state(h) == MOCA_REC_BUSY) {
			if (!step_over(p, h))
				return;
		} else if (id == MOCA_REC_PAD && p->to == r->subbuf_size) {
			p->off = p->to;
		} else if (id == MOCA_REC_SYNC && words == 3) {
			take_sync(r, r->copy + p->off + 8, p->out);
			keep(p, words * 8);
			p->off += words * 8;
		} else if (id >= MOCA_REC_FIRST && id < id_end && r->clock) {
			take_event(p, h);
			keep(p, words * 8);
			p->off += words * 8;
		} else {
			corrupt(p);
		}
	}
}

/* Copy what may be read of the subbuffer at start, up to offset to. */
static uint64_t copy_out(struct moca_ring_reader *r, uint64_t start,
			 uint64_t from, uint64_t to, int final, int *busy)
{
	const uint8_t *sub = r->data + (start & (r->size - 1));
	uint64_t end = committed_end(sub, from, to);

	*busy = end < to;
	if (final)
		end = to;
	memcpy(r->copy + from, sub + from, end - from);
	return end;
}

/* Where reading may go on when overwritten. 1: something was skipped. */
static int skip_erased(struct moca_ring_reader *r)
{
	uint64_t erased = __atomic_load_n(&r->shm->erased, __ATOMIC_ACQUIRE);

	erased &= ~(r->subbuf_size - 1);
	if (r->mode != MOCA_RING_OVERWRITE || (int64_t)(erased - r->pos) <= 0)
		return 0;
	r->pos = erased;
	r->clock = 0;
	return 1;
}

/* The end of what was reserved, as far as it can be true. */
static uint64_t reserved_end(struct moca_ring_reader *r)
{
	uint64_t reserve = __atomic_load_n(&r->shm->reserve, __ATOMIC_ACQUIRE);
	uint64_t most = (r->pos & ~(r->subbuf_size - 1)) + r->size;

	reserve &= ~7ull;	/* or the last word would be half outside */
	return (int64_t)(reserve - most) > 0 ? most : reserve;
}

static int read_subbuf(struct moca_ring_reader *r, enum moca_ring_read_how how,
		       struct moca_ring_batch *out)
{
	uint64_t start = r->pos & ~(r->subbuf_size - 1), to, tries = 0;
	struct parse p = { .r = r, .out = out, .final = how == MOCA_READ_FINAL };
	int busy;

	do {
		skip_erased(r);
		start = r->pos & ~(r->subbuf_size - 1);
		to = reserved_end(r) - start;
		if ((int64_t)(to - (r->pos - start)) <= 0)
			return 0;
		if (to > r->subbuf_size)
			to = r->subbuf_size;
		if (how == MOCA_READ_WHOLE && to < r->subbuf_size)
			return 0;
		p.off = r->pos - start;
		p.to = copy_out(r, start, p.off, to, p.final, &busy);
		/* Pairs with the fence in prepare(): is the copy still true? */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (skip_erased(r) && ++tries < ERASED_TRIES);
	if (tries == ERASED_TRIES)
		return 0;
	out->begin = r->pos;
	out->clock_before = r->clock;
	out->busy = busy && !p.final;
	out->records = (const uint64_t *)(r->copy + p.off);
	p.kept = p.off;
	parse(&p);
	out->words = (p.kept - (out->begin - start)) / 8;
	r->pos = start + p.off;
	out->end = r->pos;
	return r->pos != out->begin;
}

int moca_ring_read(struct moca_ring_reader *r, enum moca_ring_read_how how,
		   struct moca_ring_batch *out)
{
	memset(out, 0, sizeof(*out));
	return read_subbuf(r, how, out);
}

int moca_ring_reader_seek(struct moca_ring_reader *r, uint64_t pos)
{
	uint64_t start = pos & ~(r->subbuf_size - 1);
	struct moca_ring_batch batch = { 0 };
	struct parse p = { .r = r, .out = &batch, .final = 1 };

	if (pos % 8 || r->mode == MOCA_RING_OVERWRITE)
		return -EINVAL;
	r->pos = start;
	p.to = copy_out(r, start, 0, pos - start, 1, &batch.busy);
	parse(&p);
	r->pos = pos;
	r->released = start;
	return 0;
}

void moca_ring_release(struct moca_ring_reader *r)
{
	uint64_t limit = r->released + r->size;

	__atomic_store_n(&r->shm->saved, r->pos, __ATOMIC_RELAXED);
	if (r->mode == MOCA_RING_OVERWRITE)
		return;
	while (r->pos - r->released >= r->subbuf_size) {
		memset(r->data + (r->released & (r->size - 1)), 0,
		       r->subbuf_size);
		r->released += r->subbuf_size;
		/* Pairs with make_room's acquire: the memory is zero. */
		__atomic_store_n(&r->shm->limit, r->released + r->size,
				 __ATOMIC_SEQ_CST);
	}
	if (limit != r->released + r->size &&
	    __atomic_exchange_n(&r->shm->waiting, 0, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &r->shm->limit, FUTEX_WAKE, INT_MAX, NULL,
			NULL, 0);
}

uint64_t moca_ring_take_lost(struct moca_ring_reader *r)
{
	return new_losses(r, __atomic_load_n(&r->shm->lost, __ATOMIC_RELAXED));
}
