/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The collector's side of a buffer. What the program shares is hostile: it
 * is copied first and every word of the copy is checked. The mapped file may
 * be cut short by the program; the caller guards these calls against SIGBUS.
 *
 * One thread at a time per reader.
 */
#ifndef MOCA_RING_CONSUMER_H
#define MOCA_RING_CONSUMER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/ring/layout.h"

/* The collector's own knowledge of one buffer; nothing in it is shared. */
struct moca_ring_reader {
	struct moca_ring_header *shm;	/* mapped */
	uint8_t *data;			/* mapped, size bytes */
	uint64_t size;			/* of all subbuffers */
	uint64_t subbuf_size;
	uint32_t mode;
	/*
	 * Ids of events are below; NULL: there are none. The caller's, read
	 * after each copy: an id is always given out before it is used.
	 */
	const uint32_t *id_end;
	uint64_t pos;		/* what lies below has been read */
	uint64_t released;	/* what lies below was given back */
	uint64_t clock;		/* whole clock of the last record; 0 = none */
	uint64_t lost;		/* as last told by a SYNC record or the header */
	uint8_t *copy;		/* subbuf_size bytes, private */
};

/* What one call of moca_ring_read found, within one subbuffer. */
struct moca_ring_batch {
	const uint64_t *records; /* committed ones, one after the other: SYNC
				    and events, no padding; in the copy */
	size_t words;
	uint64_t begin;		/* positions */
	uint64_t end;
	uint64_t clock_before;	/* whole clock before the first record */
	uint64_t clock_first;	/* of the first and the last event */
	uint64_t clock_last;
	uint32_t events;
	uint32_t torn;		/* reserved, never committed */
	uint64_t corrupt;	/* bytes that are no records */
	uint64_t lost;		/* events dropped, newly told */
	int busy;		/* stopped at a record that is being written */
};

enum moca_ring_read_how {
	/* Whole subbuffers only; stop at a record that is being written. */
	MOCA_READ_WHOLE,
	/* Also the subbuffer that is being filled. */
	MOCA_READ_ALL,
	/* Nobody writes any more: step over what was not committed. */
	MOCA_READ_FINAL,
};

/*
 * Set up for a buffer whose file is mapped at base. subbuf_size and subbufs
 * are the collector's own, not those in shared memory. 0 or -ENOMEM.
 */
int moca_ring_reader_init(struct moca_ring_reader *r, void *base,
			  uint32_t subbuf_size, uint32_t subbufs,
			  uint32_t mode);
void moca_ring_reader_free(struct moca_ring_reader *r);

/*
 * Read on. 1 and *out (valid until the next call), or 0 when there is nothing
 * more to be read now; out->busy then tells whether that is because of a record
 * that is being written. A batch never crosses a subbuffer; it may be without
 * events and only tell of loss. When overwriting, what the program has erased
 * meanwhile is stepped over: it was to be.
 */
int moca_ring_read(struct moca_ring_reader *r, enum moca_ring_read_how how,
		   struct moca_ring_batch *out);

/*
 * Begin at pos, which an earlier reader had reached, instead of at 0; before
 * the first read, not when overwriting. 0 or -EINVAL.
 */
int moca_ring_reader_seek(struct moca_ring_reader *r, uint64_t pos);

/*
 * What has been read is safe: subbuffers read to their end are zeroed and
 * given back to the program (not when overwriting), and a program that waits
 * for room is woken.
 */
void moca_ring_release(struct moca_ring_reader *r);

/* Events dropped since the last batch told, as the header says. */
uint64_t moca_ring_take_lost(struct moca_ring_reader *r);

#endif
