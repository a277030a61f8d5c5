/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The buffer of one thread in one trace, as the traced program (producer) and
 * the collector (consumer) share it: a file of one header page and subbufs *
 * subbuf_size bytes of records. doc/design/tracer.md has the protocol.
 *
 * The same for 32- and 64-bit programs. Little endian.
 */
#ifndef MOCA_RING_LAYOUT_H
#define MOCA_RING_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define MOCA_RING_MAGIC 0x4d6f5267u
#define MOCA_RING_VERSION 1
#define MOCA_RING_DATA 4096u	/* offset of the records in the file */

#define MOCA_SUBBUF_MIN (4u << 10)
#define MOCA_SUBBUF_MAX (16u << 20)
#define MOCA_SUBBUFS_MIN 2u
#define MOCA_SUBBUFS_MAX 1024u

enum moca_ring_mode {
	MOCA_RING_DISCARD = 0,		/* full: drop the new event, count it */
	MOCA_RING_OVERWRITE = 1,	/* full: forget the oldest subbuffer */
	MOCA_RING_BLOCK = 2,		/* full: wait, at most timeout_ms */
};

enum moca_ring_clock {
	MOCA_CLOCK_MONOTONIC = 0,	/* ns of CLOCK_MONOTONIC */
	MOCA_CLOCK_TSC = 1,		/* ticks of the time stamp counter */
};

/*
 * Positions count bytes of records since the beginning and never wrap; the
 * byte at position p is at p modulo the size of all subbuffers. They are
 * compared by the sign of their difference.
 */
struct moca_ring_header {
	/* Set by the collector before the program sees the buffer. */
	uint32_t magic;
	uint16_t version;
	uint16_t mode;		/* enum moca_ring_mode */
	uint64_t session;
	uint64_t incarnation;	/* of the process: anew by fork and exec */
	uint32_t stream;	/* number of the buffer in its trace */
	uint32_t pid;
	uint32_t tid;
	uint32_t clock;		/* enum moca_ring_clock */
	uint32_t subbuf_size;	/* bytes, a power of two */
	uint32_t subbufs;	/* a power of two */
	uint32_t timeout_ms;	/* of MOCA_RING_BLOCK */
	uint32_t word_bits;	/* of the program: 32 or 64 */
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	char name[16];		/* of the thread, NUL-terminated */

	/* Written by the producer. */
	uint64_t reserve __attribute__((aligned(128))); /* end of reserved */
	uint64_t lost;		/* events dropped so far */
	uint64_t erased;	/* what lies below is overwritten, or about to */
	uint32_t ended;		/* 1: the thread will write no more */
	uint32_t waiting;	/* 1: it sleeps on limit; the consumer clears it */

	/*
	 * How far the producer may reserve. Written by the consumer; when
	 * overwriting, by the producer.
	 */
	uint64_t limit __attribute__((aligned(128)));
	uint64_t saved;		/* below: is in the trace directory */
};

_Static_assert(offsetof(struct moca_ring_header, session) == 8, "layout");
_Static_assert(offsetof(struct moca_ring_header, start_ns) == 56, "layout");
_Static_assert(offsetof(struct moca_ring_header, reserve) == 128, "layout");
_Static_assert(offsetof(struct moca_ring_header, limit) == 256, "layout");
_Static_assert(sizeof(struct moca_ring_header) <= MOCA_RING_DATA, "layout");

/*
 * A record is 8-byte words: a header, then the payload. A header of 0 is a
 * record that is not there yet: memory is zeroed before it is handed out.
 *
 *   bits  0..11  length in words, header included
 *   bits 12..13  state
 *   bits 14..27  id: what the payload is
 *   bits 28..63  the low bits of the clock
 *
 * No record crosses the end of a subbuffer. Each subbuffer begins with a SYNC
 * record, and so does what follows a silence of over 2^35 ticks: so each time
 * can be told from the one before.
 */
#define MOCA_REC_WORDS_MAX 4095u
#define MOCA_REC_BUSY 1u
#define MOCA_REC_COMMITTED 2u

#define MOCA_REC_PAD 0u		/* id: nothing follows in this subbuffer */
#define MOCA_REC_SYNC 1u	/* id: payload is struct moca_sync */
#define MOCA_REC_FIRST 16u	/* ids of events, up to MOCA_REC_LAST */
#define MOCA_REC_LAST 16383u

#define MOCA_REC_TIME_BITS 36
#define MOCA_REC_TIME_MASK ((1ull << MOCA_REC_TIME_BITS) - 1)
#define MOCA_REC_SILENCE (1ull << (MOCA_REC_TIME_BITS - 1))

struct moca_sync {
	uint64_t clock;		/* whole */
	uint64_t lost;		/* events dropped before this point */
};

#define MOCA_SYNC_BYTES 24u	/* header and payload */

static inline uint64_t moca_rec_make(uint64_t clock, unsigned id,
				     unsigned state, unsigned words)
{
	return clock << 28 | (uint64_t)id << 14 | state << 12 | words;
}

static inline unsigned moca_rec_words(uint64_t h)
{
	return h & 4095;
}

static inline unsigned moca_rec_state(uint64_t h)
{
	return h >> 12 & 3;
}

static inline unsigned moca_rec_id(uint64_t h)
{
	return h >> 14 & 16383;
}

static inline uint64_t moca_rec_time(uint64_t h)
{
	return h >> 28;
}

/*
 * The whole clock of a record, from that of the record before it. Times in a
 * buffer never decrease, but for what a CPU reorders: that is cut to 0.
 */
static inline uint64_t moca_rec_clock(uint64_t before, uint64_t h)
{
	uint64_t d = (moca_rec_time(h) - before) & MOCA_REC_TIME_MASK;

	return d > MOCA_REC_SILENCE + MOCA_REC_SILENCE / 2 ? before :
							      before + d;
}

/*
 * How the collector is woken: one page per trace, that all its programs write
 * to. What is in it is never believed, and a lost wake-up costs a poll period.
 */
struct moca_doorbell {
	uint32_t rings;		/* futex */
	uint32_t sleeping;	/* 1: wake me */
	uint32_t served;	/* requests that the collector has answered: who
				   waits for his answer sees that it is alive */
};

#endif
