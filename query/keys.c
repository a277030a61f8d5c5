// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What each access of a window went to, in the order in which a cursor of the same
 * window gives them. Keys are packed in blocks: 1 to 2 bytes an access where there
 * are many objects, next to nothing where there are few.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "analysis/objects/objects.h"
#include "analysis/trace.h"
#include "lib/base/vec.h"
#include "query/table.h"

#define BLOCK 4096	/* keys */
#define LEVEL 1

/* Equal keys are one; else they are packed by zstd. */
struct block {
	uint8_t *data;	/* NULL: all are `key` */
	uint32_t size;
	uint32_t key;
};

struct task_keys {
	struct block *blocks;
	size_t block_count, room;
	uint32_t *last;	/* the keys behind the last block: BLOCK, or NULL */
	size_t count;	/* of all keys */
};

struct query_keys_view {
	struct query_keys *of;
	const struct block *block;
	uint32_t keys[BLOCK];
};

struct query_keys {
	int users;
	struct moca_query window;	/* times and task alone */
	struct moca_trace *t;
	struct moca_objects *objects;
	struct task_keys *tasks;	/* by index of the task */
	size_t task_count;
	ZSTD_CCtx *pack;	/* while they are computed */
	int error;
};

static int is_uniform(const uint32_t *keys)
{
	for (size_t i = 1; i < BLOCK; i++)
		if (keys[i] != keys[0])
			return 0;
	return 1;
}

/* t->last is full. 0 or -ENOMEM. */
static int close_block(struct query_keys *k, struct task_keys *t)
{
	uint8_t packed[ZSTD_COMPRESSBOUND(BLOCK * sizeof(uint32_t))];
	struct block *b;
	size_t n;

	if (moca_vec_fit(t->blocks, t->room, t->block_count + 1))
		return -ENOMEM;
	b = &t->blocks[t->block_count];
	*b = (struct block){ .key = t->last[0] };
	if (!is_uniform(t->last)) {
		n = ZSTD_compressCCtx(k->pack, packed, sizeof(packed), t->last,
				      BLOCK * sizeof(*t->last), LEVEL);
		if (ZSTD_isError(n))
			return -ENOMEM;
		b->data = malloc(n);
		if (!b->data)
			return -ENOMEM;
		memcpy(b->data, packed, n);
		b->size = (uint32_t)n;
	}
	t->block_count++;
	return 0;
}

static int add_key(struct query_keys *k, struct task_keys *t, uint32_t key)
{
	size_t at = t->count % BLOCK;
	int err = 0;

	if (!t->last)
		t->last = malloc(BLOCK * sizeof(*t->last));
	if (!t->last)
		return -ENOMEM;
	t->last[at] = key;
	t->count++;
	if (at + 1 == BLOCK)
		err = close_block(k, t);
	return err;
}

static void note(void *arg, uint32_t task, const struct moca_access *access,
		 uint32_t key)
{
	struct query_keys *k = arg;
	size_t i = trace_task_index(k->t, task);
	struct task_keys *t;

	if (k->error || i == SIZE_MAX)
		return;
	t = &k->tasks[i];
	k->error = add_key(k, t, key);
}

void query_keys_put(struct query_keys *k)
{
	if (!k || --k->users)
		return;
	for (size_t i = 0; k->tasks && i < k->task_count; i++) {
		for (size_t n = 0; n < k->tasks[i].block_count; n++)
			free(k->tasks[i].blocks[n].data);
		free(k->tasks[i].blocks);
		free(k->tasks[i].last);
	}
	free(k->tasks);
	moca_objects_free(k->objects);
	free(k);
}

static int is_window(const struct query_keys *k, const struct moca_query *w)
{
	return k->window.begin_ns == w->begin_ns &&
	       k->window.end_ns == w->end_ns &&
	       k->window.one_task == w->one_task &&
	       (!w->one_task || k->window.task == w->task);
}

static int compute(struct query_keys *k)
{
	const struct moca_objects_options opt = {
		.size = sizeof(opt), .begin_ns = k->window.begin_ns,
		.end_ns = k->window.end_ns, .task = k->window.task,
		.one_task = (int)k->window.one_task,
		.each = note, .each_arg = k, .keys_only = 1,
	};
	int err;

	k->tasks = calloc(k->task_count + 1, sizeof(*k->tasks));
	k->pack = ZSTD_createCCtx();
	if (k->tasks && k->pack)
		err = moca_objects_compute(&k->objects, k->t, &opt);
	else
		err = -ENOMEM;
	ZSTD_freeCCtx(k->pack);
	k->pack = NULL;
	return err ? err : k->error;
}

int query_keys_of(struct query *q, struct moca_query *window,
		  struct query_keys **out)
{
	struct query_keys *k = q->keys;
	int err;

	if (k && !is_window(k, window))
		*window = (struct moca_query){ .size = sizeof(*window) };
	if (!k || !is_window(k, window)) {
		k = calloc(1, sizeof(*k));
		if (!k)
			return -ENOMEM;
		k->users = 1;
		k->window = *window;
		k->t = q->t;
		k->task_count = moca_trace_task_count(q->t);
		err = compute(k);
		if (err) {
			query_keys_put(k);
			return err;
		}
		query_keys_put(q->keys);
		q->keys = k;
	}
	k->users++;
	*out = k;
	return 0;
}

struct query_keys_view *query_keys_view_new(struct query_keys *k)
{
	struct query_keys_view *v = malloc(sizeof(*v));

	if (v) {
		v->of = k;
		v->block = NULL;
	}
	return v;
}

static int unpack(struct query_keys_view *v, const struct block *b)
{
	size_t n = ZSTD_decompress(v->keys, sizeof(v->keys), b->data, b->size);

	v->block = n == sizeof(v->keys) ? b : NULL;
	return n == sizeof(v->keys);
}

const struct moca_object *query_keys_object(struct query_keys_view *v,
					    size_t task, size_t n)
{
	const struct query_keys *k = v->of;
	const struct task_keys *t;
	const struct block *b;
	uint32_t key;

	if (task >= k->task_count || n >= k->tasks[task].count)
		return NULL;
	t = &k->tasks[task];
	if (n / BLOCK == t->block_count) {
		key = t->last[n % BLOCK];
	} else {
		b = &t->blocks[n / BLOCK];
		if (b->data && v->block != b && !unpack(v, b))
			return NULL;
		key = b->data ? v->keys[n % BLOCK] : b->key;
	}
	return moca_objects_row_of(k->objects, key);
}

const struct moca_objects *query_keys_objects(const struct query_keys *k)
{
	return k->objects;
}
