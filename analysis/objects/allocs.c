// SPDX-License-Identifier: GPL-2.0-or-later
/* What libmoca-alloc told: include/abi/alloc-events.h has the events. */
#include "analysis/objects/replay.h"

#include <errno.h>
#include <string.h>

#include "include/abi/alloc-events.h"

#define GRANULE 16		/* that malloc hands out */
#define THIN_MAX 10u		/* of levels */
#define STACK_SHIFT 12		/* an id of a stack as an address: a page */

static const struct alloc_type {
	const char *name;
	enum alloc_event event;
	size_t fields;
	const char *field[ALLOC_FIELDS];
	const char *strings;	/* by field: 's' = a string; NULL = none */
} alloc_types[] = {
	{ "stack", ALLOC_STACK, 2, { "id", "frames" }, NULL },
	{ "alloc", ALLOC_ALLOC, 4, { "addr", "size", "stack", "kind" }, NULL },
	{ "free", ALLOC_FREE, 2, { "addr", "kind" }, NULL },
	{ "unmap", ALLOC_UNMAP, 2, { "addr", "size" }, NULL },
	{ "small", ALLOC_SMALL, 3, { "addr", "size", "stack" }, NULL },
	{ "tally", ALLOC_TALLY, 3, { "stack", "count", "bytes" }, NULL },
	{ "skipped", ALLOC_SKIPPED, 2, { "count", "bytes" }, NULL },
	{ "thread", ALLOC_THREAD, 3, { "pointer", "stack_low", "stack_high" }, NULL },
	{ "tls", ALLOC_TLS, 3, { "addr", "size", "base" }, NULL },
	{ "thinned", ALLOC_THINNED, 2, { "level", "min" }, NULL },
	{ "sample", ALLOC_SAMPLE, 5, { "addr", "size", "stack", "level", "kind" }, NULL },
	{ "sized", ALLOC_SIZED, 3, { "class", "count", "bytes" }, NULL },
	{ "freed", ALLOC_FREED, 2, { "count", "bytes" }, NULL },
	{ "detour", ALLOC_DETOUR, 3, { "name", "addr", "error" }, "s-s" },
};

/* Which of our events a type is, if it is laid out as we know it. */
static enum alloc_event classify(const struct moca_event_type *t)
{
	const struct alloc_type *a;
	size_t i, f;

	for (i = 0; i < sizeof(alloc_types) / sizeof(*alloc_types); i++) {
		a = &alloc_types[i];
		if (strcmp(t->name, a->name) || t->field_count < a->fields)
			continue;
		for (f = 0; f < a->fields; f++)
			if (strcmp(t->fields[f].name, a->field[f]) ||
			    (t->fields[f].kind == MOCA_FIELD_STRING) !=
				    (a->strings && a->strings[f] == 's'))
				return ALLOC_NONE;
		return a->event;
	}
	return ALLOC_NONE;
}

int moca_objects_alloc_types(struct moca_objects *o)
{
	const struct moca_event_type *const *types;
	size_t i, n;

	types = moca_trace_event_types(o->trace, &n);
	for (i = 0; i < n; i++) {
		if (strcmp(types[i]->facility, MOCA_ALLOC_FACILITY))
			continue;
		o->alloc_used = 1;
		if (types[i]->id < sizeof(o->alloc_types))
			o->alloc_types[types[i]->id] = classify(types[i]);
	}
	return 0;
}

/* An event at hand. */
struct told {
	struct moca_objects *o;
	struct replay_space *s;
	struct replay_task *task;
	const struct moca_task *of;
	const struct moca_event *m;
	uint64_t v[ALLOC_FIELDS];	/* its fields, where they are scalar */
	uint32_t era;		/* of what realloc left in its place; or 0 */
};

/* An object told one by one ends, all of it. */
static int end_object(struct moca_objects *o, struct replay_space *s, uint32_t id,
		      uint64_t time_ns)
{
	const struct moca_instance *i = &o->table.inst[id];
	uint64_t addr = i->addr, size = i->size;
	int err;

	err = moca_objects_set(o, &s->big, addr,
			       last_byte(addr, size ? size : 1), 0);
	if (moca_objects_may_end(o, s, id))
		moca_table_end(&o->table, id, time_ns, !s->copied);
	return err;
}

static int end_objects(struct moca_objects *o, struct replay_space *s, uint64_t first,
		       uint64_t last, uint64_t time_ns)
{
	uint64_t begin, end;
	uint32_t id;
	int err = 0;

	while (!err && moca_addrmap_next(&s->big, first, last, &begin, &end,
					 &id)) {
		err = end_object(o, s, id, time_ns);
		if (end >= last)
			break;
		first = end + 1;
	}
	return err;
}

/* The range is no mapping of the program's own any more. */
static int end_own(struct moca_objects *o, struct replay_space *s, uint64_t first,
		   uint64_t last, uint64_t time_ns)
{
	const struct moca_instance *i;
	uint64_t begin, end, at = first;
	uint32_t id;

	while (moca_addrmap_next(&s->own, at, last, &begin, &end, &id)) {
		i = &o->table.inst[id];
		/* What is cut away in parts ends with its last byte. */
		if (i->addr >= first && last_byte(i->addr, i->size) <= last &&
		    moca_objects_may_end(o, s, id))
			moca_table_end(&o->table, id, time_ns, 0);
		if (end >= last)
			break;
		at = end + 1;
	}
	return moca_objects_set(o, &s->own, first, last, 0);
}

int moca_objects_end_range(struct moca_objects *o, struct replay_space *s,
			   uint64_t first, uint64_t last, uint64_t time_ns)
{
	int err = end_objects(o, s, first, last, time_ns);

	if (!err)
		err = end_own(o, s, first, last, time_ns);
	return err ? err : moca_objects_set(o, &s->small, first, last, 0);
}

/* The binding of a stack's id; one for all that are unknown. */
static int64_t binding(struct told *e, uint64_t stack)
{
	uint32_t id = 0;

	if (stack && stack <= UINT32_MAX)
		id = moca_addrmap_find(&e->s->stacks, stack << STACK_SHIFT);
	return id ? (int64_t)id - 1 :
		    moca_objects_binding(e->o, e->s, NULL, 0);
}

static int on_stack(struct told *e)
{
	uint64_t frames[MOCA_ALLOC_FRAMES], id = e->v[0];
	struct moca_value v;
	int64_t b;
	size_t i, n;

	if (!id || id > UINT32_MAX || moca_event_value(e->m, 1, &v)) {
		e->o->totals.refused++;
		return 0;
	}
	n = v.count < MOCA_ALLOC_FRAMES ? v.count : MOCA_ALLOC_FRAMES;
	for (i = 0; i < n; i++)
		frames[i] = moca_value_integer(&v, i);
	b = moca_objects_binding(e->o, e->s, frames, n);
	if (b < 0)
		return (int)b;
	return moca_objects_set(e->o, &e->s->stacks, id << STACK_SHIFT,
				(id << STACK_SHIFT) + (1u << STACK_SHIFT) - 1,
				(uint32_t)b + 1);
}

/*
 * What realloc was given ends, if it has returned: also where the object at addr is
 * as large as before, as each call is counted. kept: it failed, and the object lives;
 * *kept is 0 then where it has another owner by now.
 */
static int end_realloc(struct told *e, uint64_t addr, int *kept)
{
	struct replay_task *t = e->task;
	uint32_t id = t->realloc_id;
	const struct moca_instance *i;
	int failed = kept && *kept;

	if (kept)
		*kept = 0;
	t->realloc_id = 0;
	if (!id || t->realloc_space != e->s ||
	    moca_addrmap_find(&e->s->big, t->realloc_addr) != id)
		return 0;
	i = &e->o->table.inst[id];
	/* Another thread may have got the memory before this was told. */
	if (i->addr != t->realloc_addr || i->begin_ns != t->realloc_begin)
		return 0;
	if (i->addr == addr && failed) {
		*kept = 1;
		return 0;
	}
	/* Its contents stay. */
	if (i->addr == addr)
		e->era = e->o->table.inst_key[id].era;
	return end_object(e->o, e->s, id, e->m->time_ns);
}

/*
 * One object of the binding, for 2^level of them; id: of its instance, 0: none.
 * 0 or -ENOMEM.
 */
static int heap_begin(struct told *e, uint32_t b, uint32_t id, uint64_t size,
		      unsigned int level)
{
	struct moca_heap *h = e->o->heap;
	int64_t stack = h ? moca_heap_stack(h, e->of->id, b, e->m->time_ns) : 0;

	if (!h || stack < 0)
		return (int)stack;
	return moca_heap_begin(h, (uint32_t)stack, id, e->s->id, size, level,
			       e->m->time_ns);
}

/* An allocator works in the mapping at addr. */
static void mark_map(struct told *e, uint64_t addr)
{
	e->o->maps[moca_addrmap_find(&e->s->maps, addr)].has_objects = 1;
}

/* The program mapped memory itself; the last one is what is there. */
static int own_mapping(struct told *e, uint32_t id, uint64_t first,
		       uint64_t last)
{
	int err;

	err = moca_objects_end_range(e->o, e->s, first, last, e->m->time_ns);
	return err ? err : moca_objects_set(e->o, &e->s->own, first, last, id);
}

static int on_alloc(struct told *e)
{
	uint64_t addr = e->v[0], size = e->v[1], last;
	struct moca_objects *o = e->o;
	const struct moca_memory_of *of;
	const struct map *m;
	struct shared *x;
	int64_t b, row, id;
	int err, kept = e->v[3] == MOCA_ALLOC_KEPT;

	if (!addr || size > INT64_MAX || addr + size < addr) {
		o->totals.refused++;
		return 0;
	}
	err = end_realloc(e, addr, &kept);
	if (err || kept)
		return err;
	o->totals.allocations++;
	/* A file's mapping is known by its name. */
	m = &o->maps[moca_addrmap_find(&e->s->maps, addr)];
	of = moca_space_memory(o, m, &x);
	if (e->v[3] == MOCA_ALLOC_MMAP && m->flags & MOCA_MAP_FILE &&
	    !(of && of->memory == MOCA_MEMORY_ANONYMOUS))
		return 0;
	last = last_byte(addr, size ? size : 1);
	err = end_objects(o, e->s, addr, last, e->m->time_ns);
	b = err ? err : binding(e, e->v[2]);
	row = b < 0 ? b : moca_objects_binding_row(o, (uint32_t)b,
						   MOCA_OBJECT_HEAP);
	id = row < 0 ? row : moca_table_instance(&o->table, (uint32_t)row,
						 e->s->pid, addr, size,
						 e->m->time_ns, 1);
	if (id >= 0)
		err = heap_begin(e, (uint32_t)b, (uint32_t)id, size, 0);
	if (id < 0 || err)
		return id < 0 ? (int)id : err;
	if (e->era)
		o->table.inst_key[id].era = e->era;
	o->table.rows[row].o.mapped += e->v[3] == MOCA_ALLOC_MMAP;
	if (e->v[3] == MOCA_ALLOC_MMAP && of)
		x->inst = (uint32_t)id;
	if (e->v[3] == MOCA_ALLOC_MMAP)
		return own_mapping(e, (uint32_t)id, addr, last);
	mark_map(e, addr);
	err = moca_objects_set(o, &e->s->small, addr, last, 0);
	if (!err)
		err = moca_objects_set(o, &e->s->big, addr, last,
				       (uint32_t)id);
	/* Only these touch what they hand out. */
	if (e->v[3] != MOCA_ALLOC_CALLOC && e->v[3] != MOCA_ALLOC_REALLOC)
		id = 0;
	return err ? err : moca_objects_release(o, e->task, addr, last,
						(uint32_t)id);
}

static int on_free(struct told *e)
{
	uint32_t id = moca_addrmap_find(&e->s->big, e->v[0]);

	/* Also said of what was never told. */
	if (!id || e->o->table.inst[id].addr != e->v[0])
		return 0;
	if (e->v[1] == MOCA_FREE_REALLOC) {
		e->task->realloc_id = id;
		e->task->realloc_addr = e->v[0];
		e->task->realloc_begin = e->o->table.inst[id].begin_ns;
		e->task->realloc_space = e->s;
		return 0;
	}
	return end_object(e->o, e->s, id, e->m->time_ns);
}

static int on_unmap(struct told *e)
{
	if (!e->v[1])
		return 0;
	return moca_objects_end_range(e->o, e->s, e->v[0],
				      last_byte(e->v[0], e->v[1]),
				      e->m->time_ns);
}

static int on_small(struct told *e)
{
	uint64_t first = e->v[0] & ~(uint64_t)(GRANULE - 1), last;
	uint64_t size = e->v[1] ? e->v[1] : 1;
	struct moca_objects *o = e->o;
	struct binding *known;
	int64_t b, row, id;
	int err;

	if (!e->v[0] || size > UINT32_MAX ||
	    last_byte(e->v[0], size) > UINT64_MAX - GRANULE) {
		o->totals.refused++;
		return 0;
	}
	last = last_byte(e->v[0], size) | (GRANULE - 1);
	err = end_realloc(e, 0, NULL);
	b = err ? err : binding(e, e->v[2]);
	row = b < 0 ? b : moca_objects_binding_row(o, (uint32_t)b,
						   MOCA_OBJECT_SMALL);
	if (row < 0)
		return (int)row;
	known = &o->bindings[b];
	if (!known->small_inst) {
		id = moca_table_instance(&o->table, (uint32_t)row, e->s->pid,
					 0, 0, e->m->time_ns, 0);
		if (id < 0)
			return (int)id;
		known->small_inst = (uint32_t)id;
		/* Samples of its site may have begun before, and have ended. */
		moca_table_lives(&o->table, (uint32_t)row, e->m->time_ns);
	}
	mark_map(e, first);
	err = moca_objects_set(o, &e->s->small, first, last,
			       known->small_inst);
	return err ? err : moca_objects_release(o, e->task, first, last,
						known->small_inst);
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static int on_tally(struct told *e)
{
	struct moca_objects *o = e->o;
	int64_t b, row, stack;
	struct moca_object *r;

	b = binding(e, e->v[0]);
	row = b < 0 ? b : moca_objects_binding_row(o, (uint32_t)b,
						   MOCA_OBJECT_SMALL);
	if (row < 0)
		return (int)row;
	stack = o->heap ? moca_heap_stack(o->heap, e->of->id, (uint32_t)b,
					  e->m->time_ns) : 0;
	if (stack < 0)
		return (int)stack;
	if (o->heap)
		moca_heap_add(o->heap, (uint32_t)stack, e->v[1], e->v[2]);
	r = &o->table.rows[row].o;
	r->instances = add(r->instances, e->v[1]);
	r->bytes = add(r->bytes, e->v[2]);
	r->size = r->bytes;
	o->totals.small = add(o->totals.small, e->v[1]);
	o->totals.small_bytes = add(o->totals.small_bytes, e->v[2]);
	return 0;
}

/*
 * Objects below the limit live without a name from now on, but for samples: the
 * end of these is told.
 */
static int forget_below(struct told *e, uint64_t min)
{
	struct moca_objects *o = e->o;
	uint64_t begin, end, at = 0;
	uint32_t id, row;
	int err = 0;

	while (!err && moca_addrmap_next(&e->s->big, at, UINT64_MAX, &begin,
					 &end, &id)) {
		row = o->table.inst_key[id].row;
		if (o->table.inst[id].size < min &&
		    o->table.rows[row].o.kind != MOCA_OBJECT_SMALL)
			err = end_object(o, e->s, id, e->m->time_ns);
		if (end == UINT64_MAX)
			break;
		at = end + 1;
	}
	return err;
}

static int on_thinned(struct told *e)
{
	uint64_t level = e->v[0], min = e->v[1];
	struct moca_objects_totals *t = &e->o->totals;
	const char *program;
	int64_t row;

	if (level > THIN_MAX) {
		t->refused++;
		return 0;
	}
	/* Each thread says it. */
	if (e->s->thin_level == level && e->s->thin_min == min)
		return 0;
	e->s->thin_level = level;
	e->s->thin_min = min;
	if (!level)
		return 0;
	if (!t->thin_level)
		t->thin_ns = e->m->time_ns;
	if (t->thin_level < level)
		t->thin_level = level;
	if (t->thin_min < min)
		t->thin_min = min;
	program = moca_space_program(e->o, e->s);
	row = program ? moca_objects_allocator_row(e->o, program) : -ENOMEM;
	if (row < 0)
		return (int)row;
	e->o->table.rows[row].o.sampled = 1;
	moca_addrmap_clear(&e->s->small);
	return forget_below(e, min);
}

/* A sampled object of the binding and row, which has a place. */
static int place_sample(struct told *e, uint32_t b, uint32_t row)
{
	uint64_t addr = e->v[0], size = e->v[1];
	uint64_t last = last_byte(addr, size ? size : 1);
	struct moca_objects *o = e->o;
	int64_t id;
	int err;

	err = end_objects(o, e->s, addr, last, e->m->time_ns);
	if (!err)
		err = moca_objects_set(o, &e->s->small, addr, last, 0);
	if (err)
		return err;
	id = moca_table_instance(&o->table, row, e->s->pid, addr, size,
				 e->m->time_ns, 0);
	if (id < 0)
		return (int)id;
	mark_map(e, addr);
	err = heap_begin(e, b, (uint32_t)id, size, (unsigned int)e->v[3]);
	if (!err)
		err = moca_objects_set(o, &e->s->big, addr, last,
				       (uint32_t)id);
	return err ? err : moca_objects_release(o, e->task, addr, last,
						(uint32_t)id);
}

static int on_sample(struct told *e)
{
	uint64_t addr = e->v[0], size = e->v[1], level = e->v[3];
	struct moca_objects *o = e->o;
	struct moca_object *r;
	int64_t b, row;
	int err;

	if (level > THIN_MAX || size > UINT32_MAX || addr + size < addr) {
		o->totals.refused++;
		return 0;
	}
	err = end_realloc(e, 0, NULL);
	b = err ? err : binding(e, e->v[2]);
	row = b < 0 ? b : moca_objects_binding_row(o, (uint32_t)b,
						   MOCA_OBJECT_SMALL);
	if (row < 0)
		return (int)row;
	r = &o->table.rows[row].o;
	if (!r->begin_ns)
		r->begin_ns = e->m->time_ns;
	r->sampled++;
	r->instances = add(r->instances, 1ull << level);
	r->bytes = add(r->bytes, size << level);
	r->size = r->bytes;
	o->totals.samples++;
	return addr ? place_sample(e, (uint32_t)b, (uint32_t)row) :
		      heap_begin(e, (uint32_t)b, 0, size, (unsigned int)level);
}

static int on_sized(struct told *e)
{
	struct moca_objects_totals *t = &e->o->totals;

	t->small = add(t->small, e->v[1]);
	t->small_bytes = add(t->small_bytes, e->v[2]);
	return 0;
}

static int on_freed(struct told *e)
{
	struct moca_objects_totals *t = &e->o->totals;

	t->freed = add(t->freed, e->v[0]);
	t->freed_bytes = add(t->freed_bytes, e->v[1]);
	return 0;
}

static int on_thread(struct told *e)
{
	struct role r = { .kind = ROLE_STACK, .task = e->of->id };
	uint64_t pointer = e->v[0], low = e->v[1], high = e->v[2];
	struct moca_objects *o = e->o;
	int err = 0;

	/* A main thread's stack is known by its mapping. */
	if (e->of->tid == e->of->pid || low >= high ||
	    !moca_space_stack_map(o, e->s, pointer - 1))
		return 0;
	/* What the recorder saw of its begin is more exact. */
	if (!e->task->stack) {
		r.addr = low;
		r.last = high - 1;
		err = moca_space_role(o, e->s, &r);
	}
	if (!err && pointer > low && pointer < high &&
	    (!e->task->stack || pointer >= e->task->stack)) {
		r.kind = ROLE_THREAD;
		r.addr = e->task->stack ? e->task->stack : pointer;
		r.last = high - 1;
		err = r.addr <= r.last ? moca_space_role(o, e->s, &r) : 0;
	}
	return err;
}

static int on_tls(struct told *e)
{
	struct role r = { .kind = ROLE_TLS, .task = e->of->id };
	uint64_t size = e->v[1], base = e->v[2];
	const struct load *l = moca_space_load(e->s, base);

	if (!e->v[0] || !size || size > 1ull << 30 ||
	    e->v[0] > UINT64_MAX - size || !l) {
		e->o->totals.refused++;
		return 0;
	}
	r.addr = e->v[0];
	r.last = e->v[0] + size - 1;
	r.module = l->module;
	r.own = l->own;
	return moca_space_role(e->o, e->s, &r);
}

static void lay_out(struct alloc_layout *l, const struct moca_event_type *t)
{
	size_t i, len = 0;

	*l = (struct alloc_layout){ .type = t };
	for (i = 0; i < ALLOC_FIELDS && i < t->field_count; i++) {
		const struct moca_field *f = &t->fields[i];

		if (f->shape != MOCA_FIELD_SCALAR ||
		    f->kind == MOCA_FIELD_STRING)
			break;
		l->at[i] = len;
		len += f->size;
	}
	l->count = i;
	l->len = len;
}

static void get_fields(struct told *e, enum alloc_event event)
{
	struct alloc_layout *l = &e->o->layouts[event];
	const struct moca_event *m = e->m;
	struct moca_value v = { .count = 1 };
	size_t i, n;

	/* Of processes with different libraries types may differ. */
	if (l->type != m->type)
		lay_out(l, m->type);
	n = m->len < l->len ? 0 : l->count;
	for (i = 0; i < n; i++) {
		v.field = &m->type->fields[i];
		v.data = m->payload + l->at[i];
		e->v[i] = moca_value_integer(&v, 0);
	}
	for (; i < ALLOC_FIELDS && i < m->type->field_count; i++)
		e->v[i] = !moca_event_value(e->m, i, &v) && v.count ?
				  moca_value_integer(&v, 0) : 0;
}

/* A function that allocates was to be watched: was it? */
static int on_detour(const struct told *e)
{
	struct moca_objects *o = e->o;
	struct moca_value name, error;
	const char *text;
	size_t i;

	if (moca_event_value(e->m, 0, &name) ||
	    moca_event_value(e->m, 2, &error) || !error.count)
		return 0;
	text = moca_objects_text(o, "%.200s: %.200s", (const char *)name.data,
				 (const char *)error.data);
	if (!text)
		return -ENOMEM;
	for (i = 0; i < o->unseen_count; i++)
		if (o->unseen[i] == text)
			return 0;
	if (i < MOCA_UNSEEN_MAX)
		o->unseen[o->unseen_count++] = text;
	return 0;
}

int moca_objects_alloc(struct moca_objects *o, const struct moca_task *t,
		       const struct moca_event *m)
{
	struct told e = { .o = o, .of = t, .m = m };
	enum alloc_event event = ALLOC_NONE;
	int err;

	if (m->type->id < sizeof(o->alloc_types))
		event = o->alloc_types[m->type->id];
	if (event == ALLOC_NONE &&
	    strcmp(m->type->facility, MOCA_ALLOC_FACILITY))
		return 0;
	e.task = &o->tasks[t - moca_trace_task(o->trace, 0)];
	e.s = moca_objects_space(o, t, e.task);
	if (!e.s)
		return -ENOMEM;
	e.s->agent = 1;
	get_fields(&e, event);
	switch (event) {
	case ALLOC_STACK:
		return on_stack(&e);
	case ALLOC_ALLOC:
		return on_alloc(&e);
	case ALLOC_FREE:
		/* realloc has begun to copy: the next event is its end. */
		err = e.v[1] == MOCA_FREE_REALLOC ? 0 :
			moca_objects_release(o, e.task, 0, 0, 0);
		return err ? err : on_free(&e);
	case ALLOC_UNMAP:
		err = moca_objects_release(o, e.task, 0, 0, 0);
		return err ? err : on_unmap(&e);
	case ALLOC_SMALL:
		return on_small(&e);
	case ALLOC_TALLY:
		return on_tally(&e);
	case ALLOC_SKIPPED:
		o->totals.skipped = add(o->totals.skipped, e.v[0]);
		return 0;
	case ALLOC_THREAD:
		return on_thread(&e);
	case ALLOC_TLS:
		return on_tls(&e);
	case ALLOC_DETOUR:
		return on_detour(&e);
	case ALLOC_THINNED:
		return on_thinned(&e);
	case ALLOC_SAMPLE:
		return on_sample(&e);
	case ALLOC_SIZED:
		return on_sized(&e);
	case ALLOC_FREED:
		return on_freed(&e);
	case ALLOC_NONE:
		break;
	}
	o->totals.refused++;
	return 0;
}
