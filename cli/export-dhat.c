// SPDX-License-Identifier: GPL-2.0-or-later
/* DHAT's format: doc/formats/dhat.md says what becomes what. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/objects/objects.h"
#include "analysis/trace.h"
#include "cli/export.h"
#include "export/dhat.h"
#include "lib/base/err.h"
#include "lib/base/strings.h"
#include "lib/text/text.h"

/* A block comes or goes. */
struct moment {
	uint64_t ns;
	uint64_t size;
	uint32_t row;
	int begins;
};

struct level {
	uint64_t bytes, blocks;
};

struct heap {
	struct export *x;
	struct moca_objects *objects;
	const struct moca_object *rows;
	size_t row_count;
	struct dhat_point *points;	/* by row */
	uint8_t *singly;	/* by row: each block is told, with its life */
	struct level *levels;	/* by row, at a moment of the sweep */
	struct moment *moments;
	size_t moment_count;
	struct moca_strings strings;
	struct dhat_head head;
	uint64_t origin;
	size_t written;		/* rows, and of these: */
	size_t in_sum;		/* that have sums alone */
};

static int is_wanted(const struct heap *h, const struct moca_object *o)
{
	return (o->kind == MOCA_OBJECT_HEAP || o->kind == MOCA_OBJECT_SMALL) &&
	       o->instances &&
	       (!h->x->object || !fnmatch(h->x->object, o->name, 0));
}

/* Which rows have all of their blocks among the instances. */
static int find_singly(struct heap *h, const struct moca_instance *at, size_t n)
{
	uint64_t *counted = calloc(h->row_count + 1, sizeof(*counted));

	if (!counted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		counted[at[i].object]++;
	for (size_t i = 0; i < h->row_count; i++) {
		const struct moca_object *o = &h->rows[i];

		h->singly[i] = is_wanted(h, o) && o->kind == MOCA_OBJECT_HEAP &&
			       !o->sampled && counted[i] == o->instances;
	}
	free(counted);
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	/* What ends makes room first. */
	return x->begins - y->begins;
}

static int read_lives(struct heap *h)
{
	const struct moca_instance *at;
	size_t n;
	int err;

	at = moca_objects_instances(h->objects, &n);
	err = find_singly(h, at, n);
	if (err)
		return err;
	h->moments = malloc((2 * n + 1) * sizeof(*h->moments));
	if (!h->moments)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++, at++) {
		struct dhat_point *p = &h->points[at->object];
		uint64_t begin = at->begin_ns, end = moca_objects_end_of(h->objects, at);

		if (!h->singly[at->object])
			continue;
		/* What ends makes room first; a block must begin before that. */
		if (end && end <= begin)
			end = begin + 1;
		h->moments[h->moment_count++] = (struct moment){
			begin, at->size, at->object, 1 };
		if (end) {
			h->moments[h->moment_count++] = (struct moment){
				end, at->size, at->object, 0 };
		} else {
			p->end_bytes += at->size;
			p->end_blocks++;
			end = h->origin + h->head.end_ns;
		}
		p->life_ns += end > begin ? end - begin : 0;
	}
	qsort(h->moments, h->moment_count, sizeof(*h->moments), by_time);
	return 0;
}

/* The highest level of each row and of all, or the levels at the moment `until`. */
static size_t sweep(struct heap *h, size_t until)
{
	uint64_t all = 0, most = 0;
	size_t at = 0;

	memset(h->levels, 0, h->row_count * sizeof(*h->levels));
	for (size_t i = 0; i < until; i++) {
		const struct moment *m = &h->moments[i];
		struct dhat_point *p = &h->points[m->row];
		struct level *l = &h->levels[m->row];

		l->bytes += m->begins ? m->size : 0 - m->size;
		l->blocks += m->begins ? 1 : UINT64_MAX;
		all += m->begins ? m->size : 0 - m->size;
		if (l->bytes > p->most_bytes ||
		    (!p->most_blocks && l->blocks)) {
			p->most_bytes = l->bytes;
			p->most_blocks = l->blocks;
		}
		if (all > most) {
			most = all;
			at = i + 1;
		}
	}
	return at;
}

static void find_peak(struct heap *h)
{
	size_t at = sweep(h, h->moment_count);

	if (!at)
		return;
	h->head.peak_ns = h->moments[at - 1].ns - h->origin;
	sweep(h, at);
	for (size_t i = 0; i < h->row_count; i++) {
		h->points[i].peak_bytes = h->levels[i].bytes;
		h->points[i].peak_blocks = h->levels[i].blocks;
	}
}

/* "solve (/src/solve.c:12)", as DHAT has frames; NULL: no memory. */
static const char *place_of(struct heap *h, const struct moca_object *o)
{
	const struct moca_site *s = o->alloc;
	char text[1024];

	if (s && s->file && s->line)
		snprintf(text, sizeof(text), "%.400s (%.500s:%u)",
			 s->function ? s->function : "[unknown]", s->file,
			 s->line);
	else
		snprintf(text, sizeof(text), "%.1000s",
			 *o->site ? o->site : s && s->function ? s->function :
								"[unknown]");
	return moca_strings_intern(&h->strings, text);
}

/* A row whose blocks have no lives says so. */
static const char *name_of(struct heap *h, const struct moca_object *o, size_t i)
{
	char text[1024];

	snprintf(text, sizeof(text), "%.900s%s", o->name, h->singly[i] ? "" :
		 o->sampled ? " [estimated by samples: lives are not known]" :
			      " [told in sum: lives are not known]");
	return moca_strings_intern(&h->strings, text);
}

static int put_points(struct heap *h, struct dhat *d)
{
	int err = 0;

	for (size_t i = 0; i < h->row_count && !err; i++) {
		const struct moca_object *o = &h->rows[i];
		struct dhat_point *p = &h->points[i];

		if (!is_wanted(h, o))
			continue;
		p->bytes = o->bytes;
		p->blocks = o->instances;
		p->frames[0] = name_of(h, o, i);
		p->frames[1] = place_of(h, o);
		p->frames[2] = *o->program ? o->program : "[unknown]";
		p->frame_count = DHAT_FRAMES;
		if (!p->frames[0] || !p->frames[1])
			return -ENOMEM;
		err = dhat_point(d, p);
		h->written++;
		h->in_sum += !h->singly[i];
	}
	return err;
}

static int write_file(struct heap *h, uint64_t *written)
{
	struct dhat d;
	struct out o;
	int err = out_open(&o, h->x->fd), failed;

	if (err)
		return err;
	dhat_begin(&d, &o, &h->head);
	err = put_points(h, &d);
	failed = dhat_end(&d);
	err = err ? err : failed;
	failed = out_close(&o);
	*written = o.written;
	return err ? err : failed;
}

/*
 * The end of the recording, ns after its begin. A recording that was cut off has no end:
 * the last begin or end of an instance is taken, as it is where that comes later.
 */
static uint64_t find_end(const struct heap *h)
{
	uint64_t end = trace_meta_u64(h->x->t, META_END, 0), last;
	const struct moca_instance *at;
	size_t n;

	at = moca_objects_instances(h->objects, &n);
	for (size_t i = 0; i < n; i++, at++) {
		last = moca_objects_end_of(h->objects, at);
		last = last > at->begin_ns ? last : at->begin_ns;
		end = end > last ? end : last;
	}
	return end > h->origin ? end - h->origin : 0;
}

static int compute(struct heap *h)
{
	const struct moca_objects_options opt = {
		.size = sizeof(opt), .instances = 1,
	};
	int err = moca_objects_compute(&h->objects, h->x->t, &opt);

	if (err)
		return err;
	h->rows = moca_objects_rows(h->objects, &h->row_count);
	h->origin = trace_origin(h->x->t);
	h->head.end_ns = find_end(h);
	h->head.command = moca_trace_meta(h->x->t, META_COMMAND);
	if (!h->head.command)
		h->head.command = "";
	if (moca_trace_task_count(h->x->t))
		h->head.pid = moca_trace_task(h->x->t, 0)->pid;
	h->points = calloc(h->row_count + 1, sizeof(*h->points));
	h->singly = calloc(h->row_count + 1, 1);
	h->levels = calloc(h->row_count + 1, sizeof(*h->levels));
	if (!h->points || !h->singly || !h->levels)
		return -ENOMEM;
	err = read_lives(h);
	if (!err)
		find_peak(h);
	return err;
}

static int has_any(const struct heap *h)
{
	for (size_t i = 0; i < h->row_count; i++)
		if (h->rows[i].kind == MOCA_OBJECT_HEAP ||
		    h->rows[i].kind == MOCA_OBJECT_SMALL)
			return 1;
	moca_error("export: '%s' has no allocations, which '--to dhat' is made of: record a program that allocates, without --no-allocs",
		   h->x->trace);
	return 0;
}

int export_dhat(struct export *x)
{
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX];
	struct heap h = { .x = x };
	uint64_t written = 0;
	int err = compute(&h);

	x->read_failed = err != 0;
	if (!err && !has_any(&h)) {
		x->refused = 1;
		err = -EINVAL;
	}
	if (!err)
		err = write_file(&h, &written);
	if (!err && !x->quiet)
		moca_say("%s: %s data structure%s, of which %s told in sum, %s",
			 x->out, text_count(a, h.written), PLURAL(h.written),
			 text_count(b, h.in_sum), text_size(c, written));
	free(h.points);
	free(h.singly);
	free(h.levels);
	free(h.moments);
	moca_strings_free(&h.strings);
	moca_objects_free(h.objects);
	return err;
}
