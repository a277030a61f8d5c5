/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making records of events, for tests. */
#ifndef TESTS_UNIT_EVENT_UTIL_H
#define TESTS_UNIT_EVENT_UTIL_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/format/event-writer.h"
#include "lib/ring/layout.h"

struct records {
	uint64_t words[65536];
	size_t count;		/* of words */
	uint32_t events;
	uint64_t first;		/* clock of the first and last event */
	uint64_t last;
	/* The payload of the next event. */
	uint8_t payload[8 * MOCA_REC_WORDS_MAX];
	size_t len;
};

static inline void records_reset(struct records *r)
{
	r->count = r->len = 0;
	r->events = 0;
}

static inline void records_sync(struct records *r, uint64_t clock)
{
	r->words[r->count++] = moca_rec_make(clock, MOCA_REC_SYNC,
					     MOCA_REC_COMMITTED, 3);
	r->words[r->count++] = clock;
	r->words[r->count++] = 0;
}

static inline void payload_put(struct records *r, const void *p, size_t len)
{
	memcpy(r->payload + r->len, p, len);
	r->len += len;
}

static inline void payload_int(struct records *r, uint64_t v, size_t size)
{
	payload_put(r, &v, size);	/* little endian, as are all we run on */
}

static inline void payload_string(struct records *r, const char *s)
{
	payload_put(r, s, strlen(s) + 1);
}

/* An event with the payload gathered; its padding is rubbish. */
static inline void records_event(struct records *r, uint64_t clock,
				 unsigned id)
{
	size_t words = 1 + (r->len + 7) / 8;

	if (r->count + words > sizeof(r->words) / 8)
		abort();
	r->words[r->count] = moca_rec_make(clock, id, MOCA_REC_COMMITTED,
					   (unsigned)words);
	memset(&r->words[r->count + 1], 0xa5, 8 * (words - 1));
	memcpy(&r->words[r->count + 1], r->payload, r->len);
	r->count += words;
	if (!r->events++)
		r->first = clock;
	r->last = clock;
	r->len = 0;
}

/* A chunk of the records, whose clock is ns. */
static inline struct moca_event_chunk records_chunk(const struct records *r,
						     uint32_t stream)
{
	return (struct moca_event_chunk){
		.stream = stream, .events = r->events, .records = r->words,
		.words = r->count, .end = 8 * r->count, .clock1 = 1, .ns1 = 1,
		.begin_ns = r->first, .end_ns = r->last,
	};
}

#endif
