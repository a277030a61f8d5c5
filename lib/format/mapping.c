// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/mapping.h"

#include <stdlib.h>

#include "lib/base/bytes.h"
#include "lib/base/vec.h"
#include "lib/format/trace.h"

#define MAPS_MAX (1u << 24)	/* a hostile trace may fork without end */
#define OPEN UINT64_MAX		/* end_ns of a mapping not yet ended */

/* A change with what orders it among those of all tasks. */
struct item {
	struct moca_change e;
	uint32_t task;
	size_t seq;
};

/* A mapping that exists now; map is its number in the result. */
struct live {
	uint64_t addr;
	uint64_t end;
	size_t map;
};

struct process {
	uint32_t pid;
	size_t tasks;		/* alive */
	struct live *live;	/* by addr, disjoint */
	size_t count;
	size_t cap;
	/* Those that vfork(2) made share the address space: a ring. */
	struct process *ring;
	struct process *next;	/* in the hash chain */
};

#define PROCESS_BUCKETS 4096

struct builder {
	struct moca_mappings *m;
	struct moca_trace *trace;
	struct process *processes[PROCESS_BUCKETS];
};

static struct process *process(struct builder *b, uint32_t pid)
{
	struct process **bucket = &b->processes[pid % PROCESS_BUCKETS], *p;

	for (p = *bucket; p; p = p->next)
		if (p->pid == pid)
			return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	p->ring = p;
	p->next = *bucket;
	*bucket = p;
	return p;
}

static void leave_ring(struct process *p)
{
	struct process *q = p;

	while (q->ring != p)
		q = q->ring;
	q->ring = p->ring;
	p->ring = p;
}

/* Add a mapping to the result and to p's live ones at place at. */
static int insert(struct builder *b, struct process *p, size_t at,
		  const struct moca_mapping *map)
{
	struct moca_mappings *m = b->m;

	if (m->count >= MAPS_MAX)
		return -E2BIG;
	if (moca_vec_fit(m->maps, m->cap, m->count + 1) ||
	    moca_vec_fit(p->live, p->cap, p->count + 1))
		return -ENOMEM;
	memmove(&p->live[at + 1], &p->live[at],
		(p->count - at) * sizeof(*p->live));
	p->live[at].addr = map->addr;
	p->live[at].end = map->addr + map->len;
	p->live[at].map = m->count;
	p->count++;
	m->maps[m->count] = *map;
	m->maps[m->count].pid = p->pid;
	m->maps[m->count].end_ns = OPEN;
	m->count++;
	return 0;
}

static void end_all(struct builder *b, struct process *p, uint64_t now)
{
	size_t i;

	for (i = 0; i < p->count; i++)
		b->m->maps[p->live[i].map].end_ns = now;
	p->count = 0;
}

/* The number of p's live mappings that end at or below addr. */
static size_t live_before(const struct process *p, uint64_t addr)
{
	size_t lo = 0, hi = p->count, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (p->live[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The part [addr, end) of a mapping as a mapping of its own from now on. */
static void part(struct moca_mapping *out, const struct moca_mapping *map,
		 uint64_t addr, uint64_t end, uint64_t now)
{
	*out = *map;
	if (map->flags & MOCA_MAP_FILE || map->ino)
		out->offset += addr - map->addr;
	out->addr = addr;
	out->len = end - addr;
	out->begin_ns = now;
}

/* Take [addr, end) out of p's mappings; what sticks out lives on. */
static int cut(struct builder *b, struct process *p, uint64_t addr,
	       uint64_t end, uint64_t now)
{
	size_t first = live_before(p, addr), n = first;
	struct moca_mapping left = { 0 }, right = { 0 };
	struct live *l;
	int ret = 0;

	for (; n < p->count && p->live[n].addr < end; n++) {
		l = &p->live[n];
		b->m->maps[l->map].end_ns = now;
		if (l->addr < addr)
			part(&left, &b->m->maps[l->map], l->addr, addr, now);
		if (l->end > end)
			part(&right, &b->m->maps[l->map], end, l->end, now);
	}
	if (n == first)
		return 0;
	memmove(&p->live[first], &p->live[n],
		(p->count - n) * sizeof(*p->live));
	p->count -= n - first;
	if (right.len)
		ret = insert(b, p, first, &right);
	if (!ret && left.len)
		ret = insert(b, p, first, &left);
	return ret;
}

/* For p and all that share its address space: unmap, and map if asked to. */
static int change(struct builder *b, struct process *p,
		  const struct moca_change *e)
{
	struct moca_mapping map = {
		.addr = e->addr,
		.len = e->len,
		.begin_ns = e->time_ns,
		.prot = e->prot,
		.flags = e->flags,
		.offset = e->offset,
		.name = e->name,
		.memory = e->memory,
		.dev = e->dev,
		.ino = e->ino,
	};
	struct process *q = p;
	uint64_t end = moca_add_sat(e->addr, e->len);
	int ret;

	map.len = end - e->addr;
	if (!map.len)
		return 0;
	do {
		ret = cut(b, q, e->addr, end, e->time_ns);
		if (!ret && e->type == MOCA_CHANGE_MMAP)
			ret = insert(b, q, live_before(q, e->addr), &map);
		q = q->ring;
	} while (!ret && q != p);
	return ret;
}

static int copy_space(struct builder *b, struct process *p,
		      const struct process *from, uint64_t now)
{
	struct moca_mapping map;
	size_t i;
	int ret;

	for (i = 0; i < from->count; i++) {
		map = b->m->maps[from->live[i].map];
		map.begin_ns = now;
		ret = insert(b, p, p->count, &map);
		if (ret)
			return ret;
	}
	return 0;
}

static int start_task(struct builder *b, struct process *p,
		      const struct moca_change *e)
{
	const struct moca_task *parent;
	struct process *from;
	int ret;

	/* Of a process that is attached to, each thread begins by itself. */
	if (e->flags & MOCA_TASK_THREAD ||
	    (e->flags & MOCA_TASK_ATTACHED && p->tasks)) {
		p->tasks++;
		return 0;
	}
	/* The number may have been another process's before. */
	leave_ring(p);
	end_all(b, p, e->time_ns);
	p->tasks = 1;
	parent = moca_trace_find_task(b->trace, e->parent);
	if (!(e->flags & (MOCA_TASK_FORK | MOCA_TASK_VFORK)) || !parent ||
	    !parent->pid || parent->pid == p->pid)
		return 0;
	from = process(b, parent->pid);
	if (!from)
		return -ENOMEM;
	ret = copy_space(b, p, from, e->time_ns);
	if (!ret && (e->flags & MOCA_TASK_VFORK)) {
		p->ring = from->ring;
		from->ring = p;
	}
	return ret;
}

static int apply(struct builder *b, const struct item *item)
{
	const struct moca_change *e = &item->e;
	const struct moca_task *task;
	struct process *p;
	uint32_t pid = e->pid;

	if (!pid) {
		task = moca_trace_find_task(b->trace, item->task);
		pid = task ? task->pid : 0;
	}
	if (!pid)
		return 0;
	p = process(b, pid);
	if (!p)
		return -ENOMEM;
	switch (e->type) {
	case MOCA_CHANGE_TASK_START:
		return start_task(b, p, e);
	case MOCA_CHANGE_TASK_END:
		if (p->tasks > 1) {
			p->tasks--;
			return 0;
		}
		p->tasks = 0;
		/* fall through */
	case MOCA_CHANGE_EXEC:
		leave_ring(p);
		end_all(b, p, e->time_ns);
		return 0;
	}
	return change(b, p, e);
}

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->e.time_ns != y->e.time_ns)
		return x->e.time_ns < y->e.time_ns ? -1 : 1;
	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int matters(const struct moca_change *e)
{
	return e->type == MOCA_CHANGE_TASK_START ||
	       e->type == MOCA_CHANGE_TASK_END ||
	       e->type == MOCA_CHANGE_EXEC || e->type == MOCA_CHANGE_MMAP ||
	       e->type == MOCA_CHANGE_MUNMAP;
}

/* All changes that concern mappings, by time. 0 or -errno. */
static int collect(struct builder *b, struct moca_buf *buf)
{
	const struct moca_change *e;
	struct moca_cursor *c;
	struct item *item;
	uint32_t task;
	int ret;

	ret = moca_cursor_open(&c, b->trace, NULL);
	if (ret)
		return ret;
	/* A thread that gets a buffer starts no process. */
	moca_task_changes_only(c);
	while ((ret = moca_cursor_change(c, &e, &task)) > 0) {
		if (!matters(e))
			continue;
		ret = moca_buf_reserve(buf, sizeof(*item));
		if (ret)
			break;
		item = (struct item *)(buf->data + buf->len);
		item->e = *e;
		item->task = task;
		item->seq = buf->len;
		item->e.name = moca_strings_intern(&b->m->strings, e->name);
		if (!item->e.name) {
			ret = -ENOMEM;
			break;
		}
		buf->len += sizeof(*item);
	}
	moca_cursor_close(c);
	if (!ret && buf->len)
		qsort(buf->data, buf->len / sizeof(*item), sizeof(*item),
		      compare_items);
	return ret;
}

static int compare_maps(const void *a, const void *b)
{
	const struct moca_mapping *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Drop mappings that never were for any time, and sort. */
static void finish(struct moca_mappings *m)
{
	struct moca_mapping *map;
	size_t i, n = 0;

	for (i = 0; i < m->count; i++) {
		map = &m->maps[i];
		if (map->begin_ns == map->end_ns)
			continue;
		if (map->end_ns == OPEN)
			map->end_ns = 0;
		m->maps[n++] = *map;
	}
	m->count = n;
	if (n)
		qsort(m->maps, n, sizeof(*m->maps), compare_maps);
}

static void free_processes(struct builder *b)
{
	struct process *p;
	size_t i;

	for (i = 0; i < PROCESS_BUCKETS; i++) {
		while ((p = b->processes[i])) {
			b->processes[i] = p->next;
			free(p->live);
			free(p);
		}
	}
}

int moca_mappings_build(struct moca_mappings *m, struct moca_trace *t)
{
	struct builder *b = calloc(1, sizeof(*b));
	struct moca_buf items = { 0 };
	const struct item *item;
	size_t i;
	int ret;

	if (!b)
		return -ENOMEM;
	b->m = m;
	b->trace = t;
	ret = collect(b, &items);
	item = (const struct item *)items.data;
	for (i = 0; !ret && i < items.len / sizeof(*item); i++)
		ret = apply(b, &item[i]);
	if (!ret) {
		finish(m);
		ret = moca_map_index_build(&m->index, m->maps, m->count);
	}
	moca_buf_free(&items);
	free_processes(b);
	free(b);
	return ret;
}

void moca_mappings_free(struct moca_mappings *m)
{
	moca_strings_free(&m->strings);
	free(m->maps);
	moca_map_index_free(&m->index);
	*m = (struct moca_mappings){ 0 };
}

static int build_once(struct moca_trace *t)
{
	int ret = 0;

	pthread_mutex_lock(&t->mapping_lock);
	if (!t->mappings_built) {
		ret = moca_mappings_build(&t->mappings, t);
		if (ret)
			moca_mappings_free(&t->mappings);
		else
			t->mappings_built = 1;
	}
	pthread_mutex_unlock(&t->mapping_lock);
	return ret;
}

int moca_trace_mappings(struct moca_trace *t, const struct moca_mapping **out,
			size_t *count)
{
	int ret = build_once(t);

	if (ret)
		return ret;
	*out = t->mappings.maps;
	*count = t->mappings.count;
	return 0;
}

const struct moca_mapping *moca_trace_find_mapping(struct moca_trace *t,
						   uint32_t pid, uint64_t addr,
						   uint64_t time_ns)
{
	const struct moca_mappings *m = &t->mappings;
	size_t i;

	if (build_once(t))
		return NULL;
	i = moca_map_index_find(&m->index, m->maps, pid, addr, time_ns);
	return i == SIZE_MAX ? NULL : &m->maps[i];
}
