// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/access.h"

/* n values to x->values. */
static int get_buckets(struct moca_access_scratch *x,
		       const struct moca_stream_in *s, uint8_t id, size_t n)
{
	return moca_column_get(&x->column, s, id, x->values, n);
}

static int get_planes(struct moca_access_scratch *x,
		      const struct moca_stream_in *s, uint8_t id, size_t n)
{
	if (moca_stream_get(s, id, x->low, n) ||
	    moca_stream_get(s, id + 1, x->high, n))
		return -EBADMSG;
	return 0;
}

static int get_page_list(struct moca_access_scratch *x,
			 const struct moca_stream_in *s, size_t n)
{
	struct moca_distinct *d = &x->distinct;
	uint64_t next = 0;
	size_t i;

	d->count = moca_stream_len(s, MOCA_S_PAGES);
	if (!d->count || d->count > n ||
	    get_buckets(x, s, MOCA_S_PAGES, d->count))
		return -EBADMSG;
	for (i = 0; i < d->count; i++) {
		if (x->values[i] > (UINT64_MAX >> MOCA_PAGE_SHIFT) - next)
			return -EBADMSG;
		d->list[i] = next + x->values[i];
		next = d->list[i] + 1;
		/* Only the last may be the last page there is. */
		if (next > UINT64_MAX >> MOCA_PAGE_SHIFT && i + 1 < d->count)
			return -EBADMSG;
	}
	return 0;
}

static int get_ranks(struct moca_access_scratch *x,
		     const struct moca_stream_in *s, size_t n)
{
	struct moca_distinct *d = &x->distinct;
	int step = moca_stream_len(s, MOCA_S_STEP) != 0;
	uint32_t r = 0;
	uint64_t next;
	size_t i;

	if (get_buckets(x, s, step ? MOCA_S_STEP : MOCA_S_RANK, n))
		return -EBADMSG;
	memset(x->follower, 0, (d->count + 2) * sizeof(x->follower[0]));
	for (i = 0; i < n; i++) {
		next = x->values[i];
		if (step)
			next = moca_unzigzag(next) +
			       moca_predict(x->follower, r);
		if (next >= d->count)
			return -EBADMSG;
		x->follower[1 + r] = (uint32_t)next + 1;
		r = (uint32_t)next;
		d->index[i] = r;
	}
	return 0;
}

static int get_pages(struct moca_access_scratch *x,
		     const struct moca_stream_in *s, struct moca_access *recs,
		     size_t n)
{
	struct moca_distinct *d = &x->distinct;
	uint64_t bias = 0;
	size_t i;

	if (get_page_list(x, s, n) || get_ranks(x, s, n) ||
	    get_buckets(x, s, MOCA_S_PHYS, d->count))
		return -EBADMSG;
	for (i = 0; i < d->count; i++) {
		x->pfns[i] = 0;
		if (!x->values[i])
			continue;
		bias += moca_unzigzag(x->values[i] - 1);
		x->pfns[i] = d->list[i] + bias;
		if (x->pfns[i] > UINT64_MAX >> MOCA_PAGE_SHIFT)
			return -EBADMSG;
	}
	if (get_planes(x, s, MOCA_S_OFFSET, n))
		return -EBADMSG;
	for (i = 0; i < n; i++) {
		if (x->high[i] > MOCA_PAGE_MASK >> 8)
			return -EBADMSG;
		recs[i].addr = d->list[d->index[i]] << MOCA_PAGE_SHIFT |
			       (uint64_t)x->high[i] << 8 | x->low[i];
		recs[i].phys = x->pfns[d->index[i]] << MOCA_PAGE_SHIFT;
	}
	return 0;
}

static int get_ips(struct moca_access_scratch *x,
		   const struct moca_stream_in *s, struct moca_access *recs,
		   size_t n)
{
	size_t i, count = moca_stream_len(s, MOCA_S_IPS);
	uint64_t prev = 0;
	uint32_t index;

	if (!count || count > n || get_buckets(x, s, MOCA_S_IPS, count))
		return -EBADMSG;
	for (i = 0; i < count; i++) {
		prev += moca_unzigzag(x->values[i]);
		x->keys[i] = prev;
	}
	if (get_planes(x, s, MOCA_S_IP, n))
		return -EBADMSG;
	for (i = 0; i < n; i++) {
		index = (uint32_t)x->high[i] << 8 | x->low[i];
		if (index >= count)
			return -EBADMSG;
		recs[i].ip = x->keys[index];
	}
	return 0;
}

static int get_times(struct moca_access_scratch *x,
		     const struct moca_stream_in *s, struct moca_access *recs,
		     size_t n, uint64_t begin_ns)
{
	size_t i, len = moca_stream_len(s, MOCA_S_TIME_MIN);
	uint64_t t = begin_ns, min = 0, delta;
	uint8_t varint[MOCA_VARINT_MAX];
	const uint8_t *p = varint;

	if (get_buckets(x, s, MOCA_S_TIME, n) || len > sizeof(varint) ||
	    moca_stream_get(s, MOCA_S_TIME_MIN, varint, len) ||
	    (len && moca_get_varint(&p, varint + len, &min)))
		return -EBADMSG;
	for (i = 0; i < n; i++) {
		delta = x->values[i];
		if (i && __builtin_add_overflow(delta, min, &delta))
			return -EBADMSG;
		if (__builtin_add_overflow(t, delta, &t))
			return -EBADMSG;
		recs[i].time_ns = t;
	}
	return 0;
}

static int get_cpus(struct moca_access_scratch *x,
		    const struct moca_stream_in *s, struct moca_access *recs,
		    size_t n)
{
	size_t i;

	/* Records are far larger than caches: they are gone through once. */
	if (get_planes(x, s, MOCA_S_CPU, n))
		return -EBADMSG;
	for (i = 0; i < n; i++)
		x->values[i] = (uint64_t)x->high[i] << 8 | x->low[i];
	if (get_planes(x, s, MOCA_S_NODE, n))
		return -EBADMSG;
	for (i = 0; i < n; i++) {
		recs[i].cpu = (uint16_t)x->values[i];
		recs[i].node = (int16_t)((x->high[i] << 8 | x->low[i]) - 1);
	}
	return 0;
}

static int get_kinds(struct moca_access_scratch *x,
		     const struct moca_stream_in *s, struct moca_access *recs,
		     size_t n)
{
	size_t i;

	if (moca_stream_get(s, MOCA_S_TYPE, x->low, (n + 3) / 4) ||
	    moca_stream_get(s, MOCA_S_MODE, x->high, (n + 7) / 8))
		return -EBADMSG;
	/* And what most are, with neither a weight nor a stack. */
	for (i = 0; i < n; i++) {
		recs[i].type = x->low[i / 4] >> i % 4 * 2 & 3;
		recs[i].mode = x->high[i / 8] >> i % 8 & 1;
		recs[i].weight = 1;
		recs[i].stack = recs[i].reserved = 0;
	}
	return 0;
}

static int get_weights(struct moca_access_scratch *x,
		       const struct moca_stream_in *s, struct moca_access *recs,
		       size_t n)
{
	size_t i;

	if (!moca_stream_len(s, MOCA_S_WEIGHT))
		return 0;
	if (moca_stream_get(s, MOCA_S_WEIGHT, x->low, n))
		return -EBADMSG;
	for (i = 0; i < n; i++) {
		if (x->low[i] > MOCA_WEIGHT_NONE)
			return -EBADMSG;
		recs[i].weight = x->low[i] == MOCA_WEIGHT_NONE ?
				 0 : (uint16_t)(1u << x->low[i]);
	}
	return 0;
}

static int get_stacks(struct moca_access_scratch *x,
		      const struct moca_stream_in *s, struct moca_access *recs,
		      size_t n)
{
	size_t i, count = moca_stream_len(s, MOCA_S_STACKS);
	uint64_t prev = 0;
	uint32_t index;

	if (!count)
		return 0;
	if (count > n || get_buckets(x, s, MOCA_S_STACKS, count))
		return -EBADMSG;
	for (i = 0; i < count; i++) {
		prev += moca_unzigzag(x->values[i]);
		if (prev > MOCA_STACKS_MAX)
			return -EBADMSG;
		x->keys[i] = prev;
	}
	if (get_planes(x, s, MOCA_S_STACK, n))
		return -EBADMSG;
	for (i = 0; i < n; i++) {
		index = (uint32_t)x->high[i] << 8 | x->low[i];
		if (index >= count)
			return -EBADMSG;
		recs[i].stack = (uint32_t)x->keys[index];
	}
	return 0;
}

int moca_access_decode(struct moca_access_scratch *x,
		       const struct moca_stream_in *s,
		       struct moca_access *recs, size_t n, uint64_t begin_ns)
{
	if (!n)
		return 0;
	if (get_pages(x, s, recs, n) || get_ips(x, s, recs, n) ||
	    get_times(x, s, recs, n, begin_ns) || get_cpus(x, s, recs, n) ||
	    get_kinds(x, s, recs, n) || get_weights(x, s, recs, n) ||
	    get_stacks(x, s, recs, n))
		return -EBADMSG;
	return 0;
}
