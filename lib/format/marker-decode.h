/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A chunk of markers: its parameters and its records, in both directions. */
#ifndef MOCA_FORMAT_MARKER_DECODE_H
#define MOCA_FORMAT_MARKER_DECODE_H

#include "lib/format/marker-type.h"

#define MOCA_S_RECORDS 1
#define MOCA_S_PARAMS 3

struct moca_marker_params {
	uint64_t begin;		/* positions in the stream */
	uint64_t end;
	uint64_t clock_before;
	uint64_t clock0, ns0;
	uint64_t clock1, ns1;
	uint64_t corrupt;	/* bytes */
};

/* Do they make sense? */
int moca_marker_params_valid(const struct moca_marker_params *p);
/* At most 8 * MOCA_VARINT_MAX bytes to buf; how many. */
size_t moca_marker_params_put(const struct moca_marker_params *p,
			      uint8_t *buf);

/* The line through both points at clock, within what 64 bits hold. */
uint64_t moca_marker_ns(const struct moca_marker_params *p, uint64_t clock);

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
struct moca_marker_walk {
	struct moca_marker_params params;
	const uint8_t *pos;
	const uint8_t *end;
	uint64_t clock;
	uint64_t min_ns;	/* no marker is told earlier ... */
	uint64_t max_ns;	/* ... or later */
	/* Events dropped in the stream; these stay from chunk to chunk. */
	uint64_t lost;		/* as SYNC records tell */
	uint64_t lost_told;	/* of them, with a marker */
};

/*
 * Unpack a chunk and check each of its records; floor_ns: no marker of it is
 * to be earlier. w points into d. 0, -EBADMSG, -ENOMEM.
 */
int moca_decoder_markers(struct moca_decoder *d, const struct moca_file *f,
			 const struct moca_header *h, uint64_t pos,
			 const struct moca_types *types, uint64_t floor_ns,
			 struct moca_marker_walk *w);
/* Only the parameters. As above. */
int moca_decoder_marker_params(struct moca_decoder *d,
			       const struct moca_file *f,
			       const struct moca_header *h, uint64_t pos,
			       struct moca_marker_params *p);

/* The next marker of a checked chunk. 1 or 0. */
int moca_marker_walk_next(struct moca_marker_walk *w,
			  const struct moca_types *types,
			  struct moca_marker *out);

#endif
