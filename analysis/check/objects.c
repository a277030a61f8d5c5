// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects that live at a time do not overlap, as libmoca-alloc told them one by
 * one. Left out is what it does not promise: objects of realloc (of small ones
 * the end is not told), of allocators that hand out parts of others' objects
 * (--alloc-fn), and programs of which events were lost. A fork's child begins
 * without objects: what it frees of its parent's is not known.
 *
 * An overlap is told, and is no doubt: an allocator within the program (Chromium's)
 * may free by a function that nobody sees.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/check/rules.h"
#include "analysis/objects/addrmap.h"
#include "analysis/trace.h"
#include "include/abi/alloc-events.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"

#define MAP_LIMIT (256ull << 20)	/* bytes of all address maps */
#define OBJECTS_MAX (1u << 22)
/*
 * A free and the malloc that gets its memory may be of two threads, whose clocks are
 * turned into times apart.
 */
#define CLOCKS_NS 20000u
#define WAITING_MAX 64u

/* operator new may be an allocator of its own, in memory of malloc. */
enum layer { HEAP, NEW, MAPPED, LAYERS };

struct object {
	uint64_t addr, size;	/* size 0: free, addr is the next free one */
};

struct heap {
	uint64_t pid;		/* + 1; 0 = none */
	struct moca_addrmap maps[LAYERS];
};

static uint64_t heap_hash(const struct heap *h)
{
	return moca_mix(h->pid);
}

static int heap_same(const struct heap *a, const struct heap *b)
{
	return a->pid == b->pid;
}

static int heap_used(const struct heap *h)
{
	return h->pid != 0;
}

MOCA_TABLE(heap, struct heap, heap_hash, heap_same, heap_used);

/* An overlap that the end of the older object may explain yet. */
struct waiting {
	uint32_t pid;
	uint64_t addr;		/* of the older object */
	uint64_t time_ns;
	uint32_t task;
	uint64_t number;	/* of the event */
	uint64_t fresh;		/* the newer object */
	uint64_t size;
};

enum told { OTHER, ALLOC, FREE, UNMAP, THINNED };

struct objects {
	struct heap *heaps;
	size_t cap, count;
	struct moca_addrpool pool;
	struct object *objects;	/* by id; [0] is none */
	size_t room, used;
	uint32_t free;		/* a chain; 0 = none */
	struct waiting waiting[WAITING_MAX];
	unsigned waits;
	uint64_t overlaps;
	struct waiting first;	/* of these */
	uint8_t *types;		/* enum told, by id of type */
	size_t type_count;
	uint8_t *lossy;		/* of tasks, by index: of their process events
				   were lost */
	int off;
};

static int classify(struct objects *o, struct moca_trace *t)
{
	static const struct {
		const char *name;
		size_t fields;
	} names[] = {
		[ALLOC] = { "alloc", 4 }, [FREE] = { "free", 2 },
		[UNMAP] = { "unmap", 2 }, [THINNED] = { "thinned", 2 },
	};
	const struct moca_event_type *const *types;
	size_t n, i, k;

	types = moca_trace_event_types(t, &n);
	for (i = 0; i < n; i++)
		if (types[i]->id >= o->type_count)
			o->type_count = types[i]->id + 1;
	o->types = calloc(o->type_count + 1, 1);
	if (!o->types)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		for (k = ALLOC; k <= THINNED; k++)
			if (!strcmp(types[i]->facility, MOCA_ALLOC_FACILITY) &&
			    !strcmp(types[i]->name, names[k].name) &&
			    types[i]->field_count >= names[k].fields)
				o->types[types[i]->id] = (uint8_t)k;
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Which processes lost events: of these ends of objects are missing. */
static int find_lossy(struct objects *o, struct moca_trace *t)
{
	size_t i, n = moca_trace_task_count(t), lossy = 0;
	const struct moca_task *task;
	uint32_t *pids = calloc(n + 1, sizeof(*pids));

	o->lossy = calloc(n + 1, 1);
	if (!pids || !o->lossy) {
		free(pids);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++) {
		task = moca_trace_task(t, i);
		if (task->events_lost || task->events_torn)
			pids[lossy++] = task->pid;
	}
	qsort(pids, lossy, sizeof(*pids), by_pid);
	for (i = 0; lossy && i < n; i++) {
		task = moca_trace_task(t, i);
		o->lossy[i] = bsearch(&task->pid, pids, lossy, sizeof(*pids),
				      by_pid) != NULL;
	}
	free(pids);
	return 0;
}

int objects_new(struct meaning *m)
{
	struct objects *o = calloc(1, sizeof(*o));
	struct moca_damage damage;

	if (!o)
		return -ENOMEM;
	m->objects = o;
	o->pool.limit = MAP_LIMIT;
	o->used = 1;
	moca_trace_damage(m->t, &damage);
	o->off = damage.files || damage.chunks ||
		 moca_trace_meta(m->t, "trace.refused") ||
		 moca_trace_meta(m->t, "loss");
	return classify(o, m->t) || find_lossy(o, m->t) ? -ENOMEM : 0;
}

static struct heap *heap_of(struct objects *o, uint32_t pid)
{
	struct heap key = { .pid = pid + 1ull }, *h;
	int i;

	if (heap_fit(&o->heaps, &o->cap, o->count))
		return NULL;
	h = heap_at(o->heaps, o->cap, &key);
	if (!h->pid) {
		h->pid = key.pid;
		for (i = 0; i < LAYERS; i++)
			h->maps[i].pool = &o->pool;
		o->count++;
	}
	return h;
}

static uint64_t last_of(const struct object *x)
{
	return x->addr + x->size - 1;
}

static int take_out(struct objects *o, struct moca_addrmap *map, uint32_t id)
{
	struct object *x = &o->objects[id];
	int err = moca_addrmap_set(map, x->addr, last_of(x), 0);

	*x = (struct object){ .addr = o->free };
	o->free = id;
	return err;
}

static int take_out_range(struct objects *o, struct moca_addrmap *map,
			  uint64_t first, uint64_t last)
{
	uint64_t begin, end;
	uint32_t id;
	int err = 0;

	while (!err && moca_addrmap_next(map, first, last, &begin, &end, &id))
		err = take_out(o, map, id);
	return err;
}

/* The range is others' memory from now on; what sticks out stays. */
static int cut(struct objects *o, struct moca_addrmap *map, uint64_t first,
	       uint64_t last)
{
	struct object *x, old;
	uint64_t begin, end;
	uint32_t id;
	int err = 0;

	while (!err && moca_addrmap_next(map, first, last, &begin, &end, &id)) {
		x = &o->objects[id];
		old = *x;
		if (old.addr >= first || last_of(&old) > last) {
			/* Of two pieces none is followed further. */
			err = take_out(o, map, id);
			continue;
		}
		err = moca_addrmap_set(map, first, last_of(&old), 0);
		x->size = first - old.addr;
	}
	return err;
}

static void look_at_waiting(struct objects *o, uint64_t now)
{
	unsigned i, n = 0;

	for (i = 0; i < o->waits; i++) {
		const struct waiting *w = &o->waiting[i];

		if (now - w->time_ns <= CLOCKS_NS) {
			o->waiting[n++] = *w;
			continue;
		}
		if (!o->overlaps++)
			o->first = *w;
	}
	o->waits = n;
}

static void explain(struct objects *o, uint32_t pid, uint64_t addr,
		    uint64_t end)
{
	unsigned i, n = 0;

	for (i = 0; i < o->waits; i++)
		if (o->waiting[i].pid != pid || o->waiting[i].addr < addr ||
		    o->waiting[i].addr >= end)
			o->waiting[n++] = o->waiting[i];
	o->waits = n;
}

static int put_in(struct objects *o, struct moca_addrmap *map, uint64_t addr,
		  uint64_t size)
{
	uint32_t id = o->free;

	if (id) {
		o->free = (uint32_t)o->objects[id].addr;
	} else {
		if (o->used == OBJECTS_MAX)
			return -E2BIG;
		if (moca_vec_fit(o->objects, o->room, o->used + 1))
			return -ENOMEM;
		id = (uint32_t)o->used++;
	}
	o->objects[id] = (struct object){ addr, size };
	return moca_addrmap_set(map, addr, addr + size - 1, id);
}

static int on_alloc(struct meaning *m, const struct moca_timeline_item *i,
		    struct heap *h, const uint64_t *v)
{
	enum layer layer = v[3] == MOCA_ALLOC_MMAP ? MAPPED :
			   v[3] == MOCA_ALLOC_NEW  ? NEW : HEAP;
	struct moca_addrmap *map = &h->maps[layer];
	uint64_t addr = v[0], size = v[1], begin, end;
	struct objects *o = m->objects;
	uint32_t id;

	if (!addr || !size || addr + size < addr || v[3] >= MOCA_ALLOC_CUSTOM)
		return 0;
	if (moca_addrmap_next(map, addr, addr + size - 1, &begin, &end, &id)) {
		if (o->waits == WAITING_MAX)
			look_at_waiting(o, UINT64_MAX);
		o->waiting[o->waits++] = (struct waiting){
			.pid = i->task->pid, .addr = o->objects[id].addr,
			.time_ns = i->time_ns, .task = i->task->id,
			.number = meaning_number(m, i), .fresh = addr,
			.size = size,
		};
	}
	if (take_out_range(o, map, addr, addr + size - 1))
		return -E2BIG;
	return v[3] == MOCA_ALLOC_REALLOC ? 0 : put_in(o, map, addr, size);
}

static int on_free(struct meaning *m, const struct moca_timeline_item *i,
		   struct heap *h, uint64_t addr)
{
	struct objects *o = m->objects;
	uint64_t begin, end;
	uint32_t id;
	int err = 0;

	explain(o, i->task->pid, addr, addr + 1);
	for (int k = HEAP; !err && k <= NEW; k++)
		if (moca_addrmap_next(&h->maps[k], addr, addr, &begin, &end,
				      &id) && o->objects[id].addr == addr)
			err = take_out(o, &h->maps[k], id);
	return err;
}

/* Objects in bulk may be where small ones were told one by one. */
static int forget(struct objects *o, struct heap *h)
{
	int err = 0;

	for (int k = HEAP; !err && k <= NEW; k++)
		err = take_out_range(o, &h->maps[k], 0, UINT64_MAX);
	return err;
}

static int apply(struct meaning *m, const struct moca_timeline_item *i,
		 enum told told)
{
	struct objects *o = m->objects;
	struct heap *h = heap_of(o, i->task->pid);
	struct moca_value value;
	uint64_t v[4] = { 0 };
	size_t n = told == ALLOC ? 4 : 2, k;

	if (!h)
		return -ENOMEM;
	for (k = 0; k < n; k++)
		if (!moca_event_value(i->event, k, &value))
			v[k] = moca_value_integer(&value, 0);
	switch (told) {
	case ALLOC:
		return on_alloc(m, i, h, v);
	case FREE:
		return on_free(m, i, h, v[0]);
	case UNMAP:
		if (!v[1] || v[0] + v[1] < v[0])
			return 0;
		explain(o, i->task->pid, v[0], v[0] + v[1]);
		return cut(o, &h->maps[MAPPED], v[0], v[0] + v[1] - 1);
	case THINNED:
		return forget(o, h);
	case OTHER:
		break;
	}
	return 0;
}

static int give_up(struct meaning *m, int err)
{
	if (err != -E2BIG)
		return err;
	m->objects->off = 1;
	meaning_skip(m, RULE_OBJECTS, "not all objects were compared: more live at a time than there is memory for");
	return 0;
}

int objects_event(struct meaning *m, const struct moca_timeline_item *i)
{
	uint32_t id = i->event->type->id;
	struct objects *o = m->objects;
	enum told told;

	if (o->waits)
		look_at_waiting(o, i->time_ns);
	told = id < o->type_count ? o->types[id] : OTHER;
	if (o->off || told == OTHER || !i->task->pid ||
	    o->lossy[trace_task_index(m->t, i->task->id)])
		return 0;
	return give_up(m, apply(m, i, told));
}

/* A program begins, or another one in the same process. */
int objects_change(struct meaning *m, const struct moca_timeline_item *i)
{
	const struct moca_change *e = i->change;
	struct objects *o = m->objects;
	struct heap *h;
	int err = 0;

	if (o->off || !i->task->pid ||
	    (e->type != MOCA_CHANGE_EXEC &&
	     (e->type != MOCA_CHANGE_TASK_START ||
	      e->flags & MOCA_TASK_THREAD || e->time_ns != i->task->start_ns)))
		return 0;
	h = heap_of(o, i->task->pid);
	if (!h)
		return -ENOMEM;
	for (int k = 0; !err && k < LAYERS; k++)
		err = take_out_range(o, &h->maps[k], 0, UINT64_MAX);
	return give_up(m, err);
}

void objects_end(struct meaning *m)
{
	struct objects *o = m->objects;
	const struct waiting *w = &o->first;

	look_at_waiting(o, UINT64_MAX);
	if (o->overlaps)
		meaning_skip(m, RULE_OBJECTS, "%" PRIu64 " object%s at addresses of others whose end is not told: task %" PRIu32 ", event %" PRIu64 " (moca_alloc:alloc): %" PRIu64 " bytes at %#" PRIx64 " overlap the object at %#" PRIx64 ", which is alive",
			     o->overlaps, o->overlaps == 1 ? " is" : "s are",
			     w->task, w->number, w->size, w->fresh, w->addr);
}

void objects_free(struct meaning *m)
{
	struct objects *o = m->objects;
	size_t i;

	if (!o)
		return;
	for (i = 0; i < o->cap; i++)
		for (int k = 0; o->heaps[i].pid && k < LAYERS; k++)
			moca_addrmap_clear(&o->heaps[i].maps[k]);
	moca_addrpool_free(&o->pool);
	free(o->heaps);
	free(o->objects);
	free(o->types);
	free(o->lossy);
	free(o);
}
