// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * speedscope's file format: profiles, each with stacks of numbers of frames, and the
 * frames, which all share. They come last, when all are known.
 */
#include <errno.h>
#include <stdlib.h>

#include "export/stacks.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

/* Frames of a place, in `numbers`; count 0: not looked at. */
struct span {
	uint32_t at, count;
};

struct scope {
	struct out *o;
	struct samples *s;
	struct samples_line *frames;
	size_t frame_count, frame_room;
	struct moca_index index;
	struct span *places;	/* by number */
	size_t place_room;
	uint32_t *numbers;
	size_t number_count, number_room;
	int error;
};

static int is_same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* The number of a frame. 0 with x->error: no memory. */
static uint32_t number_frame(struct scope *x, const struct samples_line *f)
{
	uint64_t hash = moca_hash_bytes(f->line, f->function,
					strlen(f->function));
	const struct samples_line *g;
	uint32_t i;

	if (f->file)
		hash = moca_hash_bytes(hash, f->file, strlen(f->file));
	hash = moca_mix(hash);
	moca_index_each(i, &x->index, hash) {
		g = &x->frames[i];
		if (g->line == f->line && is_same(g->file, f->file) &&
		    !strcmp(g->function, f->function))
			return i;
	}
	if (moca_vec_fit(x->frames, x->frame_room, x->frame_count + 1) ||
	    moca_index_add(&x->index, hash, (uint32_t)x->frame_count)) {
		x->error = -ENOMEM;
		return 0;
	}
	x->frames[x->frame_count] = *f;
	return (uint32_t)x->frame_count++;
}

/* The frames of a place, the innermost first. */
static struct span find_place(struct scope *x, uint32_t number)
{
	struct samples_place p;
	struct span *at;

	if (moca_vec_fit_zeroed(x->places, x->place_room, (size_t)number + 1)) {
		x->error = -ENOMEM;
		return (struct span){ 0 };
	}
	at = &x->places[number];
	if (at->count)
		return *at;
	p = x->s->place(x->s, number);
	if (moca_vec_fit(x->numbers, x->number_room,
			 x->number_count + p.count)) {
		x->error = -ENOMEM;
		return (struct span){ 0 };
	}
	*at = (struct span){ (uint32_t)x->number_count, p.count };
	for (uint32_t i = 0; i < p.count; i++)
		x->numbers[x->number_count++] = number_frame(x, &p.lines[i]);
	return *at;
}

static uint32_t number_name(struct scope *x, const char *name)
{
	return number_frame(x, &(struct samples_line){
				       *name ? name : STACKS_UNNAMED, NULL, 0 });
}

static void put_stack(struct scope *x)
{
	struct samples *s = x->s;
	struct out *o = x->o;

	out_byte(o, '[');
	out_u64(o, number_name(x, s->thread));
	if (s->cut || !s->count) {
		out_byte(o, ',');
		out_u64(o, number_name(x, s->count ? STACKS_CUT : STACKS_NONE));
	}
	for (size_t i = s->count; i-- > 0;) {
		struct span f = find_place(x, s->places[i]);

		while (f.count-- > 0) {
			out_byte(o, ',');
			out_u64(o, x->numbers[f.at + f.count]);
		}
	}
	out_byte(o, ']');
}

/* Stacks, or weights: what has none is left out of both. 0 or -errno. */
static int put_list(struct scope *x, size_t kind, int stacks, uint64_t *sum,
		    uint64_t *count)
{
	int ret;

	*sum = *count = 0;
	x->s->rewind(x->s);
	while ((ret = x->s->next(x->s)) > 0 && !x->error && !x->o->error) {
		if (!x->s->values[kind])
			continue;
		if (*count)
			out_byte(x->o, ',');
		if (stacks)
			put_stack(x);
		else
			out_u64(x->o, x->s->values[kind]);
		*sum += x->s->values[kind];
		++*count;
	}
	return ret < 0 ? ret : x->error ? x->error : x->o->error;
}

static int put_profile(struct scope *x, size_t kind, uint64_t *count)
{
	const char *name = x->s->kinds[kind];
	struct out *o = x->o;
	uint64_t sum, n;
	int err;

	out_string(o, kind ? ",\n{\"type\":\"sampled\",\"name\":" :
			     "{\"type\":\"sampled\",\"name\":");
	out_json(o, name, strlen(name));
	out_string(o, x->s->kind_bytes[kind] ? ",\"unit\":\"bytes\"" :
					       ",\"unit\":\"none\"");
	out_string(o, ",\"startValue\":0,\n\"samples\":[");
	err = put_list(x, kind, 1, &sum, &n);
	*count += n;
	out_string(o, "],\n\"weights\":[");
	if (!err)
		err = put_list(x, kind, 0, &sum, &n);
	out_string(o, "],\n\"endValue\":");
	out_u64(o, sum);
	out_byte(o, '}');
	return err;
}

static void put_frames(struct scope *x)
{
	for (size_t i = 0; i < x->frame_count; i++) {
		const struct samples_line *f = &x->frames[i];

		out_string(x->o, i ? ",\n{\"name\":" : "{\"name\":");
		out_json(x->o, f->function, strlen(f->function));
		if (f->file) {
			out_string(x->o, ",\"file\":");
			out_json(x->o, f->file, strlen(f->file));
		}
		if (f->line) {
			out_string(x->o, ",\"line\":");
			out_u64(x->o, f->line);
		}
		out_byte(x->o, '}');
	}
}

int stacks_speedscope(struct out *o, struct samples *s, uint64_t *count)
{
	struct scope x = { .o = o, .s = s };
	int err = 0;

	*count = 0;
	out_string(o, "{\"$schema\":\"" SCHEMA "\",\n"
		      "\"exporter\":\"moca " MOCA_VERSION "\",\n"
		      "\"activeProfileIndex\":0,\n\"profiles\":[\n");
	for (size_t i = 0; i < s->kind_count && !err; i++)
		err = put_profile(&x, i, count);
	out_string(o, "],\n\"shared\":{\"frames\":[\n");
	put_frames(&x);
	out_string(o, "]}}\n");
	free(x.frames);
	free(x.places);
	free(x.numbers);
	moca_index_free(&x.index);
	return err ? err : o->error;
}
