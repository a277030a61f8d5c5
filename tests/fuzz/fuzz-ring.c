// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ring's reader against a hostile program: a buffer with records, then
 * mutated, or all noise, and changed by a thread while it is being read.
 *
 *	fuzz-ring [-n ROUNDS] [-s SEED] [-o ONE]
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/ring/consumer.h"

#define SUBBUF 4096u
#define SUBBUFS 4u
#define SIZE (SUBBUF * SUBBUFS)
#define IDS 4u

static uint8_t *shm;
static const uint32_t id_end = MOCA_REC_FIRST + IDS;
static uint64_t state;
static unsigned current;	/* round */
static uint64_t noise_seed;	/* atomic; 0: the other thread rests */
static uint64_t scribbled;	/* atomic: how often it has scribbled */

static uint64_t next(uint64_t *s)
{
	uint64_t z = *s += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint64_t rnd(uint64_t n)
{
	return next(&state) % n;
}

static void bad(const char *what)
{
	fprintf(stderr, "fuzz-ring: error: %s, round %u\n", what, current);
	abort();
}

#define CHECK(cond)               \
	do {                      \
		if (!(cond))      \
			bad(#cond); \
	} while (0)

/* A header that may be believed, or half of one. */
static uint64_t header(uint64_t *s)
{
	uint64_t r = next(s);
	static const uint16_t ids[] = { MOCA_REC_PAD, MOCA_REC_SYNC, 2,
					MOCA_REC_FIRST, MOCA_REC_FIRST + 1,
					MOCA_REC_FIRST + IDS, MOCA_REC_LAST };
	static const uint16_t words[] = { 0, 1, 2, 3, 511, 512, 513, 4095 };

	switch (r % 8) {
	case 0:
		return 0;
	case 1:
		return next(s);
	default:
		return moca_rec_make(next(s), ids[r / 8 % 7],
				     r / 64 % 8 < 6 ? r / 64 % 2 + 1 : r / 64 % 4,
				     r / 1024 % 2 ? words[r / 2048 % 8] :
						    1 + r / 2048 % 40);
	}
}

/* A position near something. */
static uint64_t position(uint64_t *s)
{
	uint64_t r = next(s), base = r / 16 % 12 * SUBBUF;

	switch (r % 16) {
	case 0:
		return next(s);
	case 1:
		return base - 8;
	case 2:
		return base + r / 256 % SUBBUF;
	case 3:
		return ~0ull - base;
	case 4:
		return 1ull << 63 | base;
	case 5:
		return base;
	default:
		return base + r / 256 % SUBBUF / 8 * 8;
	}
}

static void scribble(uint64_t *s)
{
	struct moca_ring_header *h = (void *)shm;
	uint64_t r = next(s);
	uint64_t *p = (uint64_t *)(shm + MOCA_RING_DATA + r / 16 % SIZE / 8 * 8);

	switch (r % 16) {
	case 0:
		__atomic_store_n(&h->reserve, position(s), __ATOMIC_RELAXED);
		break;
	case 1:
		__atomic_store_n(&h->erased, position(s), __ATOMIC_RELAXED);
		break;
	case 2:
		__atomic_store_n(&h->limit, position(s), __ATOMIC_RELAXED);
		break;
	case 3:
		__atomic_store_n(&h->lost, next(s) >> r / 16 % 64,
				 __ATOMIC_RELAXED);
		break;
	case 4:
		__atomic_store_n(&h->waiting, (uint32_t)next(s),
				 __ATOMIC_RELAXED);
		break;
	case 5:	/* what the reader was told, and must not look up again */
		h->subbuf_size = (uint32_t)next(s);
		h->subbufs = (uint32_t)next(s);
		h->mode = (uint16_t)next(s);
		break;
	case 6:
		__atomic_store_n(p, next(s), __ATOMIC_RELAXED);
		break;
	default:
		__atomic_store_n(p, header(s), __ATOMIC_RELAXED);
	}
}

static void *scribbler(void *arg)
{
	uint64_t s = 0, seed;
	int i;

	for (;;) {
		seed = __atomic_load_n(&noise_seed, __ATOMIC_RELAXED);
		if (!seed) {
			usleep(20);
			continue;
		}
		s += seed;
		for (i = 0; i < 100; i++)
			scribble(&s);
		__atomic_fetch_add(&scribbled, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

/* Records as a program writes them, up to where it has got. */
static void fill(void)
{
	struct moca_ring_header *h = (void *)shm;
	uint64_t end = rnd(SIZE) / 8 * 8, pos = 0, clock = 1000, words, *p;
	uint64_t rest;

	memset(shm, 0, MOCA_RING_DATA + SIZE);
	while (pos < end) {
		p = (uint64_t *)(shm + MOCA_RING_DATA + pos);
		clock += rnd(1000);
		rest = (SUBBUF - pos % SUBBUF) / 8;
		words = pos % SUBBUF ? 1 + rnd(30) : 3;
		if (words > rest) {
			*p = moca_rec_make(0, MOCA_REC_PAD, MOCA_REC_COMMITTED,
					   1);
			pos += rest * 8;
			continue;
		}
		if (!(pos % SUBBUF)) {
			p[1] = clock;
			p[2] = rnd(100);
			*p = moca_rec_make(clock, MOCA_REC_SYNC,
					   MOCA_REC_COMMITTED, 3);
		} else {
			*p = moca_rec_make(clock, MOCA_REC_FIRST + rnd(IDS),
					   rnd(100) ? MOCA_REC_COMMITTED :
						      MOCA_REC_BUSY,
					   (unsigned)words);
		}
		pos += words * 8;
	}
	h->reserve = pos;
	h->limit = SIZE;
}

static void noise(void)
{
	uint64_t *p = (uint64_t *)shm, i;
	int headers = rnd(2);

	for (i = 0; i < (MOCA_RING_DATA + SIZE) / 8; i++)
		p[i] = headers ? header(&state) : next(&state);
	((struct moca_ring_header *)p)->reserve = position(&state);
	((struct moca_ring_header *)p)->erased = position(&state);
}

/* All that the caller relies on. */
static void check_batch(const struct moca_ring_reader *r,
			const struct moca_ring_batch *b)
{
	const uint64_t *p = b->records, *end = p + b->words;
	const uint64_t *copy = (const uint64_t *)r->copy;
	uint64_t c = b->clock_before, prev = 0;
	uint32_t events = 0;

	CHECK(b->end == r->pos);
	CHECK(b->end - b->begin > 0 && b->end - b->begin <= SUBBUF);
	CHECK(b->begin / SUBBUF == (b->end - 1) / SUBBUF);
	CHECK(p >= copy && end <= copy + SUBBUF / 8);
	CHECK(b->words * 8 <= b->end - b->begin);
	CHECK(b->corrupt <= b->end - b->begin);
	CHECK(b->torn <= (b->end - b->begin) / 8);
	CHECK(b->words * 8 + b->corrupt + 8ull * b->torn <=
	      b->end - b->begin);
	while (p < end) {
		unsigned id = moca_rec_id(*p), words = moca_rec_words(*p);

		CHECK(words && words <= (size_t)(end - p));
		CHECK(moca_rec_state(*p) == MOCA_REC_COMMITTED);
		if (id == MOCA_REC_SYNC) {
			CHECK(words == 3);
			/* The caller makes the same of it: never backwards. */
			if (!c || (int64_t)(p[1] - c) >= 0)
				c = p[1];
		} else {
			CHECK(id >= MOCA_REC_FIRST && id < id_end);
			c = moca_rec_clock(c, *p);
			if (!events)
				CHECK(c == b->clock_first);
			prev = c;
			events++;
		}
		p += words;
	}
	CHECK(events == b->events);
	CHECK(!events || prev == b->clock_last);
}

static void round_(unsigned one)
{
	struct moca_ring_reader r;
	struct moca_ring_batch b;
	uint64_t pos, n, lost = 0;
	int concurrent, released;
	uint32_t mode;

	current = one;
	state = one * 0x9e3779b9ull;
	mode = (uint32_t)rnd(3);
	concurrent = !rnd(8);
	released = rnd(2);
	if (rnd(4))
		fill();
	else
		noise();
	for (n = rnd(2) ? rnd(4) : rnd(200); n; n--)
		scribble(&state);
	CHECK(!moca_ring_reader_init(&r, shm, SUBBUF, SUBBUFS, mode));
	r.id_end = &id_end;
	if (!rnd(4) && mode != MOCA_RING_OVERWRITE)
		moca_ring_reader_seek(&r, rnd(SIZE) / 8 * 8);
	__atomic_store_n(&noise_seed, concurrent ? one + 1 : 0,
			 __ATOMIC_RELAXED);
	n = __atomic_load_n(&scribbled, __ATOMIC_RELAXED);
	while (concurrent && n == __atomic_load_n(&scribbled, __ATOMIC_RELAXED))
		sched_yield();
	for (n = 0; n < 200; n++) {
		pos = r.pos;
		if (!moca_ring_read(&r, (enum moca_ring_read_how)rnd(3), &b)) {
			CHECK(r.pos == pos || mode == MOCA_RING_OVERWRITE);
			continue;
		}
		CHECK(b.begin == pos || mode == MOCA_RING_OVERWRITE);
		check_batch(&r, &b);
		lost += b.lost;
		if (released && !rnd(3))
			moca_ring_release(&r);
	}
	lost += moca_ring_take_lost(&r);
	/*
	 * At the end: to the subbuffer's end by each call. How many calls is
	 * for the caller to bound, a lie about reserve goes around and around.
	 */
	for (n = 0; n < 2 * SUBBUFS; n++) {
		if (!moca_ring_read(&r, MOCA_READ_FINAL, &b))
			break;
		check_batch(&r, &b);
		if (released)
			moca_ring_release(&r);
		if (b.end % SUBBUF && !concurrent) {
			CHECK(!moca_ring_read(&r, MOCA_READ_FINAL, &b));
			break;
		}
	}
	__atomic_store_n(&noise_seed, 0, __ATOMIC_RELAXED);
	moca_ring_reader_free(&r);
}

int main(int argc, char **argv)
{
	unsigned n = 20000, i, seed = 1;
	pthread_t t;
	int c, one = -1;

	while ((c = getopt(argc, argv, "n:s:o:")) != -1) {
		if (c == 'n')
			n = atoi(optarg);
		else if (c == 's')
			seed = atoi(optarg);
		else if (c == 'o')
			one = atoi(optarg);
		else
			return 2;
	}
	shm = mmap(NULL, MOCA_RING_DATA + SIZE, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shm == MAP_FAILED || pthread_create(&t, NULL, scribbler, NULL))
		abort();
	alarm(600);	/* a reader that never returns */
	for (i = seed; i < seed + n; i++)
		round_(one < 0 ? i : (unsigned)one);
	return 0;
}
