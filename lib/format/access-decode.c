// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/access.h"

/* n values to x->values. */
static int get_buckets(struct moca_access_scratch *x,
		       const struct moca_stream_in *s, uint8_t id, size_t n)
{
	return moca_column_get(&x->column, s, id, x->values, n);
}

static int get_planes(const struct moca_stream_in *s, uint8_t id, uint8_t *low,
		      uint8_t *high, size_t n)
{
	if (moca_stream_get(s, id, low, n) ||
	    moca_stream_get(s, id + 1, high, n))
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

int moca_access_meets(struct moca_access_scratch *x,
		      const struct moca_stream_in *s, size_t n, uint64_t begin,
		      uint64_t end)
{
	const struct moca_distinct *d = &x->distinct;
	uint64_t page;
	size_t i;

	if (!n)
		return 0;
	if (get_page_list(x, s, n))
		return -EBADMSG;
	for (i = 0; i < d->count; i++) {
		page = d->list[i];
		if (page >= begin >> MOCA_PAGE_SHIFT)
			return !end || page <= (end - 1) >> MOCA_PAGE_SHIFT;
	}
	return 0;
}

/* Each record's page, by what the ones before let expect. */
static int get_steps(struct moca_access_scratch *x, size_t n)
{
	struct moca_distinct *d = &x->distinct;
	uint32_t r = 0;
	uint64_t next;
	size_t i;

	memset(x->follower, 0, (d->count + 2) * sizeof(x->follower[0]));
	for (i = 0; i < n; i++) {
		next = moca_unzigzag(x->values[i]) +
		       moca_predict(x->follower, r);
		if (next >= d->count)
			return -EBADMSG;
		x->follower[1 + r] = (uint32_t)next + 1;
		r = (uint32_t)next;
		d->index[i] = r;
	}
	return 0;
}

static int get_ranks(struct moca_access_scratch *x,
		     const struct moca_stream_in *s, size_t n)
{
	struct moca_distinct *d = &x->distinct;
	int bad = 0;
	size_t i;

	if (moca_stream_len(s, MOCA_S_STEP))
		return get_buckets(x, s, MOCA_S_STEP, n) ? -EBADMSG :
							   get_steps(x, n);
	if (get_buckets(x, s, MOCA_S_RANK, n))
		return -EBADMSG;
	for (i = 0; i < n; i++) {
		bad |= x->values[i] >= d->count;
		d->index[i] = (uint32_t)x->values[i];
	}
	return bad ? -EBADMSG : 0;
}

/* The places of pages, from their numbers on. */
static int get_pages(struct moca_access_scratch *x,
		     const struct moca_stream_in *s, size_t n)
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
	return get_planes(s, MOCA_S_OFFSET, x->low, x->high, n);
}

static int get_ips(struct moca_access_scratch *x,
		   const struct moca_stream_in *s, size_t n)
{
	struct moca_access_planes *p = &x->planes;
	size_t i, count = moca_stream_len(s, MOCA_S_IPS);
	uint64_t prev = 0;

	if (!count || count > n || get_buckets(x, s, MOCA_S_IPS, count))
		return -EBADMSG;
	for (i = 0; i < count; i++) {
		prev += moca_unzigzag(x->values[i]);
		x->keys[i] = prev;
	}
	p->ip_count = count;
	return get_planes(s, MOCA_S_IP, p->ip[0], p->ip[1], n);
}

static int get_stacks(struct moca_access_scratch *x,
		      const struct moca_stream_in *s, size_t n)
{
	struct moca_access_planes *p = &x->planes;
	size_t i, count = moca_stream_len(s, MOCA_S_STACKS);
	uint64_t prev = 0;

	if (!count) {
		memset(p->stack[0], 0, n);
		memset(p->stack[1], 0, n);
		p->stacks[0] = 0;
		p->stack_count = 1;
		return 0;
	}
	if (count > n || get_buckets(x, s, MOCA_S_STACKS, count))
		return -EBADMSG;
	for (i = 0; i < count; i++) {
		prev += moca_unzigzag(x->values[i]);
		if (prev > MOCA_STACKS_MAX)
			return -EBADMSG;
		p->stacks[i] = prev;
	}
	p->stack_count = count;
	return get_planes(s, MOCA_S_STACK, p->stack[0], p->stack[1], n);
}

static int get_kinds(struct moca_access_scratch *x,
		     const struct moca_stream_in *s, size_t n)
{
	struct moca_access_planes *p = &x->planes;

	if (get_planes(s, MOCA_S_CPU, p->cpu[0], p->cpu[1], n) ||
	    get_planes(s, MOCA_S_NODE, p->node[0], p->node[1], n) ||
	    moca_stream_get(s, MOCA_S_TYPE, p->type, (n + 3) / 4) ||
	    moca_stream_get(s, MOCA_S_MODE, p->mode, (n + 7) / 8))
		return -EBADMSG;
	if (moca_stream_len(s, MOCA_S_WEIGHT))
		return moca_stream_get(s, MOCA_S_WEIGHT, p->weight, n);
	memset(p->weight, 0, n);	/* powers of two */
	return 0;
}

/* To x->values and planes.time_min. */
static int get_times(struct moca_access_scratch *x,
		     const struct moca_stream_in *s, size_t n)
{
	size_t len = moca_stream_len(s, MOCA_S_TIME_MIN);
	uint8_t varint[MOCA_VARINT_MAX];
	const uint8_t *p = varint;

	x->planes.time_min = 0;
	if (get_buckets(x, s, MOCA_S_TIME, n) || len > sizeof(varint) ||
	    moca_stream_get(s, MOCA_S_TIME_MIN, varint, len) ||
	    (len && moca_get_varint(&p, varint + len, &x->planes.time_min)))
		return -EBADMSG;
	return 0;
}

/*
 * A chunk's records are larger than the CPU's caches, so one loop fills in all members
 * of each. A record that is wrong makes the chunk damaged: the loop goes on, and returns
 * that at its end. Until then indices are kept within their arrays.
 */
static int put_together(const struct moca_access_scratch *x,
			struct moca_access *recs, size_t n, uint64_t begin_ns,
			uint32_t of_type[4])
{
	const struct moca_access_planes *p = &x->planes;
	const struct moca_distinct *d = &x->distinct;
	uint32_t reads = 0, writes = 0, execs = 0;
	uint64_t t = begin_ns, delta, page;
	unsigned ip, stack, weight, bad = 0;
	struct moca_access *r = recs;
	size_t i;

	for (i = 0; i < n; i++, r++) {
		page = d->index[i];
		ip = (unsigned)p->ip[1][i] << 8 | p->ip[0][i];
		stack = (unsigned)p->stack[1][i] << 8 | p->stack[0][i];
		weight = p->weight[i];
		bad |= (unsigned)(x->high[i] > MOCA_PAGE_MASK >> 8) |
		       (unsigned)(ip >= p->ip_count) |
		       (unsigned)(stack >= p->stack_count) |
		       (unsigned)(weight > MOCA_WEIGHT_NONE);
		bad |= __builtin_add_overflow(x->values[i],
					      i ? p->time_min : 0, &delta);
		bad |= __builtin_add_overflow(t, delta, &t);
		r->addr = d->list[page] << MOCA_PAGE_SHIFT |
			  (uint64_t)x->high[i] << 8 | x->low[i];
		r->ip = x->keys[ip];
		r->time_ns = t;
		r->phys = x->pfns[page] << MOCA_PAGE_SHIFT;
		r->cpu = (uint16_t)(p->cpu[1][i] << 8 | p->cpu[0][i]);
		r->node = (int16_t)((p->node[1][i] << 8 | p->node[0][i]) - 1);
		r->type = p->type[i / 4] >> i % 4 * 2 & 3;
		r->mode = p->mode[i / 8] >> i % 8 & 1;
		r->weight = weight == MOCA_WEIGHT_NONE ?
				    0 : (uint16_t)(1u << weight % 16);
		r->stack = (uint32_t)p->stacks[stack];
		r->reserved = 0;
		reads += r->type == MOCA_ACCESS_READ;
		writes += r->type == MOCA_ACCESS_WRITE;
		execs += r->type == MOCA_ACCESS_EXEC;
	}
	of_type[MOCA_ACCESS_READ] = reads;
	of_type[MOCA_ACCESS_WRITE] = writes;
	of_type[MOCA_ACCESS_EXEC] = execs;
	of_type[MOCA_ACCESS_UNKNOWN] = (uint32_t)n - reads - writes - execs;
	return bad ? -EBADMSG : 0;
}

int moca_access_decode(struct moca_access_scratch *x,
		       const struct moca_stream_in *s,
		       struct moca_access *recs, size_t n, uint64_t begin_ns,
		       uint32_t of_type[4])
{
	memset(of_type, 0, 4 * sizeof(*of_type));
	if (!n)
		return 0;
	if (get_pages(x, s, n) || get_ips(x, s, n) || get_stacks(x, s, n) ||
	    get_kinds(x, s, n) || get_times(x, s, n))
		return -EBADMSG;
	return put_together(x, recs, n, begin_ns, of_type);
}
