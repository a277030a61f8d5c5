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
	free(j->far);
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

static uint64_t last_of(const struct moca_jit *x)
{
	return x->addr + (x->size - 1);
}

/*
 * Items [from, end) are a tree, whose root is the one in the middle: what it holds is
 * passed over where all of it ends before an address.
 */
static uint64_t find_far(struct moca_jits *j, size_t from, size_t end)
{
	size_t mid = from + (end - from) / 2;
	uint64_t far, below;

	far = last_of(&j->list[mid]);
	if (mid > from) {
		below = find_far(j, from, mid);
		far = below > far ? below : far;
	}
	if (mid + 1 < end) {
		below = find_far(j, mid + 1, end);
		far = below > far ? below : far;
	}
	return j->far[mid] = far;
}

/* The items of a process. */
static void find_process(const struct moca_jits *j, uint32_t pid, size_t *from,
			 size_t *end)
{
	size_t low = 0, high = j->count, mid;

	for (int upper = 0; upper < 2; upper++) {
		for (high = j->count; low < high;) {
			mid = low + (high - low) / 2;
			if (j->list[mid].pid < pid ||
			    (upper && j->list[mid].pid == pid))
				low = mid + 1;
			else
				high = mid;
		}
		*(upper ? end : from) = low;
	}
}

int moca_jits_index(struct moca_jits *j)
{
	struct keyed *k;
	size_t i, from, end;

	if (!j->count || j->order)
		return 0;
	k = malloc(j->count * sizeof(*k));
	j->order = malloc(j->count * sizeof(*j->order));
	j->far = malloc(j->count * sizeof(*j->far));
	if (!k || !j->order || !j->far) {
		free(k);
		return -ENOMEM;
	}
	for (i = 0; i < j->count; i++)
		k[i] = (struct keyed){ j->list[i], (uint32_t)i };
	qsort(k, j->count, sizeof(*k), compare);
	for (i = 0; i < j->count; i++) {
		j->list[i] = k[i].jit;
		j->order[i] = k[i].order;
	}
	free(k);
	for (i = 0; i < j->count; i = end) {
		find_process(j, j->list[i].pid, &from, &end);
		find_far(j, from, end);
	}
	return 0;
}

struct search {
	const struct moca_jits *j;
	uint64_t addr, time_ns;
	int64_t best;
	size_t timed;		/* that lie there, and have a time */
};

static int is_better(const struct search *s, size_t i)
{
	const struct moca_jit *a = &s->j->list[i], *b;

	if (a->time_ns > s->time_ns)
		return 0;
	if (s->best == NONE)
		return 1;
	b = &s->j->list[s->best];
	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns;
	return s->j->order[i] > s->j->order[s->best];
}

static void search(struct search *s, size_t from, size_t end)
{
	const struct moca_jit *x;
	size_t mid;

	while (from < end) {
		mid = from + (end - from) / 2;
		if (s->j->far[mid] < s->addr)
			return;
		search(s, from, mid);
		x = &s->j->list[mid];
		if (x->addr > s->addr)
			return;
		if (last_of(x) >= s->addr) {
			s->timed += x->time_ns != 0;
			if (is_better(s, mid))
				s->best = (int64_t)mid;
		}
		from = mid + 1;
	}
}

static struct search search_all(const struct moca_jits *j, uint32_t pid,
				uint64_t addr, uint64_t time_ns)
{
	struct search s = { .j = j, .addr = addr, .time_ns = time_ns,
			    .best = NONE };
	size_t from, end;

	if (!j->count || !j->order)
		return s;
	find_process(j, pid, &from, &end);
	search(&s, from, end);
	return s;
}

int64_t moca_jits_find(const struct moca_jits *j, uint32_t pid, uint64_t addr,
		       uint64_t time_ns)
{
	return search_all(j, pid, addr, time_ns).best;
}

int moca_jits_changes(const struct moca_jits *j, uint32_t pid, uint64_t addr)
{
	return search_all(j, pid, addr, UINT64_MAX).timed != 0;
}
