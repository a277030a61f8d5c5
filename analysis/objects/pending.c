// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an allocator itself touches of an object - calloc's zeroes, realloc's
 * copy - comes before the object is told. So an access to a heap's free memory
 * waits for what its thread tells next: it may be the object.
 */
#include "analysis/objects/replay.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/stripe.h"

#define PENDING_KEPT 256	/* room that a task keeps for its next ones */
#define LOOP_BYTES 256	/* of code: memset's stores are near each other */
#define AHEAD 32		/* accesses */
#define RING (4 * AHEAD)	/* a power of two above 2 * AHEAD */
#define PAGE 4096ull

/* Of a struct moca_hit, what was not the same of all of a task's. */
struct pending {
	struct moca_access a;
	struct replay_space *s;	/* held */
	uint64_t at, interval, n;
	uint32_t id, where, era;
	uint8_t mixed, whole, wide;
	uint8_t loose;		/* to free memory; else it only keeps order */
};

static void observe(const struct moca_objects *o, const struct moca_hit *h,
		    const struct replay_space *s)
{
	const struct moca_observed x = {
		.addr = h->at,
		.ip = h->a->ip,
		.time_ns = h->a->time_ns,
		.interval = h->interval,
		.task = h->task,
		.space = h->where,
		.key = o->table.inst_key[h->id].row,
		.page = h->page,
		.cpu = h->a->cpu,
		.node = h->a->node,
		.type = h->a->type,
		.weight = h->a->weight,
		.stack = h->a->stack,
		.rank = o->sampled ? (uint8_t)moca_stripe_rank(h->a->addr,
					MOCA_STRIPE_CORE_KEY) : 0,
		.anew = h->anew != 0,
		.era = h->anew ? moca_addrmap_find(&s->eras, h->a->addr) &
				 MOCA_ERAS : 0,
	};

	o->opt.observe(o->opt.observe_arg, &x);
}

static void tell_settled(const struct moca_objects *o, const struct moca_hit *h)
{
	const struct moca_settled x = {
		.access = h->a, .addr = h->at, .interval = h->interval,
		.space = h->where, .n = h->n, .task = h->task,
		.task_index = h->task_index,
		.key = o->table.inst_key[h->id].row,
	};

	o->opt.settled(o->opt.settled_arg, &x);
}

int moca_objects_count(struct moca_objects *o, struct moca_hit *h,
		       const struct replay_space *s)
{
	int ret = moca_table_count(&o->table, h);
	struct moca_touch *x = o->table.new_touch;
	const struct load *l;

	if (ret < 0)
		return ret;
	if (ret) {
		l = x->ip ? moca_space_load(s, x->ip) : NULL;
		x->module = l ? l->module : NULL;
		x->vaddr = x->ip - (l ? l->bias : 0);
	}
	if (o->opt.settled)
		tell_settled(o, h);
	if (o->opt.each)
		o->opt.each(o->opt.each_arg, h->task, h->a,
			    o->table.inst_key[h->id].row);
	if (o->opt.observe)
		observe(o, h, s);
	return 0;
}

/* May an object come to be told where the access went to? */
static int is_loose(const struct moca_objects *o, const struct moca_hit *h,
		    const struct replay_space *s)
{
	enum moca_object_kind kind;

	/* The allocator only writes to what it is about to hand out. */
	if (!h->below || !s->agent || h->wide ||
	    (h->a->type != MOCA_ACCESS_WRITE &&
	     h->a->type != MOCA_ACCESS_UNKNOWN))
		return 0;
	kind = o->table.rows[o->table.inst_key[h->id].row].o.kind;
	return kind == MOCA_OBJECT_ALLOCATOR || kind == MOCA_OBJECT_ANONYMOUS;
}

/* Room for more; at best that which another task has just left. */
static int grow(struct moca_objects *o, struct replay_task *t)
{
	if (!t->pending_count && o->spare_cap > t->pending_cap) {
		free(t->pending);
		t->pending = o->spare;
		t->pending_cap = o->spare_cap;
		o->spare = NULL;
		o->spare_cap = 0;
		return 0;
	}
	return moca_vec_fit(t->pending, t->pending_cap, t->pending_count + 1);
}

/* Much room is not kept by each task, but the most by one for all. */
static void leave(struct moca_objects *o, struct replay_task *t)
{
	if (t->pending_cap <= PENDING_KEPT)
		return;
	if (t->pending_cap > o->spare_cap) {
		free(o->spare);
		o->spare = t->pending;
		o->spare_cap = t->pending_cap;
	} else {
		free(t->pending);
	}
	t->pending = NULL;
	t->pending_cap = 0;
}

int moca_objects_release_waited(struct moca_objects *o, uint64_t interval)
{
	size_t i, n = moca_trace_task_count(o->trace);
	uint64_t least = UINT64_MAX;
	int err = 0;

	for (i = 0; !err && i < n; i++) {
		struct replay_task *t = &o->tasks[i];

		if (!t->held)
			continue;
		if (interval >= t->held_since + PENDING_INTERVALS)
			err = moca_objects_release(o, t, 0, 0, 0);
		else if (t->held_since < least)
			least = t->held_since;
	}
	o->held_since = least;
	return err;
}

/*
 * calloc of much memory, or realloc, goes on for many intervals, and comes to each
 * page once: as long as it does, what waits is not late. Who comes back works there.
 */
static void follow(struct replay_task *t, const struct moca_hit *h)
{
	uint64_t ip = h->a->ip, at = h->a->addr;
	int same = (ip > t->walk_ip ? ip - t->walk_ip : t->walk_ip - ip) <
		   LOOP_BYTES && t->walk_at != UINT64_MAX;

	t->walk_ended |= same && at < t->walk_at;
	if (same && at > t->walk_at && !t->walk_ended)
		t->held_since = h->interval;
	t->walk_ip = ip;
	t->walk_at = at;
}

int moca_objects_hold(struct moca_objects *o, struct replay_task *t,
		      const struct moca_hit *h, struct replay_space *s)
{
	int loose, err;
	struct pending *p;

	err = moca_objects_release_late(o, h->interval);
	if (err)
		return err;
	loose = is_loose(o, h, s);
	if (!loose && !moca_objects_waits(o, t))
		return 0;
	err = moca_objects_hold_one(o, t, h->interval);
	if (err)
		return err;
	if (loose)
		follow(t, h);
	else if (moca_objects_unordered(o))
		return 0;
	if (t->pending_count == t->pending_cap) {
		err = grow(o, t);
		if (err)
			return err;
	}
	p = &t->pending[t->pending_count++];
	*p = (struct pending){
		.a = *h->a, .s = s, .at = h->at, .interval = h->interval,
		.n = h->n, .id = h->id, .where = h->where, .era = h->era,
		.mixed = h->mixed != 0, .whole = h->whole != 0,
		.wide = h->wide != 0, .loose = loose != 0,
	};
	s->refs++;
	return 1;
}

/* Is the page of addr in [first, last], all of it? */
static int is_whole(uint64_t addr, uint64_t first, uint64_t last)
{
	return (addr & ~(PAGE - 1)) >= first && (addr | (PAGE - 1)) <= last;
}

static struct moca_hit hit_of(const struct pending *p, size_t index,
			      uint32_t task)
{
	return (struct moca_hit){
		.a = &p->a, .task = task, .task_index = index,
		.space = p->s->id, .where = p->where, .at = p->at,
		.id = p->id, .era = p->era, .interval = p->interval,
		.n = p->n, .mixed = p->mixed, .whole = p->whole,
		.wide = p->wide, .below = p->loose,
	};
}

int moca_objects_release(struct moca_objects *o, struct replay_task *t,
			 uint64_t first, uint64_t last, uint32_t id)
{
	size_t index = (size_t)(t - o->tasks);
	uint32_t task = moca_trace_task(o->trace, index)->id;
	size_t i, n = t->pending_count;
	struct moca_hit ring[RING], *h;
	struct pending *p;
	int err = 0;

	t->pending_count = 0;
	/* What each needs is far apart in memory, and is fetched ahead. */
	for (i = 0; n && i < n + 2 * AHEAD; i++) {
		if (i < n) {
			p = &t->pending[i];
			h = &ring[i % RING];
			*h = hit_of(p, index, task);
			if (id && p->loose && p->a.addr >= first &&
			    p->a.addr <= last) {
				h->id = id;
				h->whole = is_whole(p->a.addr, first, last);
			}
			__builtin_prefetch(&o->table.inst_key[h->id]);
		}
		if (i >= AHEAD && i - AHEAD < n)
			moca_table_prefetch(&o->table,
					    &ring[(i - AHEAD) % RING]);
		if (i < 2 * AHEAD)
			continue;
		p = &t->pending[i - 2 * AHEAD];
		if (!err)
			err = moca_objects_count(o, &ring[(i - 2 * AHEAD) % RING],
						 p->s);
		moca_space_put(o, p->s);
	}
	o->pending_count -= t->held;
	t->held = 0;
	leave(o, t);
	return err;
}

int moca_objects_release_all(struct moca_objects *o)
{
	size_t i, n = moca_trace_task_count(o->trace);
	int err = 0;

	for (i = 0; !err && i < n; i++)
		err = moca_objects_release(o, &o->tasks[i], 0, 0, 0);
	return err;
}

void moca_objects_free_pending(struct moca_objects *o)
{
	size_t i, j, n = moca_trace_task_count(o->trace);

	for (i = 0; o->tasks && i < n; i++) {
		for (j = 0; j < o->tasks[i].pending_count; j++)
			moca_space_put(o, o->tasks[i].pending[j].s);
		free(o->tasks[i].pending);
	}
	free(o->spare);
}
