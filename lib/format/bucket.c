// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/bucket.h"

#include "lib/base/bytes.h"

/* Symbols 0 to 3 are the value; then four for each top bit from bit 2 on. */
#define SYM_MAX (4 + 4 * 61 + 3)

static inline unsigned rest_bits(unsigned sym)
{
	return sym < 8 ? 0 : (sym >> 2) - 1;
}

size_t moca_bucket_encode(const uint64_t *v, size_t n, uint8_t *sym,
			  uint8_t *rest)
{
	uint64_t acc = 0, low;
	unsigned fill = 0, bits;
	uint8_t *out = rest;
	size_t i;

	for (i = 0; i < n; i++) {
		if (v[i] < 8) {
			sym[i] = (uint8_t)v[i];
			continue;
		}
		bits = 61 - (unsigned)__builtin_clzll(v[i]);
		sym[i] = (uint8_t)(4 * bits + (v[i] >> bits));
		low = v[i] & ((1ull << bits) - 1);
		acc |= low << fill;
		if (fill + bits >= 64) {
			moca_put64(out, acc);
			out += 8;
			/* bits < 64, so fill is not 0 here */
			acc = low >> (64 - fill);
			fill -= 64;
		}
		fill += bits;
	}
	moca_put64(out, acc);
	return (size_t)(out - rest) + (fill + 7) / 8;
}

size_t moca_bucket_rest(const uint8_t *sym, size_t n)
{
	size_t i, bits = 0;
	uint8_t max = 0;

	for (i = 0; i < n; i++) {
		bits += rest_bits(sym[i]);
		max = sym[i] > max ? sym[i] : max;
	}
	return max > SYM_MAX ? SIZE_MAX : (bits + 7) / 8;
}

size_t moca_bucket_decode(uint64_t *v, size_t n, const uint8_t *sym,
			  const uint8_t *rest)
{
	uint64_t low, pos = 0;
	unsigned bits, skip;
	uint8_t max = 0;
	const uint8_t *p;
	size_t i;

	for (i = 0; i < n; i++) {
		if (sym[i] < 8) {
			v[i] = sym[i];
			continue;
		}
		max = sym[i] > max ? sym[i] : max;
		bits = rest_bits(sym[i]);
		p = rest + pos / 8;
		skip = pos % 8;
		low = moca_get64(p) >> skip;
		if (skip)
			low |= (uint64_t)p[8] << (64 - skip);
		v[i] = (uint64_t)(4 + sym[i] % 4) << bits |
		       (low & ((1ull << bits) - 1));
		pos += bits;
	}
	return max > SYM_MAX ? SIZE_MAX : (pos + 7) / 8;
}
