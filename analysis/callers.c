// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/callers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/symbols/jit.h"
#include "analysis/trace.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"

#define INLINED 16		/* levels that are looked at */
#define NAME_MAX_BYTES 512

/* What an address of a file, or of none, is called. */
struct place {
	struct moca_module *module;	/* NULL: address is the process's */
	uint64_t address;
	uint32_t pid;		/* without a module */
	uint32_t jit;		/* in the trace's, and 1; 0: it has no such name */
	uint32_t at, count;	/* in callers */
};

struct moca_callers {
	struct moca_trace *t;
	struct moca_symbols *symbols, *own;
	struct place *places;
	size_t place_count, place_room;
	struct moca_index index;
	struct moca_caller *callers;
	size_t count, room;
	char **texts;		/* that are no symbols' */
	size_t text_count, text_room;
	struct moca_caller *stack;	/* that was asked for last */
	size_t stack_room;
};

int moca_callers_open(struct moca_callers **out, struct moca_trace *t,
		      struct moca_symbols *symbols)
{
	struct moca_callers *c = calloc(1, sizeof(*c));
	char root[TRACE_ROOT_MAX];
	int err = c ? 0 : -ENOMEM;

	if (!err && !symbols)
		err = moca_symbols_open(&c->own);
	if (!err && c->own)
		err = moca_symbols_root(c->own, trace_root(t, root));
	if (err) {
		if (c)
			moca_symbols_close(c->own);
		free(c);
		return err;
	}
	c->t = t;
	c->symbols = symbols ? symbols : c->own;
	*out = c;
	return 0;
}

void moca_callers_close(struct moca_callers *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->text_count; i++)
		free(c->texts[i]);
	free(c->texts);
	free(c->places);
	free(c->callers);
	free(c->stack);
	moca_index_free(&c->index);
	moca_symbols_close(c->own);
	free(c);
}

static const char *keep_text(struct moca_callers *c, const char *text)
{
	char *copy = strdup(text);

	if (!copy || moca_vec_fit(c->texts, c->text_room, c->text_count + 1)) {
		free(copy);
		return NULL;
	}
	c->texts[c->text_count++] = copy;
	return copy;
}

static int add(struct moca_callers *c, struct place *p,
	       const struct moca_caller *caller)
{
	if (moca_vec_fit(c->callers, c->room, c->count + 1))
		return -ENOMEM;
	c->callers[c->count++] = *caller;
	p->count++;
	return 0;
}

/* Where no function is known: the file, and how far into it. */
static int add_unnamed(struct moca_callers *c, struct place *p)
{
	struct moca_caller caller = { .name = "[unknown]" };
	char text[NAME_MAX_BYTES];
	const char *path, *base;

	if (p->module) {
		path = moca_module_path(p->module);
		base = strrchr(path, '/');
		snprintf(text, sizeof(text), "%s+0x%" PRIx64,
			 base ? base + 1 : path, p->address);
		caller.name = keep_text(c, text);
	} else if (p->jit) {
		caller.name = jit_name(moca_trace_jits(c->t), p->jit);
	}
	return caller.name ? add(c, p, &caller) : -ENOMEM;
}

static int name_place(struct moca_callers *c, struct place *p)
{
	struct moca_location where[INLINED];
	size_t n = 0;
	int err = 0;

	p->at = (uint32_t)c->count;
	if (p->module)
		n = moca_module_locate(p->module, p->address, where, INLINED);
	for (size_t i = 0; i < n && !err; i++) {
		struct moca_caller caller = {
			.name = where[i].function, .file = where[i].file,
			.line = where[i].line, .inlined = i + 1 < n,
		};

		if (caller.name)
			err = add(c, p, &caller);
	}
	return err || p->count ? err : add_unnamed(c, p);
}

static uint64_t hash_of(const struct place *p)
{
	return moca_mix((uintptr_t)p->module ^
			p->address * 0x9e3779b97f4a7c15ull ^
			(uint64_t)p->jit << 13 ^
			(uint64_t)p->pid << 40);
}

/* The number of the place, named. -ENOMEM. */
static int64_t find(struct moca_callers *c, const struct place *like)
{
	uint64_t hash = hash_of(like);
	struct place p = *like;
	uint32_t i;
	int err;

	moca_index_each(i, &c->index, hash)
		if (c->places[i].module == p.module &&
		    c->places[i].address == p.address &&
		    c->places[i].pid == p.pid && c->places[i].jit == p.jit)
			return i;
	err = name_place(c, &p);
	if (!err)
		err = moca_vec_fit(c->places, c->place_room, c->place_count + 1);
	if (!err)
		err = moca_index_add(&c->index, hash, (uint32_t)c->place_count);
	if (err)
		return err;
	c->places[c->place_count] = p;
	return (int64_t)c->place_count++;
}

int64_t moca_callers_find(struct moca_callers *c, uint32_t pid,
			  uint64_t time_ns, uint64_t address, uint32_t i)
{
	/* A return address belongs to the call before it. */
	struct place p = { .address = address - (i != 0), .pid = pid };
	const struct moca_mapping *m =
		moca_trace_find_mapping(c->t, pid, p.address, time_ns);
	uint64_t vaddr;

	if (!m || jit_may_lie_in(m->name))
		p.jit = jit_find(moca_trace_jits(c->t), pid, p.address, time_ns);
	if (m && !p.jit && m->name[0] == '/') {
		p.module = moca_symbols_module(c->symbols, m->name);
		if (!p.module)
			return -ENOMEM;
		p.pid = 0;
		if (moca_module_vaddr(p.module, p.address - m->addr + m->offset,
				      &vaddr))
			vaddr = p.address - m->addr + m->offset;
		p.address = vaddr;
	}
	return find(c, &p);
}

int64_t moca_callers_site(struct moca_callers *c, uint32_t pid, uint64_t time_ns,
			  const struct moca_site_frame *frame)
{
	struct place p = { .module = frame->module, .address = frame->vaddr,
			   .pid = frame->module ? 0 : pid };

	if (!p.module)
		p.jit = jit_find(moca_trace_jits(c->t), pid, p.address, time_ns);
	return find(c, &p);
}

struct moca_caller_place moca_callers_place(const struct moca_callers *c,
					    uint32_t number)
{
	const struct place *p = &c->places[number];

	return (struct moca_caller_place){
		.callers = c->callers + p->at, .count = p->count,
		.path = p->module ? moca_module_path(p->module) : NULL,
		.address = p->address,
	};
}

/* Add the functions of a place to the stack. 0 or -ENOMEM. */
static int add_place(struct moca_callers *c, int64_t number, size_t *total)
{
	struct moca_caller_place p;

	if (number < 0)
		return (int)number;
	p = moca_callers_place(c, (uint32_t)number);
	if (moca_vec_fit(c->stack, c->stack_room, *total + p.count))
		return -ENOMEM;
	memcpy(c->stack + *total, p.callers, p.count * sizeof(*p.callers));
	*total += p.count;
	return 0;
}

int moca_callers_stack(struct moca_callers *c, uint32_t pid, uint64_t time_ns,
		       uint32_t number, const struct moca_caller **out,
		       int *cut)
{
	struct moca_stack s;
	size_t total = 0;
	int err = 0;

	if (moca_trace_stack(c->t, number, &s))
		return 0;
	for (uint32_t i = 0; i < s.count && !err; i++)
		err = add_place(c, moca_callers_find(c, pid, time_ns,
						     s.frames[i], i), &total);
	*out = c->stack;
	*cut = (s.flags & MOCA_STACK_CUT) != 0;
	return err ? err : (int)total;
}

int moca_callers_heap(struct moca_callers *c, uint32_t pid,
		      const struct moca_heap_stack *s,
		      const struct moca_caller **out, int *cut)
{
	size_t total = 0;
	int err = 0;

	for (size_t i = 0; i < s->count && !err; i++)
		err = add_place(c, moca_callers_site(c, pid, s->time_ns,
						     &s->frames[i]), &total);
	*out = c->stack;
	*cut = s->cut;
	return err ? err : (int)total;
}
