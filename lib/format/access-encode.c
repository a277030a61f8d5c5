// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/access.h"

/* Two streams of bytes from x->low and x->high. */
static int put_planes(struct moca_access_scratch *x, struct moca_stream_out *s,
		      uint8_t id, size_t n)
{
	int ret;

	ret = moca_stream_put(s, id, x->low, n, 0);
	return ret ? ret : moca_stream_put(s, id + 1, x->high, n, 0);
}

/* The sorted list of pages, as distances minus one. */
static int put_page_list(struct moca_access_scratch *x,
			 struct moca_stream_out *s)
{
	const struct moca_distinct *d = &x->distinct;
	uint64_t prev = 0;
	size_t i;

	for (i = 0; i < d->count; i++) {
		x->values[i] = d->list[i] - prev;
		prev = d->list[i] + 1;
	}
	return moca_column_put(&x->column, s, MOCA_S_PAGES, x->values, d->count, 1);
}

static unsigned bit_length(uint32_t v)
{
	return v ? 32 - (unsigned)__builtin_clz(v) : 0;
}

/* Which page each record is of: as it is, or against the prediction. */
static int put_ranks(struct moca_access_scratch *x, struct moca_stream_out *s,
		     size_t n)
{
	const struct moca_distinct *d = &x->distinct;
	uint64_t rank_bits = 0, step_bits = 0;
	uint32_t r = 0, next;
	size_t i;

	memset(x->follower, 0, (d->count + 2) * sizeof(x->follower[0]));
	for (i = 0; i < n; i++) {
		next = d->index[i];
		x->values[i] = moca_zigzag((uint64_t)next -
					   moca_predict(x->follower, r));
		x->follower[1 + r] = next + 1;
		step_bits += bit_length((uint32_t)x->values[i]);
		rank_bits += bit_length(next);
		r = next;
	}
	if (step_bits <= rank_bits)
		return moca_column_put(&x->column, s, MOCA_S_STEP, x->values, n, 1);
	for (i = 0; i < n; i++)
		x->values[i] = d->index[i];
	return moca_column_put(&x->column, s, MOCA_S_RANK, x->values, n, 0);
}

/*
 * Physical pages by virtual page: memory that is contiguous in both costs
 * nothing. Of several records of a page the last that knows it counts.
 */
static int put_phys(struct moca_access_scratch *x, struct moca_stream_out *s,
		    const struct moca_access *recs, size_t n)
{
	const struct moca_distinct *d = &x->distinct;
	uint64_t bias = 0;
	size_t i;

	memset(x->pfns, 0, d->count * sizeof(x->pfns[0]));
	for (i = 0; i < n; i++)
		if (recs[i].phys >> MOCA_PAGE_SHIFT)
			x->pfns[d->index[i]] = recs[i].phys >> MOCA_PAGE_SHIFT;
	for (i = 0; i < d->count; i++) {
		x->values[i] = 0;
		if (!x->pfns[i])
			continue;
		x->values[i] = 1 + moca_zigzag(x->pfns[i] - d->list[i] - bias);
		bias = x->pfns[i] - d->list[i];
	}
	return moca_column_put(&x->column, s, MOCA_S_PHYS, x->values, d->count, 0);
}

static int put_pages(struct moca_access_scratch *x, struct moca_stream_out *s,
		     const struct moca_access *recs, size_t n)
{
	size_t i;
	int ret;

	for (i = 0; i < n; i++)
		x->keys[i] = recs[i].addr >> MOCA_PAGE_SHIFT;
	moca_distinct_find(&x->distinct, x->keys, n);
	moca_distinct_sort(&x->distinct, n);
	ret = put_page_list(x, s);
	if (!ret)
		ret = put_ranks(x, s, n);
	if (!ret)
		ret = put_phys(x, s, recs, n);
	if (ret)
		return ret;
	for (i = 0; i < n; i++) {
		x->low[i] = (uint8_t)recs[i].addr;
		x->high[i] = (uint8_t)((recs[i].addr & MOCA_PAGE_MASK) >> 8);
	}
	return put_planes(x, s, MOCA_S_OFFSET, n);
}

static int put_ips(struct moca_access_scratch *x, struct moca_stream_out *s,
		   const struct moca_access *recs, size_t n)
{
	struct moca_distinct *d = &x->distinct;
	uint64_t prev = 0;
	size_t i;
	int ret;

	for (i = 0; i < n; i++)
		x->keys[i] = recs[i].ip;
	moca_distinct_find(d, x->keys, n);
	for (i = 0; i < d->count; i++) {
		x->values[i] = moca_zigzag(d->list[i] - prev);
		prev = d->list[i];
	}
	ret = moca_column_put(&x->column, s, MOCA_S_IPS, x->values, d->count, 1);
	if (ret)
		return ret;
	for (i = 0; i < n; i++) {
		x->low[i] = (uint8_t)d->index[i];
		x->high[i] = (uint8_t)(d->index[i] >> 8);
	}
	return put_planes(x, s, MOCA_S_IP, n);
}

static int put_times(struct moca_access_scratch *x, struct moca_stream_out *s,
		     const struct moca_access *recs, size_t n,
		     uint64_t begin_ns)
{
	uint8_t varint[MOCA_VARINT_MAX];
	uint64_t min = UINT64_MAX, prev = begin_ns;
	size_t i;
	int ret;

	for (i = 0; i < n; i++) {
		x->values[i] = recs[i].time_ns - prev;
		prev = recs[i].time_ns;
		if (i && x->values[i] < min)
			min = x->values[i];
	}
	for (i = 1; i < n; i++)
		x->values[i] -= min;
	ret = moca_column_put(&x->column, s, MOCA_S_TIME, x->values, n, 0);
	if (ret || n < 2)
		return ret;
	return moca_stream_put(s, MOCA_S_TIME_MIN, varint,
			       moca_put_varint(varint, min), 1);
}

static int put_cpus(struct moca_access_scratch *x, struct moca_stream_out *s,
		    const struct moca_access *recs, size_t n)
{
	size_t i;
	int ret;

	for (i = 0; i < n; i++) {
		x->low[i] = (uint8_t)recs[i].cpu;
		x->high[i] = (uint8_t)(recs[i].cpu >> 8);
	}
	ret = put_planes(x, s, MOCA_S_CPU, n);
	if (ret)
		return ret;
	for (i = 0; i < n; i++) {
		x->low[i] = (uint8_t)(recs[i].node + 1);
		x->high[i] = (uint8_t)((uint16_t)(recs[i].node + 1) >> 8);
	}
	return put_planes(x, s, MOCA_S_NODE, n);
}

/* Several records to a byte: zstd's codes are no shorter than a bit each. */
static int put_kinds(struct moca_access_scratch *x, struct moca_stream_out *s,
		     const struct moca_access *recs, size_t n)
{
	size_t i;
	int ret;

	memset(x->low, 0, (n + 3) / 4);
	memset(x->high, 0, (n + 7) / 8);
	for (i = 0; i < n; i++) {
		x->low[i / 4] |= (uint8_t)(recs[i].type << i % 4 * 2);
		x->high[i / 8] |= (uint8_t)(recs[i].mode << i % 8);
	}
	ret = moca_stream_put(s, MOCA_S_TYPE, x->low, (n + 3) / 4, 0);
	if (ret)
		return ret;
	return moca_stream_put(s, MOCA_S_MODE, x->high, (n + 7) / 8, 0);
}

/* Where all weigh 1, there is no stream. */
static int put_weights(struct moca_access_scratch *x, struct moca_stream_out *s,
		       const struct moca_access *recs, size_t n)
{
	unsigned other = 0;
	size_t i;

	for (i = 0; i < n; i++)
		other |= recs[i].weight ^ 1u;
	if (!other)
		return 0;
	for (i = 0; i < n; i++)
		x->low[i] = recs[i].weight ?
			    (uint8_t)__builtin_ctz(recs[i].weight) :
			    MOCA_WEIGHT_NONE;
	return moca_stream_put(s, MOCA_S_WEIGHT, x->low, n, 0);
}

/* Where no call stack is known, there are no streams. */
static int put_stacks(struct moca_access_scratch *x, struct moca_stream_out *s,
		      const struct moca_access *recs, size_t n)
{
	struct moca_distinct *d = &x->distinct;
	uint64_t prev = 0;
	uint32_t any = 0;
	size_t i;
	int ret;

	for (i = 0; i < n; i++) {
		x->keys[i] = recs[i].stack;
		any |= recs[i].stack;
	}
	if (!any)
		return 0;
	moca_distinct_find(d, x->keys, n);
	for (i = 0; i < d->count; i++) {
		x->values[i] = moca_zigzag(d->list[i] - prev);
		prev = d->list[i];
	}
	ret = moca_column_put(&x->column, s, MOCA_S_STACKS, x->values, d->count, 1);
	if (ret)
		return ret;
	for (i = 0; i < n; i++) {
		x->low[i] = (uint8_t)d->index[i];
		x->high[i] = (uint8_t)(d->index[i] >> 8);
	}
	return put_planes(x, s, MOCA_S_STACK, n);
}

int moca_access_encode(struct moca_access_scratch *x,
		       struct moca_stream_out *s,
		       const struct moca_access *recs, size_t n,
		       uint64_t begin_ns)
{
	int ret;

	ret = put_pages(x, s, recs, n);
	if (!ret)
		ret = put_ips(x, s, recs, n);
	if (!ret)
		ret = put_times(x, s, recs, n, begin_ns);
	if (!ret)
		ret = put_cpus(x, s, recs, n);
	if (!ret)
		ret = put_kinds(x, s, recs, n);
	if (!ret)
		ret = put_weights(x, s, recs, n);
	if (!ret)
		ret = put_stacks(x, s, recs, n);
	return ret;
}
