/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The encodings of Parquet that are written: doc/formats/parquet.md. */
#ifndef MOCA_EXPORT_PARQUET_ENCODE_H
#define MOCA_EXPORT_PARQUET_ENCODE_H

#include "lib/base/bytes.h"

/* All append to b, and leave -ENOMEM in b->error. */

/* DELTA_BINARY_PACKED of 64-bit integers; n may be 0. same: v has one, which is all. */
void parquet_delta(struct moca_buf *b, const uint64_t *v, size_t n, int same);
/* Runs and bit-packed groups of numbers below 2^width; width 1 to 32. */
void parquet_hybrid(struct moca_buf *b, const uint32_t *v, size_t n,
		    unsigned int width);
/* n times the same. */
void parquet_run(struct moca_buf *b, uint32_t v, size_t n, unsigned int width);
/* Bits that numbers up to v need: 1 at least. */
unsigned int parquet_width(uint32_t v);

#endif
