/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stepping through the chunks of a file, and past damage. */
#ifndef MOCA_FORMAT_FILE_H
#define MOCA_FORMAT_FILE_H

#include <sys/types.h>

#include "lib/base/bytes.h"
#include "lib/format/access.h"
#include "lib/format/change.h"
#include "lib/format/chunk.h"
#include "lib/format/counts.h"
#include "lib/format/stream.h"

struct moca_file {
	int fd;			/* -1 = not open, or parked */
	int parked;		/* open, without a descriptor of its own */
	int dirfd;		/* of the caller: where a parked one is opened again */
	dev_t dev;
	ino_t ino;
	enum moca_file_type type;
	uint32_t task;		/* that its chunks' headers must tell */
	const uint64_t *places;	/* not NULL: of the chunks, instead of all */
	size_t place_count;
	uint64_t pos;		/* where the next chunk should begin */
	uint64_t end;		/* what lies beyond is not read */
	uint64_t gaps;		/* damaged places stepped over so far */
	uint64_t tail;		/* bytes after the last chunk, at the end */
};

/*
 * Open a file, of which at most limit bytes are read. task is number then; of
 * MOCA_FILE_SHARED it is for the caller to set. 0 or -errno.
 */
int moca_file_open(struct moca_file *f, int dirfd, enum moca_file_type type,
		   uint32_t number, uint64_t limit);
void moca_file_close(struct moca_file *f);
static inline int moca_file_is_open(const struct moca_file *f)
{
	return f->fd >= 0 || f->parked;
}
/*
 * Give the descriptor back until the next step, which opens the file again by
 * dirfd. A chunk that was stepped to is to be unpacked before.
 */
void moca_file_park(struct moca_file *f);
/*
 * Step to the next whole chunk; *pos is where it begins. Only its header is
 * read. 1; 0 at the end; -EIO, -ENOMEM; of a parked file what open(2) says, or
 * -ESTALE when another is there by now.
 */
int moca_file_next(struct moca_file *f, struct moca_header *h, uint64_t *pos);

/* What unpacks chunks; zero-initialise. One thread at a time. */
struct moca_decoder {
	uint64_t addr_begin, addr_end;	/* of accesses that are wanted; 0, 0: all */
	struct moca_buf payload;
	struct moca_stream_in in;
	struct moca_access *recs;
	struct moca_access_scratch *scratch;
	struct moca_count *rows;
	struct moca_counts_scratch *counts;
	struct moca_buf changes;
	struct moca_buf records;	/* of events */
};

void moca_decoder_free(struct moca_decoder *d);
/* Read, check and parse a payload to d->in. 0, -EBADMSG or -ENOMEM. */
int moca_decoder_load(struct moca_decoder *d, const struct moca_file *f,
		      const struct moca_header *h, uint64_t pos);
/* The same, and one stream of at most max bytes to d->changes. */
int moca_decoder_bytes(struct moca_decoder *d, const struct moca_file *f,
		       const struct moca_header *h, uint64_t pos, uint8_t id,
		       size_t max);
/*
 * h->records accesses to d->recs. 0; 1: none is wanted, and none was unpacked; -EBADMSG
 * (damaged) or -ENOMEM.
 */
int moca_decoder_accesses(struct moca_decoder *d, const struct moca_file *f,
			  const struct moca_header *h, uint64_t pos);
/* h->records rows of counts to d->rows. 0, -EBADMSG or -ENOMEM. */
int moca_decoder_counts(struct moca_decoder *d, const struct moca_file *f,
			const struct moca_header *h, uint64_t pos);
/* h->records changes, checked, as bytes to d->changes. As above. */
int moca_decoder_changes(struct moca_decoder *d, const struct moca_file *f,
			const struct moca_header *h, uint64_t pos);
/* The same, and calls each for every change, until it returns an error. */
int moca_decoder_each_change(struct moca_decoder *d, const struct moca_file *f,
			    const struct moca_header *h, uint64_t pos,
			    int (*each)(void *arg, const struct moca_change *e),
			    void *arg);

#endif
