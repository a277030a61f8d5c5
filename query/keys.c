// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What each access of a window went to: 4 bytes an access, in the order in which
 * a cursor of the same window gives them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/objects/objects.h"
#include "analysis/trace.h"
#include "lib/base/vec.h"
#include "query/table.h"

struct task_keys {
	uint32_t *key;
	size_t count, room;
};

struct query_keys {
	int users;
	struct moca_query window;	/* times and task alone */
	struct moca_trace *t;
	struct moca_objects *objects;
	struct task_keys *tasks;	/* by index of the task */
	size_t task_count;
	int error;
};

static void note(void *arg, uint32_t task, const struct moca_access *access,
		 uint32_t key)
{
	struct query_keys *k = arg;
	size_t i = trace_task_index(k->t, task);
	struct task_keys *t;

	if (k->error || i == SIZE_MAX)
		return;
	t = &k->tasks[i];
	k->error = moca_vec_fit(t->key, t->room, t->count + 1);
	if (!k->error)
		t->key[t->count++] = key;
}

void query_keys_put(struct query_keys *k)
{
	if (!k || --k->users)
		return;
	for (size_t i = 0; k->tasks && i < k->task_count; i++)
		free(k->tasks[i].key);
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
		.each = note, .each_arg = k,
	};
	int err;

	k->tasks = calloc(k->task_count + 1, sizeof(*k->tasks));
	if (!k->tasks)
		return -ENOMEM;
	err = moca_objects_compute(&k->objects, k->t, &opt);
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

const struct moca_object *query_keys_object(const struct query_keys *k,
					    size_t task, size_t n)
{
	const struct task_keys *t;

	if (task >= k->task_count)
		return NULL;
	t = &k->tasks[task];
	return n < t->count ? moca_objects_row_of(k->objects, t->key[n]) : NULL;
}
