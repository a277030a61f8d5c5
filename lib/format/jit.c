// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/jit.h"

#include <string.h>

#include "lib/base/vec.h"

/* No record takes more bytes than its name and these. */
#define RECORD_BYTES (5 * MOCA_VARINT_MAX)
#define NONE (-1)

void moca_jits_free(struct moca_jits *j)
{
	free(j->list);
	free(j->names);
	free(j->order);
	free(j->edges);
	free(j->nodes);
	free(j->items);
	*j = (struct moca_jits){ 0 };
}

int moca_jits_add(struct moca_jits *j, uint32_t pid, uint64_t time_ns,
		  uint64_t addr, uint64_t size, const char *name, size_t len)
{
	if (len > MOCA_JIT_NAME_MAX)
		len = MOCA_JIT_NAME_MAX;
	if (!size || !len || addr + (size - 1) < addr || memchr(name, 0, len))
		return -EINVAL;
	if (j->count >= MOCA_JIT_MAX ||
	    j->names_len + len + 1 > MOCA_JIT_NAMES_ALL)
		return -E2BIG;
	if (moca_vec_fit(j->list, j->room, j->count + 1) ||
	    moca_vec_fit(j->names, j->names_room, j->names_len + len + 1))
		return -ENOMEM;
	j->list[j->count++] = (struct moca_jit){
		.pid = pid, .name = j->names_len, .time_ns = time_ns,
		.addr = addr, .size = size,
	};
	memcpy(j->names + j->names_len, name, len);
	j->names[j->names_len + len] = 0;
	j->names_len += (uint32_t)len + 1;
	return 0;
}

int moca_jits_encode(struct moca_buf *raw, const struct moca_jits *j,
		     size_t from)
{
	uint64_t prev = 0;
	size_t i, len;

	for (i = from; i < j->count && i - from < MOCA_CHUNK_RECORDS_MAX; i++) {
		const struct moca_jit *x = &j->list[i];

		len = strlen(j->names + x->name);
		if (raw->len + RECORD_BYTES + len > MOCA_JIT_RAW_MAX)
			break;
		moca_buf_varint(raw, x->pid);
		moca_buf_varint(raw, x->time_ns);
		moca_buf_varint(raw, moca_zigzag(x->addr - prev));
		moca_buf_varint(raw, x->size);
		moca_buf_varint(raw, len);
		moca_buf_add(raw, j->names + x->name, len);
		prev = x->addr;
	}
	return raw->error ? raw->error : (int)(i - from);
}

int moca_jits_decode(struct moca_jits *j, const uint8_t *raw, size_t len,
		     uint32_t records)
{
	const uint8_t *p = raw, *end = raw + len;
	uint32_t names_len = j->names_len;
	uint64_t pid, time, addr = 0, diff, size, n;
	size_t count = j->count;
	int err = records ? 0 : -EBADMSG;

	for (uint32_t i = 0; i < records && !err; i++) {
		if (moca_get_varint(&p, end, &pid) || pid > UINT32_MAX ||
		    moca_get_varint(&p, end, &time) ||
		    moca_get_varint(&p, end, &diff) ||
		    moca_get_varint(&p, end, &size) ||
		    moca_get_varint(&p, end, &n) || n > MOCA_JIT_NAME_MAX ||
		    n > (uint64_t)(end - p)) {
			err = -EBADMSG;
			break;
		}
		addr += moca_unzigzag(diff);
		err = moca_jits_add(j, (uint32_t)pid, time, addr, size,
				    (const char *)p, (size_t)n);
		if (err && err != -ENOMEM)
			err = -EBADMSG;
		p += n;
	}
	if (!err && p != end)
		err = -EBADMSG;
	if (err) {
		j->count = count;
		j->names_len = names_len;
	}
	return err;
}

/* --- finding ------------------------------------------------------------ */

struct keyed {
	struct moca_jit jit;
	uint32_t order;
};

static int compare(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->jit.pid != y->jit.pid)
		return x->jit.pid < y->jit.pid ? -1 : 1;
	if (x->jit.addr != y->jit.addr)
		return x->jit.addr < y->jit.addr ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/*
 * A segment tree (Bentley): edges are where an item begins, or the first byte behind
 * one; leaf i of the tree is what lies from edge i to the next. An item is in the
 * O(log n) nodes that it covers, of which it does not cover the parents; items of a
 * node (from nodes[i] to nodes[i + 1] of `items`) are in the order of time and
 * telling. So however they overlap, a search looks at O(log n) nodes.
 */
struct moca_jit_edge {
	uint64_t addr;
	uint32_t pid;
};

static int compare_edges(const void *a, const void *b)
{
	const struct moca_jit_edge *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static struct moca_jit_edge begin_of(const struct moca_jit *x)
{
	return (struct moca_jit_edge){ x->addr, x->pid };
}

/* Behind the last address is the next process. */
static struct moca_jit_edge end_of(const struct moca_jit *x)
{
	uint64_t addr = x->addr + x->size;

	return (struct moca_jit_edge){ addr, x->pid + !addr };
}

/* How many edges are not behind that place. */
static size_t count_edges(const struct moca_jits *j, struct moca_jit_edge e)
{
	size_t low = 0, high = j->edge_count, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (compare_edges(&j->edges[mid], &e) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int find_edges(struct moca_jits *j)
{
	struct moca_jit_edge end;
	size_t n = 0;

	j->edges = malloc(2 * j->count * sizeof(*j->edges));
	if (!j->edges)
		return -ENOMEM;
	for (size_t i = 0; i < j->count; i++) {
		j->edges[n++] = begin_of(&j->list[i]);
		end = end_of(&j->list[i]);
		/* Behind the last byte of the last process is nothing. */
		if (end.addr || end.pid)
			j->edges[n++] = end;
	}
	qsort(j->edges, n, sizeof(*j->edges), compare_edges);
	for (size_t i = 0; i < n; i++)
		if (!j->edge_count ||
		    compare_edges(&j->edges[j->edge_count - 1], &j->edges[i]))
			j->edges[j->edge_count++] = j->edges[i];
	return 0;
}

/* Node i has an item more: counted, or put in its place. */
static void put_item(struct moca_jits *j, size_t i, uint32_t item)
{
	if (j->items)
		j->items[j->nodes[i]] = item;
	j->nodes[i]++;
}

static void put_in_nodes(struct moca_jits *j, uint32_t item)
{
	const struct moca_jit *x = &j->list[item];
	struct moca_jit_edge end = end_of(x);
	size_t low = count_edges(j, begin_of(x)) - 1, high = j->edge_count;

	if (end.addr || end.pid)
		high = count_edges(j, end) - 1;
	low += j->edge_count;
	high += j->edge_count;
	for (; low < high; low /= 2, high /= 2) {
		if (low & 1)
			put_item(j, low++, item);
		if (high & 1)
			put_item(j, --high, item);
	}
}

/* k: all items in the order of time and telling. */
static int plant(struct moca_jits *j, const struct keyed *k)
{
	size_t i, n = 2 * j->edge_count;
	uint32_t sum = 0, count;

	j->nodes = calloc(n + 1, sizeof(*j->nodes));
	if (!j->nodes)
		return -ENOMEM;
	for (i = 0; i < j->count; i++)
		put_in_nodes(j, (uint32_t)i);
	/* At most 2 * 21 of each of MOCA_JIT_MAX. */
	for (i = 0; i < n; i++) {
		count = j->nodes[i];
		j->nodes[i] = sum;
		sum += count;
	}
	j->items = malloc(((size_t)sum + 1) * sizeof(*j->items));
	if (!j->items)
		return -ENOMEM;
	for (i = 0; i < j->count; i++)
		put_in_nodes(j, k[i].order);
	/* Each is now where the next one begins. */
	memmove(j->nodes + 1, j->nodes, n * sizeof(*j->nodes));
	j->nodes[0] = 0;
	return 0;
}

/* In `order` is the place in the list. */
static int compare_times(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->jit.time_ns != y->jit.time_ns)
		return x->jit.time_ns < y->jit.time_ns ? -1 : 1;
	/* The order of telling. */
	return x->jit.name < y->jit.name ? -1 : x->jit.name > y->jit.name;
}

int moca_jits_index(struct moca_jits *j)
{
	struct keyed *k;
	size_t i;
	int err;

	if (!j->count || j->order)
		return 0;
	k = malloc(j->count * sizeof(*k));
	j->order = malloc(j->count * sizeof(*j->order));
	if (!k || !j->order) {
		free(k);
		return -ENOMEM;
	}
	for (i = 0; i < j->count; i++)
		k[i] = (struct keyed){ j->list[i], (uint32_t)i };
	qsort(k, j->count, sizeof(*k), compare);
	for (i = 0; i < j->count; i++) {
		j->list[i] = k[i].jit;
		j->order[i] = k[i].order;
		k[i].order = (uint32_t)i;
	}
	qsort(k, j->count, sizeof(*k), compare_times);
	err = find_edges(j);
	if (!err)
		err = plant(j, k);
	free(k);
	return err;
}

/* The leaf where addr is; 0: there is nothing. */
static size_t find_leaf(const struct moca_jits *j, uint32_t pid, uint64_t addr)
{
	size_t n;

	if (!j->items)
		return 0;
	n = count_edges(j, (struct moca_jit_edge){ addr, pid });
	return n ? j->edge_count + n - 1 : 0;
}

/* The last item of a node that was there by that time, or NONE. */
static int64_t last_by(const struct moca_jits *j, size_t node, uint64_t time_ns)
{
	uint32_t low = j->nodes[node], high = j->nodes[node + 1], mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (j->list[j->items[mid]].time_ns <= time_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low > j->nodes[node] ? (int64_t)j->items[low - 1] : NONE;
}

static int is_later(const struct moca_jits *j, int64_t a, int64_t b)
{
	uint64_t x = j->list[a].time_ns, y = j->list[b].time_ns;

	return x != y ? x > y : j->order[a] > j->order[b];
}

int64_t moca_jits_find(const struct moca_jits *j, uint32_t pid, uint64_t addr,
		       uint64_t time_ns)
{
	int64_t best = NONE, last;

	for (size_t i = find_leaf(j, pid, addr); i; i /= 2) {
		last = last_by(j, i, time_ns);
		if (last != NONE && (best == NONE || is_later(j, last, best)))
			best = last;
	}
	return best;
}

int moca_jits_changes(const struct moca_jits *j, uint32_t pid, uint64_t addr)
{
	int64_t last;

	for (size_t i = find_leaf(j, pid, addr); i; i /= 2) {
		last = last_by(j, i, UINT64_MAX);
		if (last != NONE && j->list[last].time_ns)
			return 1;
	}
	return 0;
}
