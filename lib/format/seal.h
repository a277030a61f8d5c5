/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The seal of a trace: how many files and chunks belong to it, and one sum of
 * all of them, in its metadata. Chunks and metadata have checksums of their
 * own; the seal shows that none of them is missing, or of another trace.
 */
#ifndef MOCA_FORMAT_SEAL_H
#define MOCA_FORMAT_SEAL_H

#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct moca_file;
struct moca_header;
struct moca_meta;

struct moca_seal {
	uint64_t files;		/* those that are made of chunks */
	uint64_t chunks;	/* in them */
	uint64_t bytes;		/* of these files */
	uint64_t sum;		/* of their names, sizes and chunks' headers */
	/* What a seal should be 0 of; not stored. */
	uint64_t unreadable;	/* files that cannot be opened, or of bad names */
	uint64_t damaged;	/* places without a valid header, and tails */
	uint64_t bad_payloads;	/* chunks whose payload fails its checksum */
};

/*
 * While a file that was just opened is stepped through: its begin, each chunk's
 * header, which goes to the sum of the file, and its end.
 */
void moca_seal_file(struct moca_seal *s, XXH64_state_t *sum,
		    const struct moca_file *f);
void moca_seal_chunk(struct moca_seal *s, XXH64_state_t *sum,
		     const struct moca_header *h, uint64_t pos);
void moca_seal_file_end(struct moca_seal *s, const XXH64_state_t *sum);

/*
 * Look at all files of the trace in dirfd. payloads: read and verify those as
 * well, of every kind; else headers only. 0, -ENOMEM or -EIO.
 */
int moca_seal_take(struct moca_seal *out, int dirfd, int payloads);

/*
 * Write dirfd/metadata as moca_meta_write, with the seal of the files as they
 * are: for the last time, when nobody writes to them any more. 0 or -errno.
 */
int moca_seal_write(struct moca_meta *m, int dirfd);

/* The seal that the metadata tells. 1, or 0: it has none. */
int moca_seal_get(struct moca_seal *out, const struct moca_meta *m);

#endif
