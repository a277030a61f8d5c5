// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/objects/heap.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/table.h"
#include "lib/base/vec.h"

struct stack {
	uint32_t task, binding;
	uint64_t time_ns;	/* of the first */
	uint64_t allocations, bytes;
	uint64_t live;		/* bytes, now */
	uint64_t at_peak;	/* as it was at peak number `seen` */
	uint64_t seen;
};

/* What an instance is counted as. */
struct block {
	uint32_t stack;		/* and 1; 0: it is not */
	uint32_t level;
	uint32_t owner;		/* the space that has it, */
	uint32_t next, prev;	/* and its other instances; 0 = none */
};

struct moca_heap {
	struct stack *stacks;
	size_t count, room;
	struct moca_index index;
	struct block *blocks;	/* by instance */
	uint64_t *sizes;
	size_t block_room, size_room;
	uint32_t *first;	/* by owner: its list of instances */
	size_t first_room;
	uint32_t last;		/* the stack that was asked for last */
	uint64_t live;
	uint64_t peaks;		/* their number */
	struct moca_heap_totals totals;
};

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

struct moca_heap *moca_heap_new(void)
{
	return calloc(1, sizeof(struct moca_heap));
}

void moca_heap_free(struct moca_heap *h)
{
	if (!h)
		return;
	free(h->stacks);
	free(h->blocks);
	free(h->sizes);
	free(h->first);
	moca_index_free(&h->index);
	free(h);
}

int64_t moca_heap_stack(struct moca_heap *h, uint32_t task, uint32_t binding,
			uint64_t time_ns)
{
	uint64_t hash = moca_mix((uint64_t)task << 32 | binding);
	const struct stack *s = &h->stacks[h->last];
	uint32_t i;

	if (h->count && s->task == task && s->binding == binding)
		return h->last;
	moca_index_each(i, &h->index, hash) {
		s = &h->stacks[i];
		if (s->task == task && s->binding == binding)
			return h->last = i;
	}
	if (moca_vec_fit(h->stacks, h->room, h->count + 1) ||
	    moca_index_add(&h->index, hash, (uint32_t)h->count))
		return -ENOMEM;
	h->stacks[h->count] = (struct stack){
		.task = task, .binding = binding, .time_ns = time_ns,
	};
	return h->last = (uint32_t)h->count++;
}

void moca_heap_add(struct moca_heap *h, uint32_t stack, uint64_t n,
		   uint64_t bytes)
{
	struct stack *s = &h->stacks[stack];

	s->allocations = plus(s->allocations, n);
	s->bytes = plus(s->bytes, bytes);
	h->totals.allocations = plus(h->totals.allocations, n);
	h->totals.bytes = plus(h->totals.bytes, bytes);
	h->totals.without_lives = plus(h->totals.without_lives, bytes);
}

/*
 * A stack that has not changed since the last peak had then what it has now: so no
 * peak has to look at all of them.
 */
static void remember(const struct moca_heap *h, struct stack *s)
{
	if (s->seen != h->peaks)
		s->at_peak = s->live;
	s->seen = h->peaks;
}

static int put_owner(struct moca_heap *h, uint32_t id, uint32_t owner)
{
	struct block *b = &h->blocks[id];

	if (moca_vec_fit_zeroed(h->first, h->first_room, (size_t)owner + 1))
		return -ENOMEM;
	b->owner = owner;
	b->prev = 0;
	b->next = h->first[owner];
	if (b->next)
		h->blocks[b->next].prev = id;
	h->first[owner] = id;
	return 0;
}

static void drop_owner(struct moca_heap *h, uint32_t id)
{
	const struct block *b = &h->blocks[id];

	if (b->next)
		h->blocks[b->next].prev = b->prev;
	if (b->prev)
		h->blocks[b->prev].next = b->next;
	else
		h->first[b->owner] = b->next;
}

int moca_heap_begin(struct moca_heap *h, uint32_t stack, uint32_t id,
		    uint32_t owner, uint64_t size, unsigned int level,
		    uint64_t time_ns)
{
	struct stack *s = &h->stacks[stack];
	uint64_t bytes = size << level;

	moca_heap_add(h, stack, 1ull << level, bytes);
	if (level)
		h->totals.estimated = plus(h->totals.estimated, bytes);
	if (!id)
		return 0;
	if (moca_vec_fit_zeroed(h->blocks, h->block_room, (size_t)id + 1) ||
	    moca_vec_fit_zeroed(h->sizes, h->size_room, (size_t)id + 1))
		return -ENOMEM;
	moca_heap_end(h, id);
	if (put_owner(h, id, owner))
		return -ENOMEM;
	h->totals.without_lives -= bytes;
	h->blocks[id].stack = stack + 1;
	h->blocks[id].level = level;
	h->sizes[id] = size;
	remember(h, s);
	/* Sizes are the trace's: a sum may wrap around. */
	s->live += bytes;
	h->live += bytes;
	if (h->live > h->totals.peak) {
		h->totals.peak = h->live;
		h->totals.peak_ns = time_ns;
		h->peaks++;
	}
	return 0;
}

void moca_heap_end(struct moca_heap *h, uint32_t id)
{
	struct block *b;
	struct stack *s;
	uint64_t bytes;

	if (id >= h->block_room || id >= h->size_room || !h->blocks[id].stack)
		return;
	b = &h->blocks[id];
	s = &h->stacks[b->stack - 1];
	bytes = h->sizes[id] << b->level;
	remember(h, s);
	s->live -= bytes;
	h->live -= bytes;
	drop_owner(h, id);
	*b = (struct block){ 0 };
}

int moca_heap_end_all(struct moca_heap *h, uint32_t owner,
		      uint32_t (*heir)(void *arg, uint32_t id), void *arg)
{
	uint32_t id = owner < h->first_room ? h->first[owner] : 0, next, to;

	for (; id; id = next) {
		next = h->blocks[id].next;
		to = heir ? heir(arg, id) : 0;
		if (!to) {
			moca_heap_end(h, id);
			continue;
		}
		drop_owner(h, id);
		if (put_owner(h, id, to)) {
			h->blocks[id] = (struct block){ 0 };
			return -ENOMEM;
		}
	}
	return 0;
}

size_t moca_heap_finish(struct moca_heap *h)
{
	for (size_t i = 0; i < h->count; i++)
		remember(h, &h->stacks[i]);
	h->totals.end = h->live;
	return h->count;
}

uint32_t moca_heap_sums(const struct moca_heap *h, size_t stack,
			struct moca_heap_stack *out)
{
	const struct stack *s = &h->stacks[stack];

	*out = (struct moca_heap_stack){
		.task = s->task, .time_ns = s->time_ns,
		.allocations = s->allocations, .bytes = s->bytes,
		.at_peak = s->at_peak, .at_end = s->live,
	};
	return s->binding;
}

void moca_heap_totals(const struct moca_heap *h, struct moca_heap_totals *out)
{
	*out = h->totals;
}
