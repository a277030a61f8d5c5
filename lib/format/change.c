// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/change.h"

/* What stands behind the name: nothing, of a change that has none of it. */
static size_t put_identity(uint8_t *p, const struct moca_change *e)
{
	uint8_t *begin = p;

	if (!(e->memory | e->dev | e->ino))
		return 0;
	p += moca_put_varint(p, e->memory);
	p += moca_put_varint(p, e->dev);
	p += moca_put_varint(p, e->ino);
	return (size_t)(p - begin);
}

int moca_change_encode(struct moca_buf *b, const struct moca_change *e,
		      uint64_t *prev_ns)
{
	const char *name = e->name ? e->name : "";
	size_t name_len = strnlen(name, MOCA_NAME_MAX), len;
	uint8_t fixed[12 * MOCA_VARINT_MAX], identity[3 * MOCA_VARINT_MAX];
	size_t more = put_identity(identity, e);
	uint8_t *p = fixed;

	p += moca_put_varint(p, e->type);
	p += moca_put_varint(p, moca_zigzag(e->time_ns - *prev_ns));
	p += moca_put_varint(p, e->addr);
	p += moca_put_varint(p, e->len);
	p += moca_put_varint(p, e->offset);
	p += moca_put_varint(p, e->flags);
	p += moca_put_varint(p, e->prot);
	p += moca_put_varint(p, e->pid);
	p += moca_put_varint(p, e->tid);
	/* MOCA_NO_TASK becomes 0 */
	p += moca_put_varint(p, (uint32_t)(e->parent + 1));
	p += moca_put_varint(p, moca_zigzag((uint64_t)(int64_t)e->status));
	p += moca_put_varint(p, name_len);
	len = (size_t)(p - fixed);
	if (moca_buf_reserve(b, MOCA_VARINT_MAX + len + name_len + 1 + more))
		return -ENOMEM;
	/* The length lets old readers step over fields added later. */
	b->len += moca_put_varint(b->data + b->len, len + name_len + 1 + more);
	memcpy(b->data + b->len, fixed, len);
	memcpy(b->data + b->len + len, name, name_len);
	b->data[b->len + len + name_len] = 0;
	memcpy(b->data + b->len + len + name_len + 1, identity, more);
	b->len += len + name_len + 1 + more;
	*prev_ns = e->time_ns;
	return 0;
}

int moca_changes_pack(struct moca_stream_out *s, struct moca_buf *scratch,
		     struct moca_header *h, const struct moca_change **changes,
		     size_t *n)
{
	uint64_t prev = 0, t;
	int ret;

	h->records = 0;
	scratch->len = 0;
	while (*n && h->records < MOCA_CHUNK_RECORDS_MAX &&
	       scratch->len <= MOCA_CHANGES_RAW_MAX - MOCA_CHANGE_BYTES_MAX) {
		t = (*changes)->time_ns;
		if (!h->records)
			h->begin_ns = h->end_ns = t;
		if (t < h->begin_ns)
			h->begin_ns = t;
		if (t > h->end_ns)
			h->end_ns = t;
		ret = moca_change_encode(scratch, *changes, &prev);
		if (ret)
			return ret;
		h->records++;
		++*changes;
		--*n;
	}
	moca_stream_reset(s);
	return moca_stream_put(s, MOCA_S_CHANGES, scratch->data, scratch->len,
			       1);
}

static int get32(const uint8_t **p, const uint8_t *end, uint32_t *out)
{
	uint64_t v;

	if (moca_get_varint(p, end, &v) || v > UINT32_MAX)
		return -EBADMSG;
	*out = (uint32_t)v;
	return 0;
}

/* Older versions wrote none; newer ones may write more behind it. */
static int get_identity(struct moca_change *e, const uint8_t *p,
			const uint8_t *end)
{
	if (p == end)
		return 0;
	return get32(&p, end, &e->memory) || moca_get_varint(&p, end, &e->dev) ||
	       moca_get_varint(&p, end, &e->ino) ? -EBADMSG : 0;
}

int moca_change_decode(struct moca_change *e, const uint8_t **p,
		      const uint8_t *end, uint64_t *prev_ns)
{
	uint64_t len, delta, status, name_len;
	const uint8_t *q;

	if (moca_get_varint(p, end, &len) || len > (uint64_t)(end - *p))
		return -EBADMSG;
	q = *p;
	end = q + len;
	*p = end;
	memset(e, 0, sizeof(*e));
	if (get32(&q, end, &e->type) || moca_get_varint(&q, end, &delta) ||
	    moca_get_varint(&q, end, &e->addr) ||
	    moca_get_varint(&q, end, &e->len) ||
	    moca_get_varint(&q, end, &e->offset) ||
	    get32(&q, end, &e->flags) || get32(&q, end, &e->prot) ||
	    get32(&q, end, &e->pid) || get32(&q, end, &e->tid) ||
	    get32(&q, end, &e->parent) || moca_get_varint(&q, end, &status) ||
	    moca_get_varint(&q, end, &name_len))
		return -EBADMSG;
	if (name_len > MOCA_NAME_MAX || name_len >= (uint64_t)(end - q) ||
	    q[name_len] || memchr(q, 0, name_len))
		return -EBADMSG;
	e->parent--;
	e->status = (int32_t)moca_unzigzag(status);
	e->time_ns = *prev_ns + moca_unzigzag(delta);
	e->name = (const char *)q;
	*prev_ns = e->time_ns;
	return get_identity(e, q + name_len + 1, end);
}
