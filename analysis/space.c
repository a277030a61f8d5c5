// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/table.h"
#include "lib/base/vec.h"

#define LEAVES_OF_ONE 256u	/* of an object, at most */

/* A group of pages that was used. */
struct place {
	uint64_t group;
	uint32_t process;
};

/* One object while it is divided. */
struct object {
	struct place *places;	/* by process and group, distinct */
	size_t count, room;
	struct moca_index index;	/* of the places */
	size_t each;		/* of these in a leaf */
	uint32_t first_leaf, leaves;
};

struct builder {
	const struct moca_space_input *in;
	struct moca_space *out;
	struct object objects[MOCA_SPACE_OBJECTS];
};

/* --- which places there are ---------------------------------------------- */

static int is_empty(const struct moca_grid_cell *c)
{
	return !(c->reads | c->writes | c->other);
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

static uint64_t hash_place(const struct place *p)
{
	return moca_mix(p->group ^ moca_mix(p->process));
}

static struct place place_of(const struct moca_space_input *in,
			     const struct moca_grid_cell *c)
{
	return (struct place){ c->group, in->process(in->arg, c) };
}

/* The number of a place, or MOCA_INDEX_NONE. */
static uint32_t find(const struct object *o, const struct place *p)
{
	uint32_t i;

	moca_index_each(i, &o->index, hash_place(p))
		if (!compare_places(&o->places[i], p))
			break;
	return i;
}

static int add_place(struct object *o, const struct place *p)
{
	if (find(o, p) != MOCA_INDEX_NONE)
		return 0;
	if (moca_vec_fit(o->places, o->room, o->count + 1))
		return -ENOMEM;
	o->places[o->count] = *p;
	return moca_index_add(&o->index, hash_place(p), (uint32_t)o->count++);
}

static int find_places(const struct moca_space_input *in,
		       const struct moca_grid *g, struct object *o)
{
	struct place p;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < g->cap; i++)
		if (!is_empty(moca_grid_at(g, i))) {
			p = place_of(in, moca_grid_at(g, i));
			err = add_place(o, &p);
		}
	if (err)
		return err;
	qsort(o->places, o->count, sizeof(*o->places), compare_places);
	moca_index_clear(&o->index);
	for (i = 0; i < o->count && !err; i++)
		err = moca_index_add(&o->index, hash_place(&o->places[i]),
				     (uint32_t)i);
	return err;
}

/* --- leaves, parts, objects ---------------------------------------------- */

/* As many for each, but what one does not need is the others'. */
static void deal_leaves(struct builder *b, size_t left)
{
	size_t n = b->in->objects, share, i, k, min;
	int done[MOCA_SPACE_OBJECTS] = { 0 };
	struct object *o;

	for (i = 0; i < n; i++) {
		min = n;
		for (k = 0; k < n; k++)
			if (!done[k] && (min == n || b->objects[k].count <
							     b->objects[min].count))
				min = k;
		done[min] = 1;
		o = &b->objects[min];
		share = left / (n - i);
		if (share > LEAVES_OF_ONE)
			share = LEAVES_OF_ONE;
		if (!share)
			share = 1;
		o->each = (o->count + share - 1) / share;
		o->leaves = (uint32_t)((o->count + o->each - 1) / o->each);
		left -= o->leaves < left ? o->leaves : left;
	}
}

static uint32_t parts_of(const struct object *o, uint32_t *each)
{
	*each = (o->leaves + MOCA_SPACE_PARTS - 1) / MOCA_SPACE_PARTS;
	return *each > 1 ? (o->leaves + *each - 1) / *each : 0;
}

/* A node of the leaves [begin, end) of an object. */
static uint32_t add_node(struct builder *b, uint32_t object, uint32_t begin,
			 uint32_t end)
{
	struct moca_space *x = b->out;
	const struct object *o = &b->objects[object];
	size_t first = (begin - o->first_leaf) * o->each;
	size_t last = (end - o->first_leaf) * o->each;
	unsigned shift = b->in->grids[object]->page_shift;

	if (last > o->count)
		last = o->count;
	x->node[x->nodes] = (struct moca_space_node){
		.parent = MOCA_SPACE_NONE, .object = object,
		.leaf_begin = begin, .leaf_end = end,
		.first_process = o->places[first].process,
		.last_process = o->places[last - 1].process,
		.first_page = o->places[first].group << shift,
		.end_page = (o->places[last - 1].group + 1) << shift,
		.pages = (uint64_t)(last - first) << shift,
	};
	return (uint32_t)x->nodes++;
}

static void set_parent(struct moca_space *x, uint32_t begin, uint32_t end,
		       uint32_t parent)
{
	for (; begin < end; begin++)
		x->node[begin].parent = parent;
}

static int add_nodes(struct builder *b)
{
	struct moca_space *x = b->out;
	uint32_t first_part[MOCA_SPACE_OBJECTS], parts, each, i, k, end, n;
	size_t most = 0;
	struct object *o;

	for (i = 0; i < b->in->objects; i++) {
		o = &b->objects[i];
		o->first_leaf = (uint32_t)x->leaves;
		x->leaves += o->leaves;
		most += o->leaves + MOCA_SPACE_PARTS + 1;
	}
	x->node = calloc(most + 1, sizeof(*x->node));
	if (!x->node)
		return -ENOMEM;
	for (i = 0; i < b->in->objects; i++)
		for (k = 0; k < b->objects[i].leaves; k++)
			add_node(b, i, b->objects[i].first_leaf + k,
				 b->objects[i].first_leaf + k + 1);
	for (i = 0; i < b->in->objects; i++) {
		o = &b->objects[i];
		first_part[i] = (uint32_t)x->nodes;
		parts = parts_of(o, &each);
		for (k = 0; k < parts; k++) {
			end = (k + 1) * each < o->leaves ? (k + 1) * each :
							   o->leaves;
			n = add_node(b, i, o->first_leaf + k * each,
				     o->first_leaf + end);
			set_parent(x, o->first_leaf + k * each,
				   o->first_leaf + end, n);
		}
	}
	for (i = 0; i < b->in->objects; i++) {
		o = &b->objects[i];
		if (o->leaves == 1)
			continue;
		parts = parts_of(o, &each);
		n = add_node(b, i, o->first_leaf, o->first_leaf + o->leaves);
		if (parts)
			set_parent(x, first_part[i], first_part[i] + parts, n);
		else
			set_parent(x, o->first_leaf, o->first_leaf + o->leaves,
				   n);
	}
	/* What has no parent yet is an object: below the root. */
	n = (uint32_t)x->nodes++;
	x->node[n] = (struct moca_space_node){
		.parent = MOCA_SPACE_NONE, .object = MOCA_SPACE_NONE,
		.leaf_end = (uint32_t)x->leaves,
	};
	for (i = 0; i < n; i++)
		if (x->node[i].parent == MOCA_SPACE_NONE) {
			x->node[i].parent = n;
			x->node[n].pages += x->node[i].pages;
		}
	return 0;
}

/* --- counts --------------------------------------------------------------- */

/* One object's cells; time at bins of 1 << bins_log2 in all. */
static void count_cells(struct builder *b, size_t object)
{
	const struct moca_grid *g = b->in->grids[object];
	const struct object *o = &b->objects[object];
	struct moca_space *x = b->out;
	unsigned bins_log2 = b->in->bins_log2 - g->time_shift;
	const struct moca_grid_cell *c;
	struct place p;
	size_t at, i;

	for (i = 0; i < g->cap; i++) {
		c = moca_grid_at(g, i);
		if (is_empty(c))
			continue;
		p = place_of(b->in, c);
		at = o->first_leaf + find(o, &p) / o->each;
		/* Both are powers of 2, and there are no fewer bins. */
		at = at * x->slices +
		     ((uint64_t)c->bin * x->slices >> bins_log2);
		x->reads[at] += c->reads;
		x->writes[at] += c->writes;
		x->other[at] += c->other;
	}
}

static int count_all(struct builder *b)
{
	struct moca_space *x = b->out;
	unsigned log2 = b->in->slices_log2, own;
	size_t i, cells;

	for (i = 0; i < b->in->objects; i++) {
		own = b->in->bins_log2 - b->in->grids[i]->time_shift;
		if (own < log2)
			log2 = own;
	}
	x->slices = (size_t)1 << log2;
	cells = x->leaves * x->slices;
	x->reads = calloc(cells, sizeof(*x->reads));
	x->writes = calloc(cells, sizeof(*x->writes));
	x->other = calloc(cells, sizeof(*x->other));
	if (!x->reads || !x->writes || !x->other)
		return -ENOMEM;
	for (i = 0; i < b->in->objects; i++)
		count_cells(b, i);
	return 0;
}

int moca_space_count(struct moca_space *out, const struct moca_space_input *in,
		     size_t leaves)
{
	struct builder b = { .in = in, .out = out };
	size_t i;
	int err = 0;

	memset(out, 0, sizeof(*out));
	for (i = 0; !err && i < in->objects; i++)
		err = find_places(in, in->grids[i], &b.objects[i]);
	if (!err) {
		deal_leaves(&b, leaves);
		err = add_nodes(&b);
	}
	if (!err)
		err = count_all(&b);
	for (i = 0; i < in->objects; i++) {
		free(b.objects[i].places);
		moca_index_free(&b.objects[i].index);
	}
	if (err)
		moca_space_free(out);
	return err;
}

int moca_space_divide(struct moca_space *x)
{
	struct moca_aggregate_input table = {
		.slices = x->slices, .leaves = x->leaves, .states = 3,
		.nodes = x->nodes,
	};
	size_t cells = x->leaves * x->slices, i;
	double *values = malloc(cells * 3 * sizeof(*values));
	uint32_t *parent = malloc(x->nodes * sizeof(*parent));
	int err = -ENOMEM;

	if (!values || !parent)
		goto out;
	for (i = 0; i < cells; i++) {
		values[3 * i] = (double)x->reads[i];
		values[3 * i + 1] = (double)x->writes[i];
		values[3 * i + 2] = (double)x->other[i];
	}
	for (i = 0; i < x->nodes; i++)
		parent[i] = x->node[i].parent;
	table.values = values;
	table.parent = parent;
	err = moca_levels_compute(&x->levels, &table, -1);
out:
	free(values);
	free(parent);
	return err;
}

void moca_space_free(struct moca_space *x)
{
	free(x->node);
	free(x->reads);
	free(x->writes);
	free(x->other);
	moca_levels_free(&x->levels);
	memset(x, 0, sizeof(*x));
}
