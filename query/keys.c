// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What each access of a window went to, in the order in which a cursor of the same
 * window gives them. Keys are packed in blocks: 1 to 2 bytes an access where there
 * are many objects, next to nothing where there are few. Packing by bits takes a
 * tenth of the time of zstd.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/objects/objects.h"
#include "analysis/trace.h"
#include "lib/base/vec.h"
#include "query/table.h"

#define BLOCK QUERY_KEYS_BLOCK
#define LATE 256	/* keys that come behind later ones, at a time */

/* Keys less the smallest one, as so many bits each as the largest needs. */
struct block {
	uint32_t *data;	/* NULL: all are `least` */
	uint32_t least;
	unsigned width;
};

/* A key that came late, for where its access was. */
struct late {
	uint64_t n;
	uint32_t key;
};

struct task_keys {
	struct block *blocks;
	size_t block_count, room;
	uint32_t *last;	/* the keys behind the last block: BLOCK, or NULL */
	size_t count;	/* of all keys */
	struct late *late;	/* that are yet to be put there: n rises */
	size_t late_count, late_room;
};

struct query_keys {
	int users;
	struct moca_query window;	/* times and task alone */
	struct moca_trace *t;
	struct moca_objects *objects;
	struct task_keys *tasks;	/* by index of the task */
	size_t task_count;
	uint32_t *ids;		/* of objects, by key */
	size_t key_count;
	int error;
};

static void pack_bits(uint32_t *to, const uint32_t *keys, uint32_t least,
		      unsigned width)
{
	unsigned bits = 0;
	uint64_t word = 0;

	for (size_t i = 0; i < BLOCK; i++) {
		word |= (uint64_t)(keys[i] - least) << bits;
		bits += width;
		if (bits >= 32) {
			*to++ = (uint32_t)word;
			word >>= 32;
			bits -= 32;
		}
	}
}

/* 0 or -ENOMEM: *b is as it was. */
static int pack(struct block *b, const uint32_t *keys)
{
	struct block made = { .least = keys[0] };
	uint32_t most = keys[0];

	for (size_t i = 1; i < BLOCK; i++) {
		made.least = keys[i] < made.least ? keys[i] : made.least;
		most = keys[i] > most ? keys[i] : most;
	}
	if (most != made.least) {
		made.width = 32 - (unsigned)__builtin_clz(most - made.least);
		made.data = malloc(made.width * (BLOCK / 8));
		if (!made.data)
			return -ENOMEM;
		pack_bits(made.data, keys, made.least, made.width);
	}
	*b = made;
	return 0;
}

static void unpack(const struct block *b, uint32_t *keys)
{
	const uint32_t *from = b->data;
	uint32_t mask = b->width ? UINT32_MAX >> (32 - b->width) : 0;
	unsigned bits = 0;
	uint64_t word = 0;

	for (size_t i = 0; i < BLOCK; i++) {
		if (bits < b->width) {
			word |= (uint64_t)*from++ << bits;
			bits += 32;
		}
		keys[i] = b->least + ((uint32_t)word & mask);
		word >>= b->width;
		bits -= b->width;
	}
}

/* t->last is full. 0 or -ENOMEM. */
static int close_block(struct task_keys *t)
{
	int err = moca_vec_fit(t->blocks, t->room, t->block_count + 1);

	if (!err)
		err = pack(&t->blocks[t->block_count], t->last);
	t->block_count += !err;
	return err;
}

/* Those of late[0..count) that are in the block. 0 or -errno. */
static int put_block(struct block *b, const struct late *late, size_t count)
{
	uint32_t keys[BLOCK];
	struct block was = *b;
	int err;

	unpack(b, keys);
	for (size_t i = 0; i < count; i++)
		keys[late[i].n % BLOCK] = late[i].key;
	err = pack(b, keys);
	if (!err)
		free(was.data);
	return err;
}

/* Put what came late where it belongs. 0 or -errno. */
static int put_late(struct task_keys *t)
{
	size_t i, n;
	int err = 0;

	for (i = 0; i < t->late_count && !err; i += n) {
		const struct late *l = &t->late[i];
		uint64_t at = l->n / BLOCK;

		for (n = 1; i + n < t->late_count && l[n].n / BLOCK == at; n++)
			;
		if (at < t->block_count)
			err = put_block(&t->blocks[at], l, n);
		for (size_t j = 0; at == t->block_count && j < n; j++)
			t->last[l[j].n % BLOCK] = l[j].key;
	}
	t->late_count = 0;
	return err;
}

static int add_key(struct task_keys *t, uint32_t key)
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
		err = close_block(t);
	return err;
}

/* Before the n-th key others came late, or it comes late itself. */
static int add_late(struct task_keys *t, uint64_t n, uint32_t key)
{
	int err = 0;

	if (n >= t->count) {
		/* Any key will do until theirs come. */
		while (t->count < n && !err)
			err = add_key(t, key);
		return err ? err : add_key(t, key);
	}
	if (t->late_count == LATE ||
	    (t->late_count && t->late[t->late_count - 1].n >= n))
		err = put_late(t);
	if (!err)
		err = moca_vec_fit(t->late, t->late_room, t->late_count + 1);
	if (!err)
		t->late[t->late_count++] = (struct late){ n, key };
	return err;
}

static void note(void *arg, const struct moca_settled *x)
{
	struct query_keys *k = arg;
	struct task_keys *t = &k->tasks[x->task_index];

	if (k->error)
		return;
	k->error = x->n == t->count ? add_key(t, x->key) :
				      add_late(t, x->n, x->key);
}

/* What is still late. 0 or -errno. */
static int settle(struct query_keys *k)
{
	int err = 0;

	for (size_t i = 0; i < k->task_count && !err; i++) {
		struct task_keys *t = &k->tasks[i];

		err = put_late(t);
		free(t->late);
		t->late = NULL;
	}
	return err;
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
		free(k->tasks[i].late);
	}
	free(k->tasks);
	free(k->ids);
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

static int note_ids(struct query_keys *k)
{
	k->key_count = moca_objects_key_count(k->objects);
	k->ids = malloc((k->key_count + 1) * sizeof(*k->ids));
	if (!k->ids)
		return -ENOMEM;
	for (size_t i = 0; i < k->key_count; i++)
		k->ids[i] = moca_objects_row_of(k->objects, (uint32_t)i)->id;
	return 0;
}

static int compute(struct query_keys *k)
{
	const struct moca_objects_options opt = {
		.size = sizeof(opt), .begin_ns = k->window.begin_ns,
		.end_ns = k->window.end_ns, .task = k->window.task,
		.one_task = (int)k->window.one_task,
		.keys_only = 1, .settled = note, .settled_arg = k,
	};
	int err;

	k->tasks = calloc(k->task_count + 1, sizeof(*k->tasks));
	if (k->tasks)
		err = moca_objects_compute(&k->objects, k->t, &opt);
	else
		err = -ENOMEM;
	if (!err)
		err = k->error ? k->error : settle(k);
	return err ? err : note_ids(k);
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
		v->task = SIZE_MAX;
	}
	return v;
}

void query_keys_load(struct query_keys_view *v, size_t task, size_t block)
{
	const struct query_keys *k = v->of;
	const struct task_keys *t = task < k->task_count ? &k->tasks[task] : NULL;
	size_t i, count = 0;

	v->task = task;
	v->block = block;
	if (t && block < t->block_count) {
		unpack(&t->blocks[block], v->ids);
		count = BLOCK;
	} else if (t && block == t->block_count) {
		count = t->count % BLOCK;
		for (i = 0; i < count; i++)
			v->ids[i] = t->last[i];
	}
	for (i = 0; i < count; i++)
		v->ids[i] = k->ids[v->ids[i]];
	for (; i < BLOCK; i++)
		v->ids[i] = QUERY_NO_ID;
}

const struct moca_object *query_keys_object(struct query_keys_view *v,
					    size_t task, size_t n)
{
	uint32_t id = query_keys_id(v, task, n);
	size_t count;

	return id == QUERY_NO_ID ? NULL :
	       moca_objects_rows(v->of->objects, &count) + id;
}

const struct moca_objects *query_keys_objects(const struct query_keys *k)
{
	return k->objects;
}
