// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/framesoc.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/table.h"

struct framesoc_touch {
	uint64_t addr;		/* of the page */
	uint32_t thread;	/* number + 1: 0 is none */
	uint32_t shared;	/* others touched it, too */
};

static uint64_t hash_touch(const struct framesoc_touch *t)
{
	return moca_mix(moca_mix(t->addr) + t->thread);
}

static int same_touch(const struct framesoc_touch *a,
		      const struct framesoc_touch *b)
{
	return a->addr == b->addr && a->thread == b->thread;
}

static int used_touch(const struct framesoc_touch *t)
{
	return t->thread != 0;
}

MOCA_TABLE(touches, struct framesoc_touch, hash_touch, same_touch, used_touch);

static int add_touch(struct framesoc_pages *p, uint64_t addr, size_t thread)
{
	const struct framesoc_touch key = {
		.addr = addr, .thread = (uint32_t)thread + 1,
	};
	struct framesoc_touch *at;

	if (touches_fit(&p->touches, &p->cap, p->count))
		return -ENOMEM;
	at = touches_at(p->touches, p->cap, &key);
	p->count += !at->thread;
	*at = key;
	return 0;
}

static int note(void *arg, const struct classic_chunk *c)
{
	struct framesoc *x = arg;
	int err = 0;

	for (size_t i = 0; i < c->count && !err; i++) {
		err = add_touch(&x->virt, c->pages[i].addr, c->index);
		if (!err && c->pages[i].phys)
			err = add_touch(&x->phys, c->pages[i].phys, c->index);
	}
	return err;
}

static int by_page(const void *a, const void *b)
{
	const struct framesoc_touch *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* In place of the table, an array in order. */
static void put_in_order(struct framesoc_pages *p)
{
	struct framesoc_touch *t = p->touches;
	size_t n = 0, i;

	for (i = 0; i < p->cap; i++)
		if (t[i].thread)
			t[n++] = t[i];
	if (n)
		qsort(t, n, sizeof(*t), by_page);
	for (i = 1; i < n; i++)
		if (t[i].addr == t[i - 1].addr)
			t[i].shared = t[i - 1].shared = 1;
}

int framesoc_begin(struct framesoc *x, struct moca_trace *t,
		   const struct classic_options *options)
{
	struct moca_query range = { .size = sizeof(range) };
	struct classic_options all = *options;
	int err;

	*x = (struct framesoc){ .t = t, .options = *options };
	if (options->range)
		range = *options->range;
	for (size_t i = 0; range.one_task && i < moca_trace_task_count(t); i++)
		if (moca_trace_task(t, i)->id == range.task)
			x->only = (uint32_t)i + 1;
	range.one_task = 0;
	all.range = &range;
	err = moca_classic_chunks(t, &all, note, x);
	x->read_failed = err != 0;
	put_in_order(&x->virt);
	put_in_order(&x->phys);
	return err;
}

void framesoc_free(struct framesoc *x)
{
	free(x->virt.touches);
	free(x->phys.touches);
}

static int is_shared(const struct framesoc_pages *p, uint64_t addr,
		     size_t thread)
{
	const struct framesoc_touch key = {
		.addr = addr, .thread = (uint32_t)thread + 1,
	};
	const struct framesoc_touch *t =
		p->count ? bsearch(&key, p->touches, p->count, sizeof(key),
				   by_page) : NULL;

	return t && t->shared;
}

/* One digit per CPU, CPU 0 last. */
static void put_mask(struct out *o, const uint64_t *mask, unsigned int cpus)
{
	unsigned int i = 64 * CLASSIC_MASK_WORDS;

	while (i > cpus && !(mask[(i - 1) / 64] >> ((i - 1) % 64) & 1))
		i--;
	while (i--)
		out_byte(o, (char)('0' + (mask[i / 64] >> (i % 64) & 1)));
}

static int put_chunk(void *arg, const struct classic_chunk *c)
{
	struct framesoc *x = arg;
	struct out *o = x->o;

	for (size_t i = 0; i < c->count && !o->error; i++) {
		const struct classic_page *p = &c->pages[i];

		out_hex(o, p->addr);
		out_byte(o, ',');
		out_hex(o, p->phys);
		out_byte(o, ',');
		out_u64(o, p->reads);
		out_byte(o, ',');
		out_u64(o, p->writes);
		out_byte(o, ',');
		put_mask(o, p->cpus, x->options.cpus);
		out_byte(o, ',');
		out_u64(o, c->begin_ns);
		out_byte(o, ',');
		out_u64(o, c->end_ns);
		out_byte(o, ',');
		out_u64(o, c->index);
		out_string(o, is_shared(&x->virt, p->addr, c->index) ?
				      ",1\n" : ",0\n");
		x->events++;
	}
	return o->error;
}

int framesoc_events(struct framesoc *x, struct out *o)
{
	int err;

	x->o = o;
	out_string(o, "Virtual,Physical,Reads,Writes,CPUs,Start,End,Thread,Shared\n");
	err = moca_classic_chunks(x->t, &x->options, put_chunk, x);
	x->read_failed = err && !o->error;
	return err;
}

/* The line of a page that t[0..n) are the touches of, if it is wanted. */
static void put_producers(const struct framesoc *x, struct out *o,
			  const struct framesoc_touch *t, size_t n)
{
	int wanted = !x->only;

	for (size_t i = 0; i < n; i++)
		wanted |= t[i].thread == x->only;
	if (!wanted)
		return;
	out_hex(o, t->addr);
	for (size_t i = 0; i < n; i++) {
		out_byte(o, ',');
		out_u64(o, t[i].thread - 1);
	}
	out_byte(o, '\n');
}

int framesoc_producers(struct framesoc *x, struct out *o, int physical)
{
	const struct framesoc_pages *p = physical ? &x->phys : &x->virt;
	size_t end;

	out_u64(o, x->options.page_size);
	out_byte(o, '\n');
	for (size_t i = 0; i < p->count && !o->error; i = end) {
		for (end = i + 1; end < p->count; end++)
			if (p->touches[end].addr != p->touches[i].addr)
				break;
		put_producers(x, o, &p->touches[i], end - i);
	}
	return o->error;
}
