// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes call stacks as Perfetto's heap profiles. Each process has a heap for each kind
 * of sum (accesses, reads, writes ...), with the kind as its name. The outermost frame is
 * the thread. Equal stacks are added up here: a second value of a stack would replace
 * the first one in Perfetto.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/perfetto.h"
#include "export/stacks.h"
#include "lib/base/strings.h"
#include "lib/base/vec.h"

enum { PACKET_PROFILE = 37 };
enum {
	PROFILE_STRING = 1, PROFILE_FRAME, PROFILE_CALLSTACK, PROFILE_MAPPING,
	PROFILE_DUMP, PROFILE_CONTINUED, PROFILE_INDEX,
};
enum { DUMP_PID = 1, DUMP_SAMPLE = 2, DUMP_TIME = 9, DUMP_HEAP = 11 };
enum { SAMPLE_STACK = 1, SAMPLE_SIZE = 2, SAMPLE_COUNT = 5 };
enum { ID = 1, STRING_TEXT = 2, STACK_FRAME = 2, MAPPING_PATH = 7 };
enum { FRAME_FUNCTION = 2, FRAME_MAPPING, FRAME_ADDRESS };

#define KINDS 16
#define PART ((size_t)64 << 10)	/* bytes of a packet, about */
#define FIRST_SEQUENCE 2u	/* 1: all else */

struct frame {
	uint64_t function, path;	/* numbers */
	uint64_t address;
};

struct stack {
	uint32_t pid;
	size_t first, count;	/* of ids, the outermost first */
	uint64_t values[KINDS];
};

struct heaps {
	struct perfetto *p;
	struct samples *s;
	uint64_t ns;
	struct moca_strings functions, paths;
	struct frame *frames;
	size_t frame_count, frame_room;
	struct moca_index frame_index;
	uint32_t *ids;		/* frames of all stacks */
	size_t id_count, id_room;
	struct stack *stacks;
	size_t stack_count, stack_room;
	struct moca_index stack_index;
	struct moca_buf message, part, sample;
	uint64_t packets;
	int error;
};

static uint64_t number(struct heaps *h, struct moca_strings *in, const char *text)
{
	int64_t n = moca_strings_number(in, text);

	if (n < 0)
		h->error = -ENOMEM;
	return n < 0 ? 0 : (uint64_t)n;
}

/* --- what there is ------------------------------------------------------ */

static uint32_t frame(struct heaps *h, const char *function, const char *path,
		      uint64_t address)
{
	const struct frame f = {
		number(h, &h->functions,
		       *function ? function : STACKS_UNNAMED),
		/* It puts a '/' before each part of a path. */
		number(h, &h->paths, !path ? "" : path + (*path == '/')),
		address,
	};
	uint64_t hash = moca_mix(moca_mix(f.function << 32 ^ f.path) ^ address);
	struct frame *new;
	uint32_t i;

	moca_index_each(i, &h->frame_index, hash)
		if (!memcmp(&h->frames[i], &f, sizeof(f)))
			return i;
	new = moca_vec_add(h->frames, h->frame_count, h->frame_room);
	if (!new || moca_index_add(&h->frame_index, hash,
				   (uint32_t)(h->frame_count - 1))) {
		h->error = -ENOMEM;
		return 0;
	}
	*new = f;
	return (uint32_t)(h->frame_count - 1);
}

static void add_id(struct heaps *h, uint32_t id)
{
	uint32_t *at = moca_vec_add(h->ids, h->id_count, h->id_room);

	if (at)
		*at = id;
	else
		h->error = -ENOMEM;
}

/* The frames of the stack at hand go behind all others. */
static void add_frames(struct heaps *h)
{
	struct samples *s = h->s;
	char thread[128];

	snprintf(thread, sizeof(thread), "%.80s %u", s->thread, s->tid);
	add_id(h, frame(h, thread, NULL, 0));
	if (s->cut)
		add_id(h, frame(h, STACKS_CUT, NULL, 0));
	if (!s->count)
		add_id(h, frame(h, STACKS_NONE, NULL, 0));
	for (size_t i = s->count; i-- > 0;) {
		struct samples_place p = s->place(s, s->places[i]);

		for (uint32_t n = p.count; n-- > 0;)
			add_id(h, frame(h, p.lines[n].function, p.path,
					p.address));
	}
}

/* The stack at hand, which has an entry then. */
static int add_stack(struct heaps *h)
{
	size_t first = h->id_count, bytes;
	struct stack *x = NULL;
	uint64_t hash;
	uint32_t i;

	add_frames(h);
	if (h->error)
		return h->error;
	bytes = (h->id_count - first) * sizeof(*h->ids);
	hash = moca_hash_bytes(h->s->pid, h->ids + first, bytes);
	moca_index_each(i, &h->stack_index, hash) {
		x = &h->stacks[i];
		if (x->pid == h->s->pid && x->count == h->id_count - first &&
		    !memcmp(h->ids + x->first, h->ids + first, bytes))
			break;
	}
	if (i != MOCA_INDEX_NONE) {
		h->id_count = first;
	} else {
		x = moca_vec_add(h->stacks, h->stack_count, h->stack_room);
		if (!x || moca_index_add(&h->stack_index, hash,
					 (uint32_t)(h->stack_count - 1)))
			return -ENOMEM;
		*x = (struct stack){ .pid = h->s->pid, .first = first,
				     .count = h->id_count - first };
	}
	for (size_t k = 0; k < h->s->kind_count && k < KINDS; k++)
		x->values[k] += h->s->values[k];
	return 0;
}

/* --- a heap ------------------------------------------------------------- */

/* What was made is a packet, if it is one by now; last: the heap's last one. */
static void end_packet(struct heaps *h, size_t kind, int last)
{
	if (h->message.len < PART && !last)
		return;
	if (!last)
		perfetto_put_uint(&h->message, PROFILE_CONTINUED, 1);
	perfetto_put_uint(&h->message, PROFILE_INDEX, h->packets++);
	perfetto_message(h->p, FIRST_SEQUENCE + (unsigned int)kind, h->ns,
			 PACKET_PROFILE, &h->message);
}

static void end_part(struct heaps *h, size_t kind, unsigned int field)
{
	perfetto_put_buf(&h->message, field, &h->part);
	end_packet(h, kind, 0);
}

static void put_string(struct heaps *h, size_t kind, uint64_t id,
		       const char *text)
{
	perfetto_put_uint(&h->part, ID, id);
	perfetto_put_text(&h->part, STRING_TEXT, text);
	end_part(h, kind, PROFILE_STRING);
}

/* Numbers from 1 on: 0 is none. */
static void put_names(struct heaps *h, size_t kind)
{
	size_t n = h->functions.count;

	for (size_t i = 0; i < n; i++)
		put_string(h, kind, i + 1, h->functions.items[i]);
	for (size_t i = 0; i < h->paths.count; i++) {
		put_string(h, kind, n + i + 1, h->paths.items[i]);
		perfetto_put_uint(&h->part, ID, i + 1);
		if (*h->paths.items[i])
			perfetto_put_uint(&h->part, MAPPING_PATH, n + i + 1);
		end_part(h, kind, PROFILE_MAPPING);
	}
	for (size_t i = 0; i < h->frame_count; i++) {
		perfetto_put_uint(&h->part, ID, i + 1);
		perfetto_put_uint(&h->part, FRAME_FUNCTION,
				  h->frames[i].function + 1);
		perfetto_put_uint(&h->part, FRAME_MAPPING,
				  h->frames[i].path + 1);
		perfetto_put_uint(&h->part, FRAME_ADDRESS,
				  h->frames[i].address);
		end_part(h, kind, PROFILE_FRAME);
	}
}

static void put_stack(struct heaps *h, size_t kind, size_t i)
{
	const struct stack *x = &h->stacks[i];

	perfetto_put_uint(&h->part, ID, i + 1);
	for (size_t k = 0; k < x->count; k++)
		perfetto_put_uint(&h->part, STACK_FRAME,
				  h->ids[x->first + k] + 1ull);
	end_part(h, kind, PROFILE_CALLSTACK);
	perfetto_put_uint(&h->sample, SAMPLE_STACK, i + 1);
	perfetto_put_uint(&h->sample, SAMPLE_SIZE, x->values[kind]);
	perfetto_put_uint(&h->sample, SAMPLE_COUNT, x->values[kind]);
	perfetto_put_uint(&h->part, DUMP_PID, x->pid);
	perfetto_put_buf(&h->part, DUMP_SAMPLE, &h->sample);
	perfetto_put_uint(&h->part, DUMP_TIME, h->ns);
	perfetto_put_text(&h->part, DUMP_HEAP, h->s->kinds[kind]);
	end_part(h, kind, PROFILE_DUMP);
}

static void put_heap(struct heaps *h, size_t kind)
{
	h->packets = 0;
	put_names(h, kind);
	for (size_t i = 0; i < h->stack_count; i++)
		if (h->stacks[i].values[kind])
			put_stack(h, kind, i);
	end_packet(h, kind, 1);
}

int stacks_perfetto(struct perfetto *p, struct samples *s, uint64_t ns,
		    uint64_t *count)
{
	struct heaps h = { .p = p, .s = s, .ns = ns };
	int ret = 0, err = 0;

	while (!err && !p->o->error && (ret = s->next(s)) > 0)
		err = add_stack(&h);
	if (!err && ret < 0)
		err = ret;
	for (size_t k = 0; !err && k < s->kind_count && k < KINDS; k++)
		put_heap(&h, k);
	*count = h.stack_count;
	moca_strings_free(&h.functions);
	moca_strings_free(&h.paths);
	free(h.frames);
	moca_index_free(&h.frame_index);
	free(h.ids);
	free(h.stacks);
	moca_index_free(&h.stack_index);
	moca_buf_free(&h.message);
	moca_buf_free(&h.part);
	moca_buf_free(&h.sample);
	return err;
}
