// SPDX-License-Identifier: GPL-2.0-or-later
/* Where what happens when: all that was counted is in it, at its place. */
#include <stdlib.h>
#include <string.h>

#include "analysis/space.h"
#include "tests/unit/trace-util.h"

#define BINS_LOG2 8
#define OBJECTS 5
#define FIRST 0x7f0000000ull
#define SEED 88172645463325252ull

static struct moca_grids grids;
static const struct moca_grid *list[OBJECTS];
static struct moca_space_input in;
static uint64_t total, seed = SEED;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint32_t process_of(const void *arg, const struct moca_grid_cell *c)
{
	return c->thread / 2;
}

static void put(uint32_t key, uint64_t page, uint32_t bin, uint16_t thread,
		uint32_t reads, uint32_t writes)
{
	struct moca_grid_cell c = { .group = FIRST + page, .bin = bin,
				    .thread = thread, .reads = reads,
				    .writes = writes };

	total += reads + writes;
	if (moca_grids_add(&grids, key, &c))
		abort();
}

static void begin(void)
{
	moca_grids_init(&grids, BINS_LOG2, 1 << 20);
	total = 0;
}

/* Grids 0 to n - 1, n objects. */
static int count(struct moca_space *x, size_t n, unsigned slices_log2,
		 size_t leaves)
{
	size_t i;

	for (i = 0; i < n; i++)
		list[i] = moca_grids_get(&grids, (uint32_t)i);
	in = (struct moca_space_input){
		.objects = n, .grids = list, .bins_log2 = BINS_LOG2,
		.slices_log2 = slices_log2, .process = process_of,
	};
	return moca_space_count(x, &in, leaves);
}

static uint64_t sum(const struct moca_space *x, size_t leaf_begin,
		    size_t leaf_end, size_t begin_, size_t end)
{
	uint64_t n = 0;
	size_t i, s;

	for (i = leaf_begin; i < leaf_end; i++)
		for (s = begin_; s < end; s++)
			n += x->reads[i * x->slices + s] +
			     x->writes[i * x->slices + s] +
			     x->other[i * x->slices + s];
	return n;
}

/* Nodes have the leaves and pages of their children, and of no others. */
static int sound_tree(const struct moca_space *x)
{
	uint64_t *pages = calloc(x->nodes, sizeof(*pages));
	uint32_t *leaves = calloc(x->nodes, sizeof(*leaves)), p;
	const struct moca_space_node *n;
	size_t i;

	CHECK(pages && leaves && x->leaves);
	for (i = 0; i < x->nodes; i++) {
		n = &x->node[i];
		if (i < x->leaves) {
			CHECK(n->leaf_begin == i && n->leaf_end == i + 1);
			CHECK(!i || n->object >= x->node[i - 1].object);
		} else {
			CHECK(pages[i] == n->pages);
			CHECK(leaves[i] == n->leaf_end - n->leaf_begin);
		}
		CHECK(n->pages);
		if (i + 1 == x->nodes) {
			CHECK(n->parent == MOCA_SPACE_NONE &&
			      n->leaf_end == x->leaves);
			continue;
		}
		CHECK(n->first_process < n->last_process ||
		      (n->first_process == n->last_process &&
		       n->first_page < n->end_page));
		p = n->parent;
		CHECK(p > i && p < x->nodes);
		CHECK(n->leaf_begin >= x->node[p].leaf_begin &&
		      n->leaf_end <= x->node[p].leaf_end);
		CHECK(p + 1 == x->nodes || x->node[p].object == n->object);
		pages[p] += n->pages;
		leaves[p] += n->leaf_end - n->leaf_begin;
	}
	free(pages);
	free(leaves);
	return 0;
}

/* Each cell is in one area; from level to level simpler and less exact. */
static int sound_levels(const struct moca_space *x)
{
	const struct moca_levels *v = &x->levels;
	const struct moca_level *l, *before = NULL;
	unsigned *seen = calloc(x->leaves * x->slices, sizeof(*seen));
	const struct moca_space_node *n;
	size_t i, k, s, chosen = 0;

	CHECK(seen && v->level_count && v->level_count <= MOCA_LEVELS &&
	      v->level_count <= v->quality_count);
	CHECK(!v->levels[0].quality.p_begin &&
	      v->levels[v->level_count - 1].quality.p_begin ==
		      v->qualities[v->quality_count - 1].p_begin);
	for (l = v->levels; l < v->levels + v->level_count; before = l++) {
		memset(seen, 0, x->leaves * x->slices * sizeof(*seen));
		for (i = 0; i < l->count; i++) {
			n = &x->node[l->areas[i].node];
			for (k = n->leaf_begin; k < n->leaf_end; k++)
				for (s = l->areas[i].begin;
				     s < l->areas[i].end; s++)
					seen[k * x->slices + s]++;
		}
		for (i = 0; i < x->leaves * x->slices; i++)
			CHECK(seen[i] == 1);
		CHECK(l->count == l->quality.areas);
		CHECK(l->p >= l->quality.p_begin && l->p <= 1);
		chosen += l->quality.p_begin <= v->p &&
			  (l + 1 == v->levels + v->level_count ||
			   l[1].quality.p_begin > v->p);
		CHECK(!before ||
		      (l->quality.p_begin >= before->p &&
		       l->quality.gain > before->quality.gain - 1e-9 &&
		       l->quality.loss > before->quality.loss - 1e-9));
	}
	CHECK(chosen == 1);
	free(seen);
	return 0;
}

/* One page; few; many, in two processes, with gaps; more than leaves. */
static int places(void)
{
	static const uint32_t pages[OBJECTS] = { 1, 5, 40, 900, 3000 };
	uint64_t of[OBJECTS] = { 0 };
	struct moca_space x;
	uint32_t k, i;

	begin();
	for (k = 0; k < OBJECTS; k++)
		for (i = 0; i < pages[k]; i++) {
			put(k, i % 7 + i / 7 * 100, (uint32_t)(next() % 256),
			    i % 4, 1 + k, i % 3);
			of[k] += 1 + k + i % 3;
		}
	CHECK(!count(&x, OBJECTS, 5, 64));
	if (sound_tree(&x))
		return 1;
	CHECK(x.leaves <= 64 && x.leaves >= 48 && x.slices == 32);
	CHECK(x.node[x.nodes - 1].pages == 1 + 5 + 40 + 900 + 3000);
	CHECK(sum(&x, 0, x.leaves, 0, x.slices) == total);
	/* Objects and leaves come in the order given. */
	for (i = 0; i < x.leaves; i++)
		of[x.node[i].object] -= sum(&x, i, i + 1, 0, x.slices);
	for (k = 0; k < OBJECTS; k++)
		CHECK(!of[k]);
	CHECK(x.node[0].object == 0 && x.node[0].pages == 1 &&
	      x.node[0].parent == x.nodes - 1);
	for (i = 1; i < 6; i++)
		CHECK(x.node[i].object == 1 && x.node[i].pages == 1);
	moca_space_free(&x);
	/* A leaf each is the least. */
	CHECK(!count(&x, OBJECTS, 5, 2));
	CHECK(x.leaves == OBJECTS && x.nodes == OBJECTS + 1);
	if (sound_tree(&x))
		return 1;
	CHECK(sum(&x, 0, x.leaves, 0, x.slices) == total);
	moca_space_free(&x);
	moca_grids_free(&grids);
	return 0;
}

/* Each cell where its page and its time are, also of coarser grids. */
static int counts(void)
{
	const struct moca_space_node *n = NULL;
	struct moca_space x;
	uint32_t i, s;

	begin();
	for (i = 0; i < 300; i++)
		for (s = 0; s < 8; s++)
			put(0, i, s * 32 + i % 32, 0, i + 1, s);
	CHECK(!count(&x, 1, 3, 300));
	CHECK(x.leaves == 150 && x.slices == 8);
	for (i = 0; i < 300; i++) {
		n = &x.node[i / 2];
		CHECK(n->first_page == FIRST + i / 2 * 2 && n->pages == 2);
		for (s = 0; s < 8; s++) {
			CHECK(x.reads[i / 2 * 8 + s] == i / 2 * 4 + 3);
			CHECK(x.writes[i / 2 * 8 + s] == 2 * s);
		}
	}
	CHECK(x.node[n->parent].pages == 20);	/* 16 parts of 10 leaves */
	moca_space_free(&x);
	/* Down to 4 bins of time, and pages in pairs or more. */
	for (i = 0; i < 40 && list[0]->time_shift < BINS_LOG2 - 2; i++)
		CHECK(moca_grids_coarsen(&grids, 0) == 1);
	CHECK(!count(&x, 1, 3, 300));
	CHECK(x.slices == 1u << (BINS_LOG2 - list[0]->time_shift));
	CHECK(x.slices <= 4);
	CHECK(sum(&x, 0, x.leaves, 0, x.slices) == total);
	if (sound_tree(&x))
		return 1;
	moca_space_free(&x);
	moca_grids_free(&grids);
	return 0;
}

/* Half of an object is written in the first half of the time: that is shown. */
static int divided(void)
{
	const struct moca_area *a = NULL;
	const struct moca_level *l;
	struct moca_space x;
	uint32_t i, s;
	size_t k;
	int found = 0;

	begin();
	for (i = 0; i < 64; i++)
		for (s = 0; s < 16; s++) {
			put(0, i, s * 16, 0, i < 32 && s < 8 ? 0 : 3,
			    i < 32 && s < 8 ? 9 : 0);
			put(1, i, s * 16, 0, 1, 0);
		}
	CHECK(!count(&x, 2, 4, 128) && !moca_space_divide(&x));
	if (sound_tree(&x) || sound_levels(&x))
		return 1;
	/* What nothing is lost by: no area has pages of both halves. */
	l = &x.levels.levels[0];
	CHECK(l->quality.loss < 1e-9 && l->count <= 20);
	for (k = 0; k < l->count; k++) {
		a = &l->areas[k];
		found += x.node[a->node].leaf_end <= 32 && a->end == 8 &&
			 !a->begin;
		CHECK(x.node[a->node].leaf_begin >= 32 ||
		      x.node[a->node].leaf_end <= 32 || a->begin >= 8);
	}
	CHECK(found);
	moca_space_free(&x);
	moca_grids_free(&grids);
	return 0;
}

/* Noise has thousands of partitions: the levels are few, and all sound. */
static int many(void)
{
	struct moca_space x;
	uint32_t i, k, s;

	begin();
	for (k = 0; k < OBJECTS; k++)
		for (i = 0; i < 40; i++)
			for (s = 0; s < 16; s++)
				put(k, i, s * 16, 0, next() % 20,
				    next() % 3);
	CHECK(!count(&x, OBJECTS, 4, 200) && !moca_space_divide(&x));
	CHECK(x.levels.quality_count > 500);
	CHECK(x.levels.level_count > MOCA_LEVELS * 3 / 4);
	if (sound_levels(&x))
		return 1;
	moca_space_free(&x);
	moca_grids_free(&grids);
	return 0;
}

int main(void)
{
	run("space: places", places);
	run("space: counts", counts);
	run("space: divided", divided);
	run("space: many partitions", many);
	return failures != 0;
}
