// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/parquet-encode.h"

#define BLOCK 128u
#define MINI 32u		/* values of a miniblock */
#define MINIS (BLOCK / MINI)
#define LONG_RUN 16u		/* below, groups of 8 are as short */

/* n numbers of w bits, least significant first; where the bytes end. */
static uint8_t *pack(uint8_t *p, const uint64_t *v, size_t n, unsigned int w)
{
	unsigned int bits = 0;
	uint64_t acc = 0;

	for (size_t i = 0; i < n; i++) {
		acc |= v[i] << bits;
		bits += w;
		if (bits >= 64) {
			moca_put64(p, acc);
			p += 8;
			bits -= 64;
			acc = bits ? v[i] >> (w - bits) : 0;
		}
	}
	for (; bits; bits = bits > 8 ? bits - 8 : 0) {
		*p++ = (uint8_t)acc;
		acc >>= 8;
	}
	return p;
}

/* The differences from v[-1] on. Behind the last of v, d has zeros. */
static uint8_t *put_block(uint8_t *p, const uint64_t *v, size_t n, int same)
{
	uint64_t d[BLOCK], all, least;
	int64_t min = INT64_MAX;
	uint8_t *widths;
	size_t i, m;

	/* Many columns stay what they are. */
	if (same || !memcmp(v, v - 1, n * sizeof(*v))) {
		memset(p, 0, 1 + MINIS);
		return p + 1 + MINIS;
	}
	for (i = 0; i < n; i++) {
		d[i] = v[i] - v[(ptrdiff_t)i - 1];
		min = (int64_t)d[i] < min ? (int64_t)d[i] : min;
	}
	least = (uint64_t)min;
	for (i = 0; i < n; i++)
		d[i] -= least;
	for (; i < BLOCK; i++)
		d[i] = 0;
	p += moca_put_varint(p, moca_zigzag(least));
	widths = p;
	p += MINIS;
	for (m = 0; m < MINIS; m++) {
		for (all = 0, i = 0; i < MINI; i++)
			all |= d[m * MINI + i];
		widths[m] = all ? (uint8_t)(64 - __builtin_clzll(all)) : 0;
		if (widths[m])
			p = pack(p, d + m * MINI, MINI, widths[m]);
	}
	return p;
}

#define BLOCK_BYTES (MOCA_VARINT_MAX + MINIS + 8 * BLOCK)

void parquet_delta(struct moca_buf *b, const uint64_t *v, size_t n, int same)
{
	size_t i, now;

	moca_buf_varint(b, BLOCK);
	moca_buf_varint(b, MINIS);
	moca_buf_varint(b, n);
	moca_buf_varint(b, n ? moca_zigzag(v[0]) : 0);
	for (i = 1; i < n && !b->error; i += now) {
		now = n - i < BLOCK ? n - i : BLOCK;
		b->error = moca_buf_reserve(b, BLOCK_BYTES);
		if (!b->error)
			b->len = (size_t)(put_block(b->data + b->len, v + i,
						    now, same) - b->data);
	}
}

unsigned int parquet_width(uint32_t v)
{
	return v ? 32 - (unsigned int)__builtin_clz(v) : 1;
}

void parquet_run(struct moca_buf *b, uint32_t v, size_t n, unsigned int width)
{
	uint8_t bytes[4];

	moca_put32(bytes, v);
	moca_buf_varint(b, (uint64_t)n << 1);
	moca_buf_add(b, bytes, (width + 7) / 8);
}

static size_t run_of(const uint32_t *v, size_t n, size_t most)
{
	size_t i = 1;

	most = n < most ? n : most;
	while (i < most && v[i] == v[0])
		i++;
	return i;
}

/* The last group is filled up with zeros. */
static void put_groups(struct moca_buf *b, const uint32_t *v, size_t n,
		       unsigned int width)
{
	size_t groups = (n + 7) / 8, g, i;
	uint64_t eight[8];
	uint8_t bytes[32];

	moca_buf_varint(b, (uint64_t)groups << 1 | 1);
	for (g = 0; g < groups; g++) {
		for (i = 0; i < 8; i++)
			eight[i] = 8 * g + i < n ? v[8 * g + i] : 0;
		pack(bytes, eight, 8, width);
		moca_buf_add(b, bytes, width);
	}
}

void parquet_hybrid(struct moca_buf *b, const uint32_t *v, size_t n,
		    unsigned int width)
{
	size_t i = 0, run, begin;

	while (i < n) {
		run = run_of(v + i, n - i, SIZE_MAX);
		if (run >= LONG_RUN) {
			parquet_run(b, v[i], run, width);
			i += run;
			continue;
		}
		begin = i;
		do
			i = n - i < 8 ? n : i + 8;
		while (i < n &&
		       run_of(v + i, n - i, LONG_RUN) < LONG_RUN);
		put_groups(b, v + begin, i - begin, width);
	}
}
