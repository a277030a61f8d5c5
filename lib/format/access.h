/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Access records to and from the streams of a chunk; see doc/format.md. */
#ifndef MOCA_FORMAT_ACCESS_H
#define MOCA_FORMAT_ACCESS_H

#include <stddef.h>
#include <stdint.h>

#include <moca/types.h>

#include "lib/format/chunk.h"
#include "lib/format/column.h"
#include "lib/format/distinct.h"
#include "lib/format/stream.h"

#define MOCA_PAGE_SHIFT 12	/* of the format, whatever the machine's is */
#define MOCA_PAGE_MASK ((1ull << MOCA_PAGE_SHIFT) - 1)

enum moca_access_stream {
	MOCA_S_PAGES = 1,	/* gaps of the sorted distinct pages; + rest */
	MOCA_S_RANK = 3,	/* each record's place among them; + rest */
	MOCA_S_STEP = 5,	/* or its distance from the predicted; + rest */
	MOCA_S_OFFSET = 7,	/* in the page: low byte; + high byte */
	MOCA_S_IPS = 9,		/* the distinct ips; + rest */
	MOCA_S_IP = 11,		/* index into them: low byte; + high byte */
	MOCA_S_TIME = 13,	/* time to the record before; + rest */
	MOCA_S_TIME_MIN = 15,	/* varint taken off each of them */
	MOCA_S_CPU = 16,	/* low byte; + high byte */
	MOCA_S_TYPE = 18,	/* two bits each */
	MOCA_S_MODE = 19,	/* one bit each */
	MOCA_S_NODE = 20,	/* plus one: low byte; + high byte */
	MOCA_S_PHYS = 22,	/* of each distinct page; + rest */
	MOCA_S_WEIGHT = 24,	/* a byte each: its power of two; 13 = none */
	MOCA_S_STACKS = 25,	/* the distinct call stacks; + rest */
	MOCA_S_STACK = 27,	/* index into them: low byte; + high byte */
};

#define MOCA_WEIGHT_NONE 13	/* in MOCA_S_WEIGHT: the record weighs 0 */

/* What records are put together from, beside low and high (of the offset). */
struct moca_access_planes {
	uint8_t ip[2][MOCA_CHUNK_RECORDS_MAX];	/* low, high; an index into keys */
	uint8_t stack[2][MOCA_CHUNK_RECORDS_MAX];	/* ... into stacks */
	uint8_t cpu[2][MOCA_CHUNK_RECORDS_MAX];
	uint8_t node[2][MOCA_CHUNK_RECORDS_MAX];
	uint8_t weight[MOCA_CHUNK_RECORDS_MAX];
	uint8_t type[MOCA_CHUNK_RECORDS_MAX / 4];
	uint8_t mode[MOCA_CHUNK_RECORDS_MAX / 8];
	uint64_t stacks[MOCA_CHUNK_RECORDS_MAX];
	size_t ip_count;
	size_t stack_count;
	uint64_t time_min;
};

/* Memory for one chunk's worth of work, of a writer or of a cursor. */
struct moca_access_scratch {
	uint64_t values[MOCA_CHUNK_RECORDS_MAX];
	uint64_t keys[MOCA_CHUNK_RECORDS_MAX];
	uint64_t pfns[MOCA_CHUNK_RECORDS_MAX];
	uint32_t follower[MOCA_CHUNK_RECORDS_MAX + 2];
	uint8_t low[MOCA_CHUNK_RECORDS_MAX];
	uint8_t high[MOCA_CHUNK_RECORDS_MAX];
	struct moca_access_planes planes;	/* of a cursor */
	struct moca_column column;
	struct moca_distinct distinct;
};

/*
 * Has one of n records a page that meets addresses from begin to end (0: no end)? Only
 * the list of pages is unpacked. 1, 0 or -EBADMSG.
 */
int moca_access_meets(struct moca_access_scratch *x,
		      const struct moca_stream_in *s, size_t n, uint64_t begin,
		      uint64_t end);
/* begin_ns: what the first time is stored relative to. 0 or -ENOMEM. */
int moca_access_encode(struct moca_access_scratch *x,
		       struct moca_stream_out *s,
		       const struct moca_access *recs, size_t n,
		       uint64_t begin_ns);
/*
 * 0 or -EBADMSG; n is at most MOCA_CHUNK_RECORDS_MAX. of_type: how many have each
 * type.
 */
int moca_access_decode(struct moca_access_scratch *x,
		       const struct moca_stream_in *s,
		       struct moca_access *recs, size_t n, uint64_t begin_ns,
		       uint32_t of_type[4]);

/*
 * Both sides guess a record's page from the ones before: whatever followed
 * the same page, or the page's neighbour, last time. follower[1 + r] is one
 * more than the page rank that came after rank r; 0 = not yet seen.
 */
static inline uint32_t moca_predict(const uint32_t *follower, uint32_t r)
{
	if (follower[1 + r])
		return follower[1 + r] - 1;
	if (follower[r])
		return follower[r];
	if (follower[2 + r] > 1)
		return follower[2 + r] - 2;
	return r + 1;
}

#endif
