// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which lines of source access each structure that is plotted: with their counts,
 * as the blob "code". What lies around these lines is source.c's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/where.h"
#include "lib/base/vec.h"
#include "lib/text/json.h"
#include "report/html/report.h"

#define LINES 12u		/* of a structure, the most frequent */
#define INSTRUCTIONS 256u	/* of a structure, that are looked up */
#define FEW 100u		/* one of so many accesses: no text of its lines */

/* A line of source, or a function whose lines are not known. */
struct line {
	struct moca_location at;
	struct moca_module *module;
	uint64_t reads, writes, other;
};

struct code {
	struct report *r;
	struct report_json out;
	/* Of plots: by object, those with most accesses first. */
	struct use {
		const struct moca_object *object;
		const struct moca_use *use;
	} *uses;
	size_t count;
};

static uint64_t total(const struct line *l)
{
	return l->reads + l->writes + l->other;
}

static int compare_uses(const void *a, const void *b)
{
	const struct use *x = a, *y = b;
	uint64_t p = moca_use_total(x->use), q = moca_use_total(y->use);

	if (x->object != y->object)
		return x->object->id < y->object->id ? -1 : 1;
	if (p != q)
		return p > q ? -1 : 1;
	return x->use->ip < y->use->ip ? -1 : x->use->ip > y->use->ip;
}

static int same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static int same_line(const struct line *a, const struct line *b)
{
	return a->at.line == b->at.line && a->module == b->module &&
	       same_text(a->at.function, b->at.function) &&
	       same_text(a->at.file, b->at.file);
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (total(x) != total(y))
		return total(x) > total(y) ? -1 : 1;
	return x->at.line < y->at.line ? -1 : x->at.line > y->at.line;
}

/* The lines of n instructions, in place of them; how many. */
static size_t find_lines(struct code *c, const struct use *u, size_t n,
			 struct line *out)
{
	const struct report *r = c->r;
	struct line l;
	size_t i, k, count = 0;

	for (i = 0; i < n && i < INSTRUCTIONS; i++) {
		const struct moca_use *x = u[i].use;

		l = (struct line){ .reads = x->reads, .writes = x->writes,
				   .other = x->other };
		if (x->task < r->task_ids)
			moca_where_ip(r->objects, r->trace,
				      r->threads[r->task_index[x->task]].task->pid,
				      x->ip, x->time_ns, &l.at, &l.module);
		for (k = 0; k < count && !same_line(&out[k], &l); k++)
			;
		if (k == count) {
			out[count++] = l;
			continue;
		}
		out[k].reads += l.reads;
		out[k].writes += l.writes;
		out[k].other += l.other;
	}
	qsort(out, count, sizeof(*out), compare_lines);
	return count;
}

static int is_marked(const struct report *r, const struct moca_object *o)
{
	size_t i;

	for (i = 0; i < r->marked_count; i++)
		if (r->marked[i].object == o)
			return 1;
	return 0;
}

/* The text of that line, where o matters. */
static int want(struct report *r, const struct moca_object *o,
		const char *file, unsigned line, struct moca_module *module)
{
	if (!file || !line ||
	    (!is_marked(r, o) && o->accesses * FEW < r->totals.accesses))
		return 0;
	if (moca_vec_fit(r->wanted, r->wanted_cap, r->wanted_count + 1))
		return -ENOMEM;
	r->wanted[r->wanted_count++] = (struct report_wanted){
		.file = file, .line = line,
		.built_ns = module ? moca_module_mtime(module) : 0,
	};
	return 0;
}

static void put_place(struct code *c, const char *key, const char *function,
		      const char *file, unsigned line)
{
	json_open(&c->out.j, key, '{');
	json_string(&c->out.j, "function", function);
	json_string(&c->out.j, "file", file);
	json_uint(&c->out.j, "line", line);
	json_close(&c->out.j, '}');
}

static int put_line(struct code *c, const struct moca_object *o,
		    const struct line *l)
{
	json_open(&c->out.j, NULL, '{');
	json_string(&c->out.j, "function", l->at.function);
	json_string(&c->out.j, "file", l->at.file);
	json_uint(&c->out.j, "line", l->at.line);
	json_string(&c->out.j, "module", l->module ? moca_module_path(l->module) :
						 NULL);
	json_uint(&c->out.j, "reads", l->reads);
	json_uint(&c->out.j, "writes", l->writes);
	json_uint(&c->out.j, "unknown", l->other);
	json_close(&c->out.j, '}');
	return want(c->r, o, l->at.file, l->at.line, l->module);
}

/* Where it is allocated, and where its pages are first touched. */
static int put_places(struct code *c, const struct moca_object *o)
{
	struct moca_module *program =
		moca_symbols_module(moca_objects_symbols(c->r->objects),
				    o->program);
	const struct report_marked *m = c->r->marked;
	int err = 0;

	if (o->alloc && o->alloc->file) {
		put_place(c, "allocated", o->alloc->function, o->alloc->file,
			  o->alloc->line);
		err = want(c->r, o, o->alloc->file, o->alloc->line, program);
	} else {
		json_null(&c->out.j, "allocated");
	}
	while (m < c->r->marked + c->r->marked_count &&
	       (m->object != o || !m->file))
		m++;
	if (m < c->r->marked + c->r->marked_count) {
		put_place(c, "first_touch", m->function, m->file, m->line);
		err = err ?: want(c->r, o, m->file, m->line, program);
	} else {
		json_null(&c->out.j, "first_touch");
	}
	return err;
}

static int put_object(struct code *c, const struct moca_object *o)
{
	struct line lines[INSTRUCTIONS];
	size_t i, first = 0, n = 0, count;
	uint64_t told = 0;
	int err;

	while (first < c->count && c->uses[first].object != o)
		first++;
	while (first + n < c->count && c->uses[first + n].object == o)
		n++;
	count = find_lines(c, c->uses + first, n, lines);
	json_open(&c->out.j, NULL, '{');
	json_uint(&c->out.j, "object", o->id);
	err = put_places(c, o);
	json_open(&c->out.j, "lines", '[');
	for (i = 0; !err && i < count && i < LINES; i++) {
		err = put_line(c, o, &lines[i]);
		told += total(&lines[i]);
	}
	json_close(&c->out.j, ']');
	/* Of its accesses, those of other instructions. */
	json_uint(&c->out.j, "others", o->accesses > told ? o->accesses - told : 0);
	json_close(&c->out.j, '}');
	return err;
}

static int is_plotted(const struct report *r, const struct moca_object *o)
{
	size_t i;

	for (i = 0; i < r->plot_count; i++)
		if (r->plots[i].object == o)
			return 1;
	return 0;
}

/* Those that the findings are about first: source.c has room for these, at least. */
static int put_objects(struct code *c)
{
	const struct report *r = c->r;
	size_t i, k;
	int err = 0;

	json_open(&c->out.j, "objects", '[');
	for (i = 0; !err && i < r->marked_count; i++) {
		for (k = 0; k < i && r->marked[k].object != r->marked[i].object;
		     k++)
			;
		if (k == i)
			err = put_object(c, r->marked[i].object);
	}
	for (i = 0; !err && i < r->plot_count; i++)
		if (!is_marked(r, r->plots[i].object))
			err = put_object(c, r->plots[i].object);
	json_close(&c->out.j, ']');
	return err;
}

static int gather(struct code *c)
{
	const struct report *r = c->r;
	const struct moca_uses *u = &r->uses;
	const struct moca_object *o;
	size_t i;

	c->uses = malloc((u->count + 1) * sizeof(*c->uses));
	if (!c->uses)
		return -ENOMEM;
	for (i = 0; i < u->cap; i++) {
		if (!u->items[i].used)
			continue;
		o = moca_objects_row_of(r->objects, u->items[i].key);
		if (is_marked(r, o) || is_plotted(r, o))
			c->uses[c->count++] = (struct use){ o, &u->items[i] };
	}
	qsort(c->uses, c->count, sizeof(*c->uses), compare_uses);
	return 0;
}

int report_code(struct report *r)
{
	struct code c = { .r = r };
	int err = gather(&c);

	if (err)
		return err;
	err = report_json_begin(&c.out);
	if (!err) {
		json_open(&c.out.j, NULL, '{');
		/* Exact mode's counts have no instructions. */
		json_bool(&c.out.j, "instructions", !r->totals.exact_only);
		json_bool(&c.out.j, "at_least", r->uses.forgot);
		err = put_objects(&c);
		json_close(&c.out.j, '}');
		err = report_json_end(r, &c.out, "code", err);
	}
	free(c.uses);
	return err;
}
