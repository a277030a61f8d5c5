/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Growing buffers, little-endian integers and varints (LEB128: 7 bits a byte,
 * least first).
 */
#ifndef MOCA_BASE_BYTES_H
#define MOCA_BASE_BYTES_H

#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"

#define MOCA_VARINT_MAX 10	/* bytes of the longest varint */

/* All zeros: empty. */
struct moca_buf {
	uint8_t *data;
	size_t len, cap;
	int error;		/* -ENOMEM: something was not added, and nothing
				   after it. Who adds much asks at the end */
};

/* Make room for more bytes after len. 0 or -ENOMEM. */
static inline int moca_buf_reserve(struct moca_buf *b, size_t more)
{
	return more > SIZE_MAX / 4 - b->len ? -ENOMEM :
	       moca_vec_fit(b->data, b->cap, b->len + more);
}

static inline void moca_buf_free(struct moca_buf *b)
{
	free(b->data);
	*b = (struct moca_buf){ 0 };
}

static inline void moca_put16(uint8_t *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void moca_put32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void moca_put64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

static inline uint16_t moca_get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static inline uint32_t moca_get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t moca_get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

/* Bytes written to p, which has room for MOCA_VARINT_MAX. */
static inline size_t moca_put_varint(uint8_t *p, uint64_t v)
{
	size_t n = 0;

	while (v >= 0x80) {
		p[n++] = (uint8_t)v | 0x80;
		v >>= 7;
	}
	p[n++] = (uint8_t)v;
	return n;
}

/* 0, or -EBADMSG when the varint is cut off at end or longer than 64 bits. */
static inline int moca_get_varint(const uint8_t **p, const uint8_t *end,
				  uint64_t *out)
{
	uint64_t v = 0;
	unsigned shift;

	for (shift = 0; shift < 64; shift += 7) {
		uint8_t b;

		if (*p == end)
			return -EBADMSG;
		b = *(*p)++;
		if (shift == 63 && b > 1)
			return -EBADMSG;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*out = v;
			return 0;
		}
	}
	return -EBADMSG;
}

static inline uint64_t moca_zigzag(uint64_t v)
{
	return v << 1 ^ (0 - (v >> 63));
}

static inline uint64_t moca_unzigzag(uint64_t v)
{
	return v >> 1 ^ (0 - (v & 1));
}

/* Behind what is there; nothing is added after an error. */
static inline void moca_buf_add(struct moca_buf *b, const void *data,
				size_t len)
{
	if (!b->error && len)
		b->error = moca_buf_reserve(b, len);
	if (b->error || !len)
		return;
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static inline void moca_buf_varint(struct moca_buf *b, uint64_t v)
{
	uint8_t bytes[MOCA_VARINT_MAX];

	moca_buf_add(b, bytes, moca_put_varint(bytes, v));
}

/* a + b, or UINT64_MAX: sums of numbers from disk do not wrap. */
static inline uint64_t moca_add_sat(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

#endif
