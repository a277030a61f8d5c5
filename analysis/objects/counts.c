// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whose counts are. A row counts a granule for a slice, in which
 * objects may come and go there; and a granule may hold several. So each gets a
 * share by bytes x time. While a slice lasts, what is at its granules is
 * credited whenever it is about to change, and at the end: rows are shared out
 * then, rounding their sums, so that shares add up to the row.
 */
#include "analysis/objects/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_AHEAD 65536u	/* bytes that one answer may hold for */

/* Of what is at a place, only the highest that was there gets a share. */
enum rank {
	RANK_NOTHING,		/* no mapping is known */
	RANK_FREE,		/* a heap's free memory, unknown memory, what
				   is between variables */
	RANK_OBJECT,
};

/* A share of a row, in its making. */
struct part {
	uint32_t row;		/* of the table */
	uint32_t inst;
	enum rank rank;
	uint32_t next;		/* of the same row of counts; index + 1 */
	uint64_t weight;	/* bytes x ns */
};

struct slice {
	const struct moca_task *task;
	struct replay_space *s;	/* held */
	uint64_t begin_ns, end_ns, slice, granularity;
	struct moca_count *rows;
	size_t count;
	/* Once something changed: up to when a row is credited, its parts. */
	uint64_t *since;
	uint32_t *head;		/* index + 1 */
	struct part *parts;
	size_t part_count, part_cap;
};

/* An answer, which holds from first to last. */
struct there {
	uint64_t first, last;
	uint32_t inst;
	enum rank rank;
};

int moca_objects_exact_only(const struct moca_trace *t)
{
	size_t i, n = moca_trace_task_count(t);
	uint64_t counts = 0, accesses = 0;

	for (i = 0; i < n; i++) {
		counts += moca_trace_task(t, i)->counts;
		accesses += moca_trace_task(t, i)->accesses;
	}
	return counts && !accesses;
}

/*
 * Of a module, what no variable has: padding where all variables are known, and
 * behind the last section in any case. Else there are variables without a name.
 */
static enum rank rank_of_rest(const struct replay_space *s, uint64_t addr)
{
	const struct load *l = moca_space_load(s, addr);

	if (!l)
		return RANK_OBJECT;
	return moca_module_has_debug(l->module) ||
			       !*moca_module_section(l->module, addr - l->bias) ?
		       RANK_FREE : RANK_OBJECT;
}

static enum rank rank_of(const struct moca_objects *o, const struct replay_space *s,
			 uint32_t inst, uint64_t addr)
{
	switch (o->table.rows[o->table.inst_key[inst].row].o.kind) {
	case MOCA_OBJECT_ALLOCATOR:
	case MOCA_OBJECT_ANONYMOUS:
		return moca_addrmap_find(&s->maps, addr) ? RANK_FREE :
							   RANK_NOTHING;
	case MOCA_OBJECT_STATIC:
		return o->table.inst[inst].size ? RANK_OBJECT :
						  rank_of_rest(s, addr);
	case MOCA_OBJECT_KERNEL:
		return moca_addrmap_find(&s->maps, addr) ? RANK_OBJECT :
							   RANK_NOTHING;
	default:
		return RANK_OBJECT;
	}
}

/* What is at addr, in the layers' order; up to limit at most. 0 or -errno. */
static int look(struct moca_objects *o, struct replay_space *s, uint64_t addr,
		uint64_t limit, uint64_t time_ns, struct there *out)
{
	const struct moca_addrmap *const layers[] = { &s->big, &s->small,
						      &s->own, &s->seen };
	const struct moca_access a = { .addr = addr, .time_ns = time_ns,
				       .type = MOCA_ACCESS_READ };
	uint64_t begin, end;
	uint32_t inst;
	int64_t id;
	size_t i;

	*out = (struct there){ .first = addr, .last = limit };
	for (i = 0; i < sizeof(layers) / sizeof(*layers); i++) {
		if (!moca_addrmap_next(layers[i], addr, out->last, &begin,
				       &end, &inst))
			continue;
		if (begin > addr) {
			out->last = begin - 1;
			continue;
		}
		if (end < out->last)
			out->last = end;
		out->inst = inst;
		out->rank = layers[i] == &s->seen ?
				    rank_of(o, s, inst, addr) : RANK_OBJECT;
		return 0;
	}
	id = moca_objects_seek(o, s, addr, &a);
	if (id < 0)
		return (int)id;
	/* It was put into the lowest layer. */
	if (moca_addrmap_next(&s->seen, addr, out->last, &begin, &end, &inst) &&
	    begin <= addr && end < out->last)
		out->last = end;
	out->inst = (uint32_t)id;
	out->rank = rank_of(o, s, out->inst, addr);
	return 0;
}

/* Add a weight to a list of parts that begins at *head. 0 or -ENOMEM. */
static int add_part(const struct moca_objects *o, struct part **parts,
		    size_t *count, size_t *cap, uint32_t *head,
		    const struct there *t, uint64_t weight)
{
	uint32_t row = o->table.inst_key[t->inst].row, at;
	struct part *p;
	int err;

	for (at = *head; at; at = p->next) {
		p = &(*parts)[at - 1];
		if (p->row == row && p->inst == t->inst && p->rank == t->rank) {
			p->weight = weight > UINT64_MAX - p->weight ?
					    UINT64_MAX : p->weight + weight;
			return 0;
		}
	}
	err = moca_vec_fit(*parts, *cap, *count + 1);
	if (err)
		return err;
	(*parts)[*count] = (struct part){ row, t->inst, t->rank, *head, weight };
	*head = (uint32_t)++*count;
	return 0;
}

/* All that is at a granule now, each with its bytes x ns. */
static int credit(struct moca_objects *o, const struct slice *st,
		  struct there *known, uint64_t addr, uint64_t ns,
		  uint64_t time_ns, struct part **parts, size_t *count,
		  size_t *cap, uint32_t *head)
{
	uint64_t last = addr + (st->granularity - 1), at = addr, end;
	uint64_t limit = addr > UINT64_MAX - LOOK_AHEAD ? UINT64_MAX :
							 addr + LOOK_AHEAD;
	int err = 0;

	for (;;) {
		if (!known->inst || at < known->first || at > known->last)
			err = look(o, st->s, at, limit, time_ns, known);
		if (err)
			return err;
		end = known->last < last ? known->last : last;
		err = add_part(o, parts, count, cap, head, known,
			       (end - at + 1) * ns);
		if (err || end == last)
			return err;
		at = end + 1;
	}
}

/* When the task can have accessed the granule first. */
static uint64_t from(const struct slice *st, size_t i)
{
	uint64_t first = st->rows[i].first_ns;

	return first > st->begin_ns ? first : st->begin_ns;
}

/* The first row whose granule ends at addr or behind it. */
static size_t find_row(const struct slice *st, uint64_t addr)
{
	size_t lo = 0, hi = st->count, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (st->rows[mid].addr + (st->granularity - 1) < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int start_credit(struct slice *st)
{
	size_t i;

	st->since = malloc(st->count * sizeof(*st->since));
	st->head = calloc(st->count, sizeof(*st->head));
	if (!st->since || !st->head)
		return -ENOMEM;
	for (i = 0; i < st->count; i++)
		st->since[i] = from(st, i);
	return 0;
}

static int credit_rows(struct moca_objects *o, struct slice *st,
		       uint64_t first, uint64_t last)
{
	uint64_t now = o->now < st->end_ns ? o->now : st->end_ns;
	size_t i = find_row(st, first);
	struct there known = { 0 };
	int err = 0;

	if (i == st->count || st->rows[i].addr > last)
		return 0;
	if (!st->since && start_credit(st))
		return -ENOMEM;
	for (; !err && i < st->count && st->rows[i].addr <= last; i++) {
		if (now <= st->since[i])
			continue;
		err = credit(o, st, &known, st->rows[i].addr,
			     now - st->since[i], now, &st->parts,
			     &st->part_count, &st->part_cap, &st->head[i]);
		st->since[i] = now;
	}
	return err;
}

int moca_objects_changing(struct moca_objects *o, const struct moca_addrmap *m,
			  uint64_t first, uint64_t last)
{
	const char *at = (const char *)m;
	struct slice *st;
	size_t i;
	int err = 0;

	o->crediting = 1;
	for (i = 0; !err && i < o->slice_count; i++) {
		st = o->slices[i];
		/* Stacks are kept by another key. */
		if (at >= (const char *)st->s &&
		    at < (const char *)(st->s + 1) && m != &st->s->stacks)
			err = credit_rows(o, st, first, last);
	}
	o->crediting = 0;
	return err;
}

/* --- the end of a slice ----------------------------------------------- */

static int count_part(struct moca_objects *o, const struct slice *st,
		      const struct moca_count *c, const struct part *p,
		      uint64_t loads, uint64_t stores, int shared, int first)
{
	const struct moca_access a = {
		.addr = c->addr, .node = MOCA_NODE_UNKNOWN, .weight = 1,
		.time_ns = c->first_ns ? c->first_ns : st->begin_ns,
		.type = stores ? MOCA_ACCESS_WRITE : MOCA_ACCESS_READ,
	};
	struct moca_hit h = {
		.a = &a, .task = st->task->id, .space = st->s->id,
		.where = st->s->id, .at = c->addr,
		.id = p->inst, .interval = st->slice, .mixed = shared,
		.wide = shared, .loads = loads, .stores = stores,
	};
	struct moca_counted x = {
		.task = st->task->id, .key = p->row, .shared = shared,
		.granularity = st->granularity, .slice = st->slice,
		.begin_ns = st->begin_ns, .end_ns = st->end_ns,
		.loads = loads, .stores = stores,
		.first_ns = first ? c->first_ns : 0,
	};
	uint32_t row = o->table.inst_key[p->inst].row;
	int ret = 0;

	ret = moca_space_locate(o, st->s, &h);
	if (ret)
		return ret;
	x.space = h.where;
	x.addr = h.at;
	o->table.rows[p->row].o.loads += loads;
	o->table.rows[p->row].o.stores += stores;
	if (o->opt.counted)
		o->opt.counted(o->opt.counted_arg, &x);
	if (!o->totals.exact_only)
		return 0;
	/* Its object may have ended, and another have its number by now. */
	o->table.inst_key[p->inst].row = p->row;
	moca_table_prefetch(&o->table, &h);
	ret = moca_table_count(&o->table, &h);
	o->table.inst_key[p->inst].row = row;
	if (ret > 0)
		o->table.new_touch->module = NULL;
	return ret < 0 ? ret : 0;
}

/* n * part / whole, rounded, for part <= whole. */
static uint64_t scale(uint64_t n, uint64_t part, uint64_t whole)
{
	return (uint64_t)(((unsigned __int128)n * part + whole / 2) /
			  whole);
}

/* Share the row out to the parts of the highest rank that there are. */
static int share_out(struct moca_objects *o, const struct slice *st,
		     const struct moca_count *c, const struct part *parts,
		     uint32_t head)
{
	uint64_t whole = 0, at = 0, loads = 0, stores = 0, l, s;
	enum rank rank = RANK_NOTHING;
	const struct part *p;
	uint32_t i, n = 0;
	int told = 0, err = 0;

	for (i = head; i; i = parts[i - 1].next)
		if (parts[i - 1].rank > rank)
			rank = parts[i - 1].rank;
	for (i = head; i; i = p->next) {
		p = &parts[i - 1];
		if (p->rank != rank)
			continue;
		n++;
		whole = p->weight > UINT64_MAX - whole ? UINT64_MAX :
							  whole + p->weight;
	}
	for (i = head; !err && i; i = p->next) {
		p = &parts[i - 1];
		if (p->rank != rank)
			continue;
		at = p->weight > whole - at ? whole : at + p->weight;
		l = scale(c->loads, at, whole) - loads;
		s = scale(c->stores, at, whole) - stores;
		loads += l;
		stores += s;
		if (!(l | s))
			continue;
		err = count_part(o, st, c, p, l, s, n > 1, !told);
		told = 1;
	}
	return err;
}

static int settle(struct moca_objects *o, struct slice *st)
{
	struct there known = { 0 };
	uint64_t since, ns;
	struct part *parts;
	uint32_t head;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < st->count; i++) {
		since = st->since ? st->since[i] : from(st, i);
		ns = st->end_ns > since ? st->end_ns - since : 0;
		head = st->head ? st->head[i] : 0;
		if (!head) {
			o->part_count = 0;
			err = credit(o, st, &known, st->rows[i].addr,
				     ns ? ns : 1, st->end_ns, &o->parts,
				     &o->part_count, &o->part_cap, &head);
			parts = o->parts;
		} else {
			if (ns)
				err = credit(o, st, &known, st->rows[i].addr,
					     ns, st->end_ns, &st->parts,
					     &st->part_count, &st->part_cap,
					     &head);
			parts = st->parts;
		}
		if (!err)
			err = share_out(o, st, &st->rows[i], parts, head);
	}
	return err;
}

static void slice_free(struct moca_objects *o, struct slice *st)
{
	moca_space_put(o, st->s);
	free(st->rows);
	free(st->since);
	free(st->head);
	free(st->parts);
	free(st);
}

int moca_objects_settle(struct moca_objects *o, uint64_t time_ns)
{
	uint64_t next = UINT64_MAX;
	struct slice *st;
	size_t i, n = 0;
	int err = 0;

	o->crediting = 1;
	for (i = 0; i < o->slice_count; i++) {
		st = o->slices[i];
		if (st->end_ns >= time_ns && time_ns != UINT64_MAX) {
			next = st->end_ns < next ? st->end_ns : next;
			o->slices[n++] = st;
			continue;
		}
		if (!err)
			err = settle(o, st);
		slice_free(o, st);
	}
	o->crediting = 0;
	o->slice_count = n;
	o->next_end = next;
	return err;
}

/* --- the begin ---------------------------------------------------------- */

int moca_objects_counts(struct moca_objects *o, const struct moca_task *t,
			const struct moca_counts *c)
{
	struct slice *st;
	int err;

	if (!c->count)
		return 0;
	err = moca_vec_fit(o->slices, o->slice_cap, o->slice_count + 1);
	st = err ? NULL : calloc(1, sizeof(*st));
	if (!st)
		return -ENOMEM;
	st->rows = malloc(c->count * sizeof(*st->rows));
	st->s = st->rows ? moca_objects_space(o, t, &o->tasks[t - moca_trace_task(o->trace, 0)]) : NULL;
	if (!st->s) {
		free(st->rows);
		free(st);
		return -ENOMEM;
	}
	st->s->refs++;
	st->s->touched = 1;
	st->task = t;
	st->begin_ns = c->begin_ns;
	st->end_ns = c->end_ns;
	st->slice = c->slice;
	st->granularity = c->granularity;
	st->count = c->count;
	memcpy(st->rows, c->rows, c->count * sizeof(*st->rows));
	if (!o->slice_count || st->end_ns < o->next_end)
		o->next_end = st->end_ns;
	o->slices[o->slice_count++] = st;
	return 0;
}

/*
 * Clocks differ a little: counts of the new program may begin before its exec is
 * told, and those of the old one end after it.
 */
void moca_objects_new_space(struct moca_objects *o, const struct moca_task *t,
			    struct replay_space *s, uint64_t time_ns)
{
	struct slice *st;
	size_t i;

	for (i = 0; i < o->slice_count; i++) {
		st = o->slices[i];
		if (st->task != t || st->end_ns < time_ns ||
		    st->end_ns - time_ns <= time_ns - st->begin_ns)
			continue;
		moca_space_put(o, st->s);
		st->s = s;
		s->refs++;
		s->touched = 1;
		free(st->since);
		free(st->head);
		st->since = NULL;
		st->head = NULL;
		st->part_count = 0;
	}
}

void moca_objects_free_counts(struct moca_objects *o)
{
	size_t i;

	for (i = 0; i < o->slice_count; i++)
		slice_free(o, o->slices[i]);
	free(o->slices);
	free(o->parts);
}
