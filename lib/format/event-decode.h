/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A chunk of events: its parameters and its records, in both directions. */
#ifndef MOCA_FORMAT_EVENT_DECODE_H
#define MOCA_FORMAT_EVENT_DECODE_H

#include "lib/format/event-type.h"

#define MOCA_S_RECORDS 1
#define MOCA_S_PARAMS 3

struct moca_event_params {
	uint64_t begin;		/* positions in the stream */
	uint64_t end;
	uint64_t clock_before;
	uint64_t clock0, ns0;
	uint64_t clock1, ns1;
	uint64_t corrupt;	/* bytes */
};

/* Do they make sense? */
int moca_event_params_valid(const struct moca_event_params *p);
/* At most 8 * MOCA_VARINT_MAX bytes to buf; how many. */
size_t moca_event_params_put(const struct moca_event_params *p,
			      uint8_t *buf);

/* The line through both points at clock, within what 64 bits hold. */
uint64_t moca_event_ns(const struct moca_event_params *p, uint64_t clock);

/* One record of those in [*p, end); *p is stepped over it. */
struct moca_record {
	unsigned id;
	uint64_t clock;		/* whole */
	const uint8_t *payload;
	size_t len;
};

/* *clock is that of the record before. 1, 0 at the end, -EBADMSG. */
int moca_record_next(const uint8_t **p, const uint8_t *end, uint64_t *clock,
		     struct moca_record *out);

/* Going through an unpacked chunk. */
struct moca_event_walk {
	struct moca_event_params params;
	const uint8_t *pos;
	const uint8_t *end;
	uint64_t clock;
	uint64_t min_ns;	/* no event is told earlier ... */
	uint64_t max_ns;	/* ... or later */
	/* Events dropped in the stream; these stay from chunk to chunk. */
	uint64_t lost;		/* as SYNC records tell */
	uint64_t lost_told;	/* of them, with an event */
};

/*
 * Unpack a chunk and check each of its records; floor_ns: no event of it is
 * to be earlier. w points into d. 0, -EBADMSG, -ENOMEM.
 */
int moca_decoder_events(struct moca_decoder *d, const struct moca_file *f,
			 const struct moca_header *h, uint64_t pos,
			 const struct moca_types *types, uint64_t floor_ns,
			 struct moca_event_walk *w);
/* Only the parameters. As above. */
int moca_decoder_event_params(struct moca_decoder *d,
			       const struct moca_file *f,
			       const struct moca_header *h, uint64_t pos,
			       struct moca_event_params *p);

/* The next event of a checked chunk. 1 or 0. */
int moca_event_walk_next(struct moca_event_walk *w,
			  const struct moca_types *types,
			  struct moca_event *out);

#endif
