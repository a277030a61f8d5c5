// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/column.h"

int moca_column_put(struct moca_column *c, struct moca_stream_out *s,
		    uint8_t id, const uint64_t *v, size_t n, int keep)
{
	size_t rest = moca_bucket_encode(v, n, c->low, c->rest);
	int ret;

	ret = moca_stream_put(s, id, c->low, n, keep);
	return ret ? ret : moca_stream_put(s, id + 1, c->rest, rest, 0);
}

int moca_column_get(struct moca_column *c, const struct moca_stream_in *s,
		    uint8_t id, uint64_t *v, size_t n)
{
	size_t rest = moca_stream_len(s, id + 1);

	if (moca_stream_get(s, id, c->low, n))
		return -EBADMSG;
	/* Left out: zeros, as many as symbols imply. */
	if (!rest)
		rest = moca_bucket_rest(c->low, n);
	if (rest > 8 * MOCA_CHUNK_RECORDS_MAX ||
	    moca_stream_get(s, id + 1, c->rest, rest))
		return -EBADMSG;
	memset(c->rest + rest, 0, MOCA_BUCKET_PAD);
	return moca_bucket_decode(v, n, c->low, c->rest) == rest ? 0 : -EBADMSG;
}
