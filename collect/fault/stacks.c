// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/table.h"
#include "lib/base/vec.h"
#include "lib/format/meta.h"
#include "lib/format/writer.h"

struct place {
	uint64_t hash;
	uint32_t at;		/* in frames */
	uint16_t count, flags;
};

struct stacks {
	struct unwinder *unwinder;
	uint64_t *frames;
	size_t frame_count, frame_room;
	struct place *list;	/* the first is number 1 */
	size_t count, room;
	size_t written;
	struct moca_index index;
	uint32_t bytes;
	/* Accesses: without a stack, as nothing was copied; with one that is
	 * cut; that came when no more were kept. */
	uint64_t none, cut, full;
};

struct stacks *stacks_new(const struct text *text, uint32_t bytes)
{
	struct stacks *s = calloc(1, sizeof(*s));

	if (s && bytes)
		s->unwinder = unwinder_new(text);
	if (s && bytes && !s->unwinder) {
		free(s);
		return NULL;
	}
	if (s)
		s->bytes = bytes;
	return s;
}

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	unwinder_free(s->unwinder);
	moca_index_free(&s->index);
	free(s->frames);
	free(s->list);
	free(s);
}

static uint64_t hash_of(const uint64_t *frames, uint32_t n, uint32_t flags)
{
	uint64_t h = n << 1 | flags;

	for (uint32_t i = 0; i < n; i++) {
		h = (h ^ frames[i]) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return moca_mix(h);
}

static int is_same(const struct stacks *s, uint32_t i, const uint64_t *frames,
		   const struct place *p)
{
	const struct place *q = &s->list[i];

	return q->hash == p->hash && q->count == p->count &&
	       q->flags == p->flags &&
	       !memcmp(s->frames + q->at, frames, p->count * sizeof(*frames));
}

uint32_t stacks_number(struct stacks *s, int space, const struct user_stack *of)
{
	uint64_t frames[MOCA_STACK_FRAMES_MAX];
	struct place p = { 0 };
	uint32_t n, flags, i;

	if (!s->bytes)
		return 0;
	if (!of->known) {
		s->none++;
		return 0;
	}
	n = unwinder_walk(s->unwinder, space, of, frames, &flags);
	s->cut += flags & MOCA_STACK_CUT;
	p.hash = hash_of(frames, n, flags);
	p.count = (uint16_t)n;
	p.flags = (uint16_t)flags;
	moca_index_each(i, &s->index, p.hash)
		if (is_same(s, i, frames, &p))
			return i + 1;
	if (s->count == MOCA_STACKS_MAX ||
	    s->frame_count + n > MOCA_STACK_FRAMES_ALL ||
	    moca_vec_fit(s->list, s->room, s->count + 1) ||
	    moca_vec_fit(s->frames, s->frame_room, s->frame_count + n) ||
	    moca_index_add(&s->index, p.hash, (uint32_t)s->count)) {
		s->full++;
		return 0;
	}
	p.at = (uint32_t)s->frame_count;
	memcpy(s->frames + p.at, frames, n * sizeof(*frames));
	s->frame_count += n;
	s->list[s->count++] = p;
	return (uint32_t)s->count;
}

void stacks_changed(struct stacks *s)
{
	if (s->bytes)
		unwinder_changed(s->unwinder);
}

int stacks_write(struct stacks *s, struct moca_writer *w)
{
	struct moca_stack list[256];
	size_t n, i;
	int ret;

	while (s->written < s->count) {
		n = s->count - s->written;
		if (n > sizeof(list) / sizeof(*list))
			n = sizeof(list) / sizeof(*list);
		for (i = 0; i < n; i++) {
			const struct place *p = &s->list[s->written + i];

			list[i] = (struct moca_stack){ s->frames + p->at,
						       p->count, p->flags };
		}
		ret = moca_writer_stacks(w, (uint32_t)s->written + 1, list, n);
		if (ret)
			return ret;
		s->written += n;
	}
	return 0;
}

void stacks_describe(const struct stacks *s, struct moca_meta *m)
{
	if (!s->bytes)
		return;
	moca_meta_set(m, "stacks.bytes", "%u", s->bytes);
	moca_meta_set(m, "stacks.count", "%zu", s->count);
	moca_meta_set(m, "stacks.none", "%lu", s->none);
	moca_meta_set(m, "stacks.cut", "%lu", s->cut);
	moca_meta_set(m, "stacks.full", "%lu", s->full);
}
