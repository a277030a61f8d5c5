// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/counts.h"

#define SPAN_MAX (1ull << 62)

static int put_granules(struct moca_counts_scratch *x,
			struct moca_stream_out *s,
			const struct moca_count *rows, size_t n,
			unsigned shift)
{
	uint64_t next = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		x->values[i] = (rows[i].addr >> shift) - next;
		next = (rows[i].addr >> shift) + 1;
	}
	return moca_column_put(&x->column, s, MOCA_S_GRANULES, x->values, n, 1);
}

static int put_counts(struct moca_counts_scratch *x, struct moca_stream_out *s,
		      const struct moca_count *rows, size_t n)
{
	size_t i;
	int ret;

	for (i = 0; i < n; i++)
		x->values[i] = rows[i].loads;
	ret = moca_column_put(&x->column, s, MOCA_S_LOADS, x->values, n, 0);
	if (ret)
		return ret;
	for (i = 0; i < n; i++)
		x->values[i] = rows[i].stores;
	return moca_column_put(&x->column, s, MOCA_S_STORES, x->values, n, 0);
}

/* By address: memory is mostly touched in its order, or in the reverse. */
static int put_first(struct moca_counts_scratch *x, struct moca_stream_out *s,
		     const struct moca_count *rows, size_t n,
		     uint64_t begin_ns)
{
	uint64_t prev = begin_ns;
	size_t i;
	int ret;

	memset(x->bits, 0, (n + 7) / 8);
	for (i = 0; i < n; i++) {
		x->values[i] = 0;
		if (!rows[i].first_ns)
			continue;
		x->values[i] = 1 + moca_zigzag(rows[i].first_ns - prev);
		prev = rows[i].first_ns;
		if (rows[i].first_store)
			x->bits[i / 8] |= (uint8_t)(1u << i % 8);
	}
	ret = moca_column_put(&x->column, s, MOCA_S_FIRST, x->values, n, 0);
	if (ret)
		return ret;
	return moca_stream_put(s, MOCA_S_FIRST_STORE, x->bits, (n + 7) / 8, 0);
}

int moca_counts_encode(struct moca_counts_scratch *x,
		       struct moca_stream_out *s,
		       const struct moca_count *rows, size_t n, unsigned shift,
		       uint64_t begin_ns)
{
	int ret;

	ret = put_granules(x, s, rows, n, shift);
	if (!ret)
		ret = put_counts(x, s, rows, n);
	if (!ret)
		ret = put_first(x, s, rows, n, begin_ns);
	return ret;
}

int moca_counts_header_valid(const struct moca_header *h)
{
	return h->cpu_words >= MOCA_COUNTS_WORDS &&
	       h->cpumask[MOCA_COUNTS_SHIFT] >= MOCA_GRANULE_SHIFT_MIN &&
	       h->cpumask[MOCA_COUNTS_SHIFT] <= MOCA_GRANULE_SHIFT_MAX &&
	       h->begin_ns <= h->end_ns && h->end_ns - h->begin_ns < SPAN_MAX &&
	       h->records <= MOCA_CHUNK_RECORDS_MAX;
}

static int get_granules(struct moca_counts_scratch *x,
			const struct moca_stream_in *s,
			struct moca_count *rows, size_t n, unsigned shift)
{
	uint64_t next = 0, last = UINT64_MAX >> shift;
	size_t i;

	if (moca_stream_len(s, MOCA_S_GRANULES) != n ||
	    moca_column_get(&x->column, s, MOCA_S_GRANULES, x->values, n))
		return -EBADMSG;
	for (i = 0; i < n; i++) {
		/* next is last + 1 behind the last granule there is. */
		if (next > last || x->values[i] > last - next)
			return -EBADMSG;
		next += x->values[i];
		rows[i] = (struct moca_count){ .addr = next << shift };
		next++;
	}
	return 0;
}

static int get_counts(struct moca_counts_scratch *x,
		      const struct moca_stream_in *s, struct moca_count *rows,
		      const struct moca_header *h)
{
	uint64_t loads = 0, stores = 0;
	size_t i, n = h->records;

	if (moca_column_get(&x->column, s, MOCA_S_LOADS, x->values, n))
		return -EBADMSG;
	for (i = 0; i < n; i++) {
		rows[i].loads = x->values[i];
		if (__builtin_add_overflow(loads, x->values[i], &loads))
			return -EBADMSG;
	}
	if (moca_column_get(&x->column, s, MOCA_S_STORES, x->values, n))
		return -EBADMSG;
	for (i = 0; i < n; i++) {
		rows[i].stores = x->values[i];
		if (__builtin_add_overflow(stores, x->values[i], &stores) ||
		    !(rows[i].loads | rows[i].stores))
			return -EBADMSG;
	}
	return loads == h->cpumask[MOCA_COUNTS_LOADS] &&
	       stores == h->cpumask[MOCA_COUNTS_STORES] ? 0 : -EBADMSG;
}

static int get_first(struct moca_counts_scratch *x,
		     const struct moca_stream_in *s, struct moca_count *rows,
		     const struct moca_header *h)
{
	uint64_t prev = h->begin_ns;
	size_t i, n = h->records;

	if (moca_column_get(&x->column, s, MOCA_S_FIRST, x->values, n) ||
	    moca_stream_get(s, MOCA_S_FIRST_STORE, x->bits, (n + 7) / 8))
		return -EBADMSG;
	for (i = 0; i < n; i++) {
		rows[i].first_store = x->bits[i / 8] >> i % 8 & 1;
		if (!x->values[i]) {
			if (rows[i].first_store)
				return -EBADMSG;
			continue;
		}
		prev += moca_unzigzag(x->values[i] - 1);
		rows[i].first_ns = prev;
		if (!prev || prev < h->begin_ns || prev > h->end_ns)
			return -EBADMSG;
		if (rows[i].first_store ? !rows[i].stores : !rows[i].loads)
			return -EBADMSG;
	}
	return 0;
}

int moca_counts_decode(struct moca_counts_scratch *x,
		       const struct moca_stream_in *s, struct moca_count *rows,
		       const struct moca_header *h)
{
	unsigned shift;

	if (!moca_counts_header_valid(h))
		return -EBADMSG;
	shift = (unsigned)h->cpumask[MOCA_COUNTS_SHIFT];
	if (!h->records)
		return h->cpumask[MOCA_COUNTS_LOADS] ||
		       h->cpumask[MOCA_COUNTS_STORES] ? -EBADMSG : 0;
	if (get_granules(x, s, rows, h->records, shift) ||
	    get_counts(x, s, rows, h) || get_first(x, s, rows, h))
		return -EBADMSG;
	return 0;
}
