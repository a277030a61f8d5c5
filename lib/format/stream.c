// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/stream.h"

/* Below this a zstd frame's own header outweighs what it saves. */
#define ZSTD_WORTH 24

int moca_stream_out_init(struct moca_stream_out *s, int level)
{
	*s = (struct moca_stream_out){ 0 };
	s->cctx = ZSTD_createCCtx();
	if (!s->cctx)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(s->cctx, ZSTD_c_compressionLevel, level);
	return moca_buf_reserve(&s->dir, 1);
}

void moca_stream_out_free(struct moca_stream_out *s)
{
	ZSTD_freeCCtx(s->cctx);
	moca_buf_free(&s->dir);
	moca_buf_free(&s->body);
	s->cctx = NULL;
}

void moca_stream_reset(struct moca_stream_out *s)
{
	s->dir.data[0] = 0;
	s->dir.len = 1;
	s->body.len = 0;
}

static int all_same(const uint8_t *p, size_t len)
{
	return !memcmp(p, p + 1, len - 1);
}

/* Append raw to the body, packed as it fits best. 0 or -ENOMEM. */
static int put_body(struct moca_stream_out *s, const uint8_t *raw, size_t len,
		    uint8_t *encoding, size_t *stored)
{
	uint8_t *dst;
	size_t n;

	if (moca_buf_reserve(&s->body, ZSTD_compressBound(len)))
		return -ENOMEM;
	dst = s->body.data + s->body.len;
	if (all_same(raw, len)) {
		*encoding = MOCA_STREAM_SAME;
		*stored = 1;
		*dst = *raw;
		goto out;
	}
	if (len >= ZSTD_WORTH) {
		n = ZSTD_compress2(s->cctx, dst, ZSTD_compressBound(len), raw,
				   len);
		if (!ZSTD_isError(n) && n < len) {
			*encoding = MOCA_STREAM_ZSTD;
			*stored = n;
			goto out;
		}
	}
	*encoding = MOCA_STREAM_RAW;
	*stored = len;
	memcpy(dst, raw, len);
out:
	s->body.len += *stored;
	return 0;
}

static int put_entry(struct moca_stream_out *s, uint8_t id, uint8_t encoding,
		     size_t len, size_t stored)
{
	uint8_t *d;

	if (moca_buf_reserve(&s->dir, 2 + 2 * MOCA_VARINT_MAX))
		return -ENOMEM;
	s->dir.data[0]++;
	d = s->dir.data + s->dir.len;
	*d++ = id;
	*d++ = encoding;
	d += moca_put_varint(d, len);
	d += moca_put_varint(d, stored);
	s->dir.len = (size_t)(d - s->dir.data);
	return 0;
}

int moca_stream_put(struct moca_stream_out *s, uint8_t id, const uint8_t *raw,
		    size_t len, int keep)
{
	uint8_t encoding;
	size_t stored;

	if (!len || (!keep && !raw[0] && all_same(raw, len)))
		return 0;
	if (put_body(s, raw, len, &encoding, &stored))
		return -ENOMEM;
	return put_entry(s, id, encoding, len, stored);
}

int moca_stream_put_raw(struct moca_stream_out *s, uint8_t id,
			const uint8_t *raw, size_t len)
{
	if (!len)
		return 0;
	if (moca_buf_reserve(&s->body, len))
		return -ENOMEM;
	memcpy(s->body.data + s->body.len, raw, len);
	s->body.len += len;
	return put_entry(s, id, MOCA_STREAM_RAW, len, len);
}

static int parse_entry(struct moca_stream *e, uint8_t *id, const uint8_t **p,
		       const uint8_t *end)
{
	uint64_t raw, stored;

	if (end - *p < 2)
		return -EBADMSG;
	*id = *(*p)++;
	e->encoding = *(*p)++;
	if (moca_get_varint(p, end, &raw) || moca_get_varint(p, end, &stored))
		return -EBADMSG;
	if (raw > UINT32_MAX || stored > UINT32_MAX)
		return -EBADMSG;
	e->raw = (uint32_t)raw;
	e->stored = (uint32_t)stored;
	return 0;
}

int moca_stream_parse(struct moca_stream_in *s, const uint8_t *payload,
		      size_t len)
{
	const uint8_t *p = payload, *end = payload + len, *data;
	struct moca_stream e = { 0 };
	unsigned i, count;
	uint8_t id;

	memset(s->streams, 0, sizeof(s->streams));
	if (!len)
		return -EBADMSG;
	count = *p++;
	/* Once to find where the directory ends, once to fill in. */
	for (i = 0, data = p; i < count; i++)
		if (parse_entry(&e, &id, &data, end))
			return -EBADMSG;
	for (i = 0; i < count; i++) {
		if (parse_entry(&e, &id, &p, end) ||
		    e.stored > (size_t)(end - data))
			return -EBADMSG;
		e.data = data;
		data += e.stored;
		if (id >= MOCA_STREAMS_MAX)
			continue;
		if (s->streams[id].data)
			return -EBADMSG;
		s->streams[id] = e;
	}
	return data == end ? 0 : -EBADMSG;
}

size_t moca_stream_len(const struct moca_stream_in *s, uint8_t id)
{
	return s->streams[id].raw;
}

int moca_stream_get(const struct moca_stream_in *s, uint8_t id, uint8_t *dst,
		    size_t len)
{
	const struct moca_stream *e = &s->streams[id];

	if (!e->data) {
		memset(dst, 0, len);
		return 0;
	}
	if (e->raw != len)
		return -EBADMSG;
	switch (e->encoding) {
	case MOCA_STREAM_RAW:
		if (e->stored != len)
			return -EBADMSG;
		memcpy(dst, e->data, len);
		return 0;
	case MOCA_STREAM_SAME:
		if (e->stored != 1)
			return -EBADMSG;
		memset(dst, e->data[0], len);
		return 0;
	case MOCA_STREAM_ZSTD:
		if (ZSTD_getFrameContentSize(e->data, e->stored) != len ||
		    ZSTD_decompressDCtx(s->dctx, dst, len, e->data,
					e->stored) != len)
			return -EBADMSG;
		return 0;
	}
	return -EBADMSG;
}

const uint8_t *moca_stream_peek(const struct moca_stream_in *s, uint8_t id,
				size_t len)
{
	const struct moca_stream *e = &s->streams[id];

	return e->data && e->encoding == MOCA_STREAM_RAW && e->raw == len &&
			       e->stored == len ?
		       e->data :
		       NULL;
}
