// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The overview: from the plots' grids, divided on another CPU while these are
 * packed. doc/design/report.md lists the members of its blob.
 */
#include <errno.h>
#include <string.h>

#include "lib/text/json.h"
#include "report/html/report.h"

#define FEW 1000u		/* one of so many accesses is not told apart */
#define SLICES_LOG2_MIN 3u

static uint32_t process_of(const void *arg, const struct moca_grid_cell *c)
{
	const struct report *r = arg;

	return c->thread < r->thread_count ? r->threads[c->thread].task->pid :
					     0;
}

static void choose(struct report_overview *o, const struct report *r)
{
	const struct moca_object *x;
	size_t i;

	for (i = 0; i < r->plot_count && o->count < MOCA_SPACE_OBJECTS; i++) {
		x = r->plots[i].object;
		if (x->kind == MOCA_OBJECT_CODE ||
		    x->kind == MOCA_OBJECT_KERNEL ||
		    x->accesses * FEW < r->totals.accesses)
			continue;
		o->grids[o->count] = moca_grids_get(&r->heat, r->plots[i].key);
		if (o->grids[o->count])
			o->objects[o->count++] = x;
	}
}

/* Not more than intervals: within one, pages are seen once. */
static unsigned slices_log2(const struct report *r)
{
	uint64_t n = r->interval_count * r->intervals_joined;
	unsigned log2 = SLICES_LOG2_MIN;

	while (log2 < MOCA_SPACE_SLICES_LOG2 && n >> (log2 + 1))
		log2++;
	return log2;
}

static void *divide(void *arg)
{
	struct report_overview *o = arg;
	size_t leaves = MOCA_SPACE_LEAVES;
	int err;

	do {
		err = moca_space_count(&o->space, &o->in, leaves);
		if (err)
			break;
		err = moca_space_divide(&o->space);
		if (err)
			moca_space_free(&o->space);
		/* Then pages are told apart less; the page says how finely. */
		leaves /= 2;
	} while (err == -E2BIG && leaves >= o->count);
	o->error = err;
	return NULL;
}

int report_overview_start(struct report_overview *o, const struct report *r)
{
	int err;

	memset(o, 0, sizeof(*o));
	choose(o, r);
	if (!o->count)
		return 0;
	o->in = (struct moca_space_input){
		.objects = o->count, .grids = o->grids,
		.bins_log2 = REPORT_BINS_LOG2, .slices_log2 = slices_log2(r),
		.process = process_of, .arg = r,
	};
	err = pthread_create(&o->thread, NULL, divide, o);
	o->running = !err;
	return -err;
}

static void put_table(struct json *j, const char *key, const uint64_t *v,
		      size_t rows, size_t columns)
{
	size_t i, k;

	json_open(j, key, '[');
	for (i = 0; i < rows; i++) {
		json_open(j, NULL, '[');
		for (k = 0; k < columns; k++)
			json_uint(j, NULL, v[i * columns + k]);
		json_close(j, ']');
	}
	json_close(j, ']');
}

/* Flat, eight numbers each. */
static void put_nodes(struct json *j, const struct moca_space *x)
{
	const struct moca_space_node *n;

	json_open(j, "nodes", '[');
	for (n = x->node; n < x->node + x->nodes; n++) {
		json_int(j, NULL, n->object == MOCA_SPACE_NONE ?
					  -1 : (int64_t)n->object);
		json_uint(j, NULL, n->leaf_begin);
		json_uint(j, NULL, n->leaf_end);
		json_uint(j, NULL, n->pages);
		json_uint(j, NULL, n->first_page);
		json_uint(j, NULL, n->end_page);
		json_uint(j, NULL, n->first_process);
		json_uint(j, NULL, n->last_process);
	}
	json_close(j, ']');
}

static void put_levels(struct json *j, const struct moca_levels *v)
{
	const struct moca_quality *q;
	const struct moca_level *l;
	size_t i;

	json_double(j, "p", v->p);
	json_open(j, "qualities", '[');
	for (q = v->qualities; q < v->qualities + v->quality_count; q++) {
		json_double(j, NULL, q->p_begin);
		json_double(j, NULL, q->gain);
		json_double(j, NULL, q->loss);
		json_uint(j, NULL, q->areas);
	}
	json_close(j, ']');
	json_open(j, "levels", '[');
	for (l = v->levels; l < v->levels + v->level_count; l++) {
		json_open(j, NULL, '{');
		json_double(j, "p", l->p);
		json_double(j, "p_begin", l->quality.p_begin);
		json_double(j, "gain", l->quality.gain);
		json_double(j, "loss", l->quality.loss);
		json_open(j, "areas", '[');
		for (i = 0; i < l->count; i++) {
			json_uint(j, NULL, l->areas[i].node);
			json_uint(j, NULL, l->areas[i].begin);
			json_uint(j, NULL, l->areas[i].end);
		}
		json_close(j, ']');
		json_close(j, '}');
	}
	json_close(j, ']');
}

static int put(const struct report_overview *o, struct report *r)
{
	const struct moca_space *s = &o->space;
	struct report_json x;
	size_t i;

	if (report_json_begin(&x))
		return -ENOMEM;
	json_open(&x.j, NULL, '{');
	json_open(&x.j, "objects", '[');
	for (i = 0; i < o->count; i++)
		json_uint(&x.j, NULL, o->objects[i]->id);
	json_close(&x.j, ']');
	json_uint(&x.j, "leaves", s->leaves);
	json_uint(&x.j, "slices", s->slices);
	put_nodes(&x.j, s);
	put_table(&x.j, "reads", s->reads, s->leaves, s->slices);
	put_table(&x.j, "writes", s->writes, s->leaves, s->slices);
	put_table(&x.j, "unknown", s->other, s->leaves, s->slices);
	put_levels(&x.j, &s->levels);
	json_close(&x.j, '}');
	return report_json_end(r, &x, "overview", 0);
}

int report_overview_end(struct report_overview *o, struct report *r)
{
	int err;

	if (!o->running)
		return 0;
	pthread_join(o->thread, NULL);
	err = o->error;
	if (!err)
		err = put(o, r);
	moca_space_free(&o->space);
	return err;
}
