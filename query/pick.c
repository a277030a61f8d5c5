// SPDX-License-Identifier: GPL-2.0-or-later
#include "query/pick.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/objects/objects.h"
#include "analysis/trace.h"
#include "lib/base/vec.h"
#include "query/table.h"

struct query_pick {
	const struct query_filter *f;
	struct moca_trace *t;
	struct query *q;		/* NULL: of all objects */
	struct query_keys *keys;
	struct query_keys_view *view;
	uint8_t *wanted;		/* by id of the object */
	size_t count;
	struct moca_chunk chunk;	/* that was given last */
	struct moca_access *accesses;	/* its own */
	size_t room;
};

int query_pick_name(const struct query_filter *f, const char *name)
{
	return !f->object || !sqlite3_strglob(f->object, name);
}

int query_pick_has(struct query_pick *p, size_t task, uint64_t n,
		   const struct moca_access *a)
{
	const struct moca_query *r = &p->f->range;
	uint32_t id;

	if (a->addr < r->addr_begin || (r->addr_end && a->addr >= r->addr_end) ||
	    a->time_ns < r->begin_ns || (r->end_ns && a->time_ns >= r->end_ns))
		return 0;
	if (r->one_task && (task == SIZE_MAX ||
			    moca_trace_task(p->t, task)->id != r->task))
		return 0;
	if (!p->q)
		return 1;
	id = query_keys_id(p->view, task, n);
	return id < p->count && p->wanted[id];
}

int query_pick_chunk(struct query_pick *p, uint64_t before,
		     const struct moca_chunk **chunk)
{
	const struct moca_chunk *c = *chunk;
	size_t task = trace_task_index(p->t, c->task), n = 0;

	if (moca_vec_fit(p->accesses, p->room, c->count))
		return -ENOMEM;
	for (size_t i = 0; i < c->count; i++)
		if (query_pick_has(p, task, before + i, &c->accesses[i]))
			p->accesses[n++] = c->accesses[i];
	p->chunk = *c;
	p->chunk.accesses = p->accesses;
	p->chunk.count = n;
	*chunk = &p->chunk;
	return 0;
}

static int choose_objects(struct query_pick *p, const struct moca_query *window)
{
	struct moca_query of = {
		.size = sizeof(of), .begin_ns = window->begin_ns,
		.end_ns = window->end_ns, .task = window->task,
		.one_task = window->one_task,
	};
	const struct moca_object *o;
	int err = query_keys_of(p->q, &of, &p->keys);

	if (err)
		return err;
	o = moca_objects_rows(query_keys_objects(p->keys), &p->count);
	p->view = query_keys_view_new(p->keys);
	p->wanted = calloc(p->count + 1, 1);
	if (!p->view || !p->wanted)
		return -ENOMEM;
	for (size_t i = 0; i < p->count; i++)
		p->wanted[i] = (uint8_t)query_pick_name(p->f, o[i].name);
	return 0;
}

int query_pick_open(struct query_pick **out, struct moca_trace *t,
		    const struct query_filter *f,
		    const struct moca_query *window)
{
	struct query_pick *p = calloc(1, sizeof(*p));
	int err = 0;

	if (!p)
		return -ENOMEM;
	p->f = f;
	p->t = t;
	if (f->object)
		err = query_open(&p->q, t);
	if (!err && p->q)
		err = choose_objects(p, window);
	if (err)
		query_pick_close(p);
	else
		*out = p;
	return err;
}

void query_pick_close(struct query_pick *p)
{
	if (!p)
		return;
	free(p->accesses);
	free(p->wanted);
	free(p->view);
	query_keys_put(p->keys);
	query_close(p->q);
	free(p);
}
