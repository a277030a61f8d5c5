// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who calls the code that accesses an object, as a line of evidence: "called by f()
 * at a.c:12 (80 %), g() at b.c:7 (15 %)". By the call stacks that the profile counted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/rules.h"
#include "analysis/callers.h"
#include "analysis/trace.h"
#include "lib/base/vec.h"

#define SHOWN 3
#define SHARE_MIN 0.05		/* of the object's accesses */

/* A function, and the line where it calls. */
struct caller {
	struct moca_caller at;
	uint64_t accesses;
};

struct list {
	struct caller *items;
	size_t count, room;
};

static int is_same(const struct moca_caller *a, const struct moca_caller *b)
{
	return a->line == b->line && !strcmp(a->name, b->name) &&
	       (a->file == b->file ||
		(a->file && b->file && !strcmp(a->file, b->file)));
}

static int add(struct list *l, const struct moca_caller *at, uint64_t accesses)
{
	size_t i = 0;

	while (i < l->count && !is_same(&l->items[i].at, at))
		i++;
	if (i < l->count) {
		l->items[i].accesses += accesses;
		return 0;
	}
	if (moca_vec_fit(l->items, l->room, l->count + 1))
		return -ENOMEM;
	l->items[l->count++] = (struct caller){ *at, accesses };
	return 0;
}

/*
 * Of a stack the function of the program that called the one that accesses; where
 * none is the program's, as in a thread of a run-time library: the one that
 * called. 1: *out is it, 0: none is known, -ENOMEM.
 */
static int find_caller(struct moca_callers *c, const struct moca_stack *s,
		       uint32_t pid, uint64_t time_ns, const char *program,
		       struct moca_caller *out)
{
	int found = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		int64_t at = moca_callers_find(c, pid, time_ns, s->frames[i], i);
		struct moca_caller_place p;
		uint32_t first = !i;	/* what accesses is no caller */
		int own;

		if (at < 0)
			return (int)at;
		p = moca_callers_place(c, (uint32_t)at);
		own = p.path && program && !strcmp(p.path, program);
		if (first < p.count && (own || !found)) {
			*out = p.callers[first];
			found = 1;
			if (own)
				break;
		}
	}
	return found;
}

static int add_stack(struct list *l, struct moca_callers *c,
		     struct moca_trace *t, const struct moca_use *u,
		     const char *program)
{
	size_t task = trace_task_index(t, u->task);
	struct moca_caller caller = { .name = "" };
	struct moca_stack s;
	int ret;

	if (task == SIZE_MAX || moca_trace_stack(t, (uint32_t)u->ip, &s))
		return 0;
	ret = find_caller(c, &s, moca_trace_task(t, task)->pid, u->time_ns,
			  program, &caller);
	return ret > 0 ? add(l, &caller, moca_use_total(u)) : ret;
}

static int by_accesses(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;

	if (x->accesses != y->accesses)
		return x->accesses > y->accesses ? -1 : 1;
	return strcmp(x->at.name, y->at.name);
}

static void tell(struct rules *r, struct moca_finding *f, const struct list *l)
{
	char text[1024] = "";
	size_t len = 0;

	for (size_t i = 0; i < l->count && i < SHOWN; i++) {
		const struct moca_caller *at = &l->items[i].at;
		double share = (double)l->items[i].accesses /
			       (double)f->object->accesses;
		const char *base;
		char where[128] = "";

		if (share < SHARE_MIN)
			break;
		base = at->file ? strrchr(at->file, '/') : NULL;
		if (at->file && at->line)
			snprintf(where, sizeof(where), " at %.100s:%u",
				 base ? base + 1 : at->file, at->line);
		snprintf(text + len, sizeof(text) - len,
			 "%s%.200s%s%s (%.0f %%)", i ? ", " : "", at->name,
			 strpbrk(at->name, "(+[") ? "" : "()", where, 100 * (share < 1 ? share : 1));
		len = strlen(text);
	}
	/* The last line would be replaced. */
	if (len && !f->evidence[MOCA_FINDING_LINES - 1])
		finding_line(r, f->evidence, "called by %s%s", text,
			     r->p->stacks.forgot ?
				     "; shares are these or more" : "");
}

static int look(struct rules *r, struct moca_callers *c, struct moca_finding *f)
{
	const struct moca_uses *u = &r->p->stacks;
	struct list l = { 0 };
	int err = 0;

	for (size_t i = 0; i < u->cap && !err; i++)
		if (u->items[i].used &&
		    moca_objects_row_of(r->p->objects, u->items[i].key) ==
			    f->object->object)
			err = add_stack(&l, c, r->trace, &u->items[i],
					f->object->object->program);
	if (!err && l.count)
		qsort(l.items, l.count, sizeof(*l.items), by_accesses);
	if (!err)
		tell(r, f, &l);
	free(l.items);
	return err;
}

void evidence_callers(struct rules *r)
{
	struct moca_callers *c;

	if (!r->p->stacks.count || !r->a->count || r->err)
		return;
	r->err = moca_callers_open(&c, r->trace,
				   moca_objects_symbols(r->p->objects));
	if (r->err)
		return;
	for (size_t i = 0; i < r->a->count && !r->err; i++)
		r->err = look(r, c, &r->a->findings[i]);
	moca_callers_close(c);
}
