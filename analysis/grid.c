// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/grid.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/table.h"
#include "lib/base/vec.h"

#define MIN_CAP 8u
#define BLOCK_BYTES sizeof(union moca_grid_block)
#define CHUNK ((size_t)2 << 20)	/* a huge page */

/* --- memory of cells ---------------------------------------------------- */

/* Blocks of cells for all grids, in one more huge page. 0 or -ENOMEM. */
static int add_chunk(struct moca_grids *s)
{
	size_t i;
	void *p;

	if (moca_vec_fit(s->chunks, s->chunk_cap, s->chunk_count + 1))
		return -ENOMEM;
	p = aligned_alloc(CHUNK, CHUNK);
	if (!p)
		return -ENOMEM;
	madvise(p, CHUNK, MADV_HUGEPAGE);
	s->chunks[s->chunk_count++] = p;
	for (i = 0; i < CHUNK / BLOCK_BYTES; i++) {
		union moca_grid_block *x = (void *)((char *)p + i * BLOCK_BYTES);

		x->next = s->free_blocks;
		s->free_blocks = x;
	}
	return 0;
}

/* Zeroed cells, MOCA_GRID_BLOCK of them or, of a small table, cap. NULL: no memory. */
static struct moca_grid_cell *block_new(struct moca_grids *s, size_t cap)
{
	union moca_grid_block *x;

	if (cap < MOCA_GRID_BLOCK)
		return calloc(cap, sizeof(struct moca_grid_cell));
	if (!s->free_blocks && add_chunk(s))
		return NULL;
	x = s->free_blocks;
	s->free_blocks = x->next;
	return memset(x, 0, BLOCK_BYTES);
}

static void cells_free(struct moca_grids *s, struct moca_grid *g)
{
	size_t i, n = g->cap / MOCA_GRID_BLOCK;
	union moca_grid_block *x;

	if (g->cap && !n)
		free(g->blocks[0]);
	for (i = 0; i < n && g->blocks[i]; i++) {
		x = (void *)g->blocks[i];
		x->next = s->free_blocks;
		s->free_blocks = x;
	}
	free(g->blocks);
}

/*
 * Room for g->cap cells. A grid grows many times, and others do meanwhile: tables in one
 * piece leave pieces of sizes behind that none asks for again, in malloc's arenas as
 * in huge pages, and took as much as all cells.
 */
static int cells_new(struct moca_grids *s, struct moca_grid *g)
{
	size_t n = (g->cap + MOCA_GRID_BLOCK - 1) / MOCA_GRID_BLOCK, i;

	g->blocks = calloc(n, sizeof(*g->blocks));
	if (!g->blocks)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		g->blocks[i] = block_new(s, g->cap);
		if (!g->blocks[i]) {
			cells_free(s, g);
			return -ENOMEM;
		}
	}
	return 0;
}

/* The next room after cap: by a third, where much would stay empty otherwise. */
static size_t more(size_t cap)
{
	size_t by = (cap / 3 + MOCA_GRID_BLOCK - 1) & ~(MOCA_GRID_BLOCK - 1);

	return !cap ? MIN_CAP : cap < MOCA_GRID_BLOCK ? 2 * cap : cap + by;
}

/* Has the room a quarter that is free, for that many cells? */
static int has_room(size_t cap, size_t count)
{
	return count * 4 <= cap * 3;
}

void moca_grids_init(struct moca_grids *g, unsigned bins_log2, size_t limit)
{
	memset(g, 0, sizeof(*g));
	g->bins_log2 = bins_log2;
	g->max_shift = bins_log2;
	g->min_bins_log2 = bins_log2 < 6 ? bins_log2 : 6;
	g->limit = limit;
}

void moca_grids_free(struct moca_grids *g)
{
	size_t i;

	for (i = 0; i < g->grid_count; i++)
		cells_free(g, &g->grids[i]);
	for (i = 0; i < g->chunk_count; i++)
		free(g->chunks[i]);
	free(g->chunks);
	free(g->grids);
	memset(g, 0, sizeof(*g));
}

static int is_empty(const struct moca_grid_cell *c)
{
	return !(c->reads | c->writes | c->other);
}

static uint64_t who_of(const struct moca_grid_cell *c)
{
	return (uint64_t)c->thread << 16 | (uint64_t)c->node << 8 | c->flags;
}

/* All bits count for the upper half, by which a cell has its place. */
static uint64_t hash_cell(const struct moca_grid_cell *c)
{
	uint64_t x = (c->group << 12 ^ c->bin) * 0x9e3779b97f4a7c15ull;

	x ^= x >> 32 ^ who_of(c) * 0xd6e8feb86659fd93ull;
	return x * 0x9e3779b97f4a7c15ull;
}

/* Where a cell's search begins: cap is any number below 2^32. */
static size_t home_of(uint64_t hash, size_t cap)
{
	return (size_t)((hash >> 32) * (uint64_t)cap >> 32);
}

static int same_cell(const struct moca_grid_cell *a,
		     const struct moca_grid_cell *b)
{
	return a->group == b->group && a->bin == b->bin &&
	       who_of(a) == who_of(b);
}

/* The cell that is like *c, or the empty one where it would be. */
static struct moca_grid_cell *find_cell(const struct moca_grid *g,
					const struct moca_grid_cell *c)
{
	size_t at = home_of(hash_cell(c), g->cap);
	struct moca_grid_cell *x;

	while (!is_empty(x = moca_grid_at(g, at)) && !same_cell(x, c))
		at = at + 1 < g->cap ? at + 1 : 0;
	return x;
}

static void add_count(uint32_t *to, uint32_t n)
{
	*to = *to > UINT32_MAX - n ? UINT32_MAX : *to + n;
}

static void add_counts(struct moca_grid_cell *to, const struct moca_grid_cell *c)
{
	add_count(&to->reads, c->reads);
	add_count(&to->writes, c->writes);
	add_count(&to->other, c->other);
	if (c->first < to->first)
		to->first = c->first;
}

/* There is room. Returns 1 when the cell is new. */
static int put(struct moca_grid *g, const struct moca_grid_cell *c)
{
	struct moca_grid_cell *x = find_cell(g, c);

	if (is_empty(x)) {
		*x = *c;
		g->count++;
		return 1;
	}
	add_counts(x, c);
	return 0;
}

/* The same at other shifts, which are not finer, with room for as many cells. */
static int rebuild(struct moca_grids *s, struct moca_grid *g,
		   unsigned page_shift, unsigned time_shift, size_t cap)
{
	unsigned by_page = page_shift - g->page_shift;
	unsigned by_time = time_shift - g->time_shift;
	struct moca_grid n = { .page_shift = page_shift,
			       .time_shift = time_shift, .cap = cap };
	struct moca_grid_cell c;
	size_t i;

	if (cells_new(s, &n))
		return -ENOMEM;
	for (i = 0; i < g->cap; i++) {
		if (is_empty(moca_grid_at(g, i)))
			continue;
		c = *moca_grid_at(g, i);
		c.group >>= by_page;
		c.bin >>= by_time;
		put(&n, &c);
	}
	cells_free(s, g);
	*g = n;
	return 0;
}

/* Not more room than the cells need. */
static int shrink(struct moca_grids *s, struct moca_grid *g)
{
	size_t cap = MIN_CAP;

	while (cap * 2 < g->count * 3)
		cap = more(cap);
	return cap < g->cap ? rebuild(s, g, g->page_shift, g->time_shift, cap) : 0;
}

/*
 * About how many distinct groups there would be if page numbers were shifted by
 * so much more: hashed into a map of bits, of which some stay 0 (linear
 * counting). Sorting them takes ten times as long.
 */
static size_t count_groups(const struct moca_grid *g, unsigned by,
			   uint64_t *map, unsigned map_log2)
{
	size_t i, bits = (size_t)1 << map_log2, ones = 0;
	uint64_t x;

	memset(map, 0, bits / 8);
	for (i = 0; i < g->cap; i++) {
		if (is_empty(moca_grid_at(g, i)))
			continue;
		x = (moca_grid_at(g, i)->group >> by) * 0x9e3779b97f4a7c15ull;
		x >>= 64 - map_log2;
		map[x / 64] |= (uint64_t)1 << x % 64;
	}
	for (i = 0; i < bits / 64; i++)
		ones += (size_t)__builtin_popcountll(map[i]);
	/* Of four bits for each cell at most one is set. */
	return (size_t)(-(double)bits * log1p(-(double)ones / bits) + 0.5);
}

/*
 * By how much to shift so that a quarter of the groups go, at least: objects
 * of one site may be far apart, where one step would join none.
 */
static unsigned page_step(const struct moca_grid *g, size_t count,
			  uint64_t *map, unsigned map_log2)
{
	unsigned by, room = MOCA_GRID_PAGE_BITS - g->page_shift;

	for (by = 1; by < room; by++)
		if (count_groups(g, by, map, map_log2) <= count - count / 4 ||
		    count == 1)
			break;
	return by;
}

int moca_grids_coarsen(struct moca_grids *s, uint32_t key)
{
	struct moca_grid *g = &s->grids[key];
	unsigned bins_log2 = s->max_shift - g->time_shift, map_log2 = 8, by;
	size_t count, before = g->count;
	uint64_t *map;
	int err;

	if (!g->count || (!bins_log2 && g->page_shift >= MOCA_GRID_PAGE_BITS))
		return 0;
	while ((size_t)1 << map_log2 < 4 * g->count)
		map_log2++;
	map = malloc(((size_t)1 << map_log2) / 8);
	if (!map)
		return -ENOMEM;
	count = count_groups(g, 0, map, map_log2);
	/* What is seen as a square stays one; but a few bins are always kept. */
	if (bins_log2 && (count < 2 || g->page_shift >= MOCA_GRID_PAGE_BITS ||
			  (bins_log2 > s->min_bins_log2 &&
			   (size_t)1 << bins_log2 >= count / 2))) {
		err = rebuild(s, g, g->page_shift, g->time_shift + 1, g->cap);
	} else {
		by = page_step(g, count, map, map_log2);
		err = rebuild(s, g, g->page_shift + by, g->time_shift, g->cap);
	}
	free(map);
	if (!err)
		err = shrink(s, g);
	s->cells -= before - g->count;
	return err ? err : 1;
}

/* Fewer cells: those of the largest grids, until a quarter is free. */
static int make_room(struct moca_grids *s)
{
	size_t largest = 0, i;
	int ret, any;

	while (s->cells > s->limit - s->limit / 4) {
		for (largest = 0, i = 0; i < s->grid_count; i++)
			if (s->grids[i].count > largest)
				largest = s->grids[i].count;
		for (any = 0, i = 0; i < s->grid_count; i++) {
			if (s->grids[i].count <= largest / 2)
				continue;
			ret = moca_grids_coarsen(s, (uint32_t)i);
			if (ret < 0)
				return ret;
			any |= ret;
		}
		/* As many objects, or threads, as cells. */
		if (!any) {
			s->limit *= 2;
			break;
		}
	}
	return 0;
}

static int grow_keys(struct moca_grids *s, uint32_t key)
{
	if (moca_vec_fit(s->grids, s->grid_cap, (size_t)key + 1))
		return -ENOMEM;
	memset(s->grids + s->grid_count, 0,
	       (key + 1 - s->grid_count) * sizeof(*s->grids));
	s->grid_count = (size_t)key + 1;
	return 0;
}

int moca_grids_add(struct moca_grids *s, uint32_t key,
		   const struct moca_grid_cell *c)
{
	struct moca_grid_cell x = *c;
	struct moca_grid *g;
	int err;

	if (is_empty(c))
		return 0;
	if (key >= s->grid_count && grow_keys(s, key))
		return -ENOMEM;
	if (s->cells >= s->limit) {
		err = make_room(s);
		if (err)
			return err;
	}
	g = &s->grids[key];
	if (!has_room(g->cap, g->count + 1)) {
		err = rebuild(s, g, g->page_shift, g->time_shift, more(g->cap));
		if (err)
			return err;
	}
	x.group >>= g->page_shift;
	x.bin >>= g->time_shift;
	s->cells += put(g, &x);
	return 0;
}

int moca_grids_join(const struct moca_grids *s, uint32_t key,
		    struct moca_grid_cell *to, const struct moca_grid_cell *c)
{
	const struct moca_grid *g = key < s->grid_count ? &s->grids[key] : NULL;

	if (is_empty(to) || is_empty(c) || who_of(to) != who_of(c) ||
	    (to->group ^ c->group) >> (g ? g->page_shift : 0) ||
	    (to->bin ^ c->bin) >> (g ? g->time_shift : 0))
		return 0;
	add_counts(to, c);
	return 1;
}

void moca_grids_prefetch(const struct moca_grids *s, uint32_t key,
			 const struct moca_grid_cell *c)
{
	struct moca_grid_cell x = *c;
	const struct moca_grid *g;
	size_t at;

	if (key >= s->grid_count || !s->grids[key].cap)
		return;
	g = &s->grids[key];
	x.group >>= g->page_shift;
	x.bin >>= g->time_shift;
	at = home_of(hash_cell(&x), g->cap);
	__builtin_prefetch(moca_grid_at(g, at), 1);
	/* A new cell in a table that is nearly full is seldom in the first line. */
	at = at + 2 < g->cap ? at + 2 : 0;
	__builtin_prefetch(moca_grid_at(g, at), 1);
}

int moca_grids_merge(struct moca_grids *s, uint32_t into, uint32_t from)
{
	struct moca_grid *a, *b;
	unsigned page, time;
	size_t i, before, cap;
	int err;

	if (from >= s->grid_count || !s->grids[from].count || into == from)
		return 0;
	if (into >= s->grid_count && grow_keys(s, into))
		return -ENOMEM;
	a = &s->grids[into];
	b = &s->grids[from];
	page = a->page_shift > b->page_shift ? a->page_shift : b->page_shift;
	time = a->time_shift > b->time_shift ? a->time_shift : b->time_shift;
	before = a->count + b->count;
	cap = a->cap > MIN_CAP ? a->cap : MIN_CAP;
	while (!has_room(cap, before + 1))
		cap = more(cap);
	err = rebuild(s, b, page, time, b->cap);
	if (!err)
		err = rebuild(s, a, page, time, cap);
	for (i = 0; !err && i < b->cap; i++)
		if (!is_empty(moca_grid_at(b, i)))
			put(a, moca_grid_at(b, i));
	s->cells -= before - a->count;
	if (!err) {
		cells_free(s, b);
		memset(b, 0, sizeof(*b));
	}
	return err;
}

const struct moca_grid *moca_grids_get(const struct moca_grids *s, uint32_t key)
{
	return key < s->grid_count && s->grids[key].count ? &s->grids[key] :
							    NULL;
}

void moca_grids_drop(struct moca_grids *s, uint32_t key)
{
	struct moca_grid *g;

	if (key >= s->grid_count)
		return;
	g = &s->grids[key];
	s->cells -= g->count;
	cells_free(s, g);
	memset(g, 0, sizeof(*g));
}

static int compare_cells(const void *a, const void *b)
{
	const struct moca_grid_cell *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->bin != y->bin)
		return x->bin < y->bin ? -1 : 1;
	return who_of(x) < who_of(y) ? -1 : who_of(x) > who_of(y);
}

struct moca_grid_cell *moca_grid_sorted(const struct moca_grid *g)
{
	struct moca_grid_cell *out = malloc((g->count + 1) * sizeof(*out));
	size_t i, n = 0;

	if (!out)
		return NULL;
	for (i = 0; i < g->cap; i++)
		if (!is_empty(moca_grid_at(g, i)))
			out[n++] = *moca_grid_at(g, i);
	qsort(out, n, sizeof(*out), compare_cells);
	return out;
}
