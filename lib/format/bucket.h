/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Integers as a byte that says how large (position of the top bit and the two
 * bits below it) and the bits that remain. The bytes have the skew that an
 * entropy coder wants; the rest is close to noise and is packed as it is. Any
 * mix of magnitudes comes close to its entropy without a parameter to tune.
 */
#ifndef MOCA_FORMAT_BUCKET_H
#define MOCA_FORMAT_BUCKET_H

#include <stddef.h>
#include <stdint.h>

#define MOCA_BUCKET_PAD 16	/* bytes after rest that may be touched */

/*
 * n values to n bytes at sym and at most 8 * n + MOCA_BUCKET_PAD bytes at
 * rest, of which the number that count is returned.
 */
size_t moca_bucket_encode(const uint64_t *v, size_t n, uint8_t *sym,
			  uint8_t *rest);
/* The number of bytes of rest that n symbols imply; SIZE_MAX if none do. */
size_t moca_bucket_rest(const uint8_t *sym, size_t n);
/*
 * The reverse: as many bytes of rest as moca_bucket_rest() says, which is returned. At
 * rest 8 * n + MOCA_BUCKET_PAD bytes must be readable, whatever symbols there are.
 */
size_t moca_bucket_decode(uint64_t *v, size_t n, const uint8_t *sym,
			  const uint8_t *rest);

#endif
