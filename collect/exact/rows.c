// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a slot's log and counters to rows. The log tells which granules were
 * touched, when first, and each 2^32 accesses; the counters hold the rest. The
 * program may run on meanwhile, and may write anything at all there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/exact/internal.h"
#include "lib/format/chunk.h"

#define LOG_PART 8192u		/* entries read at once */
#define RUN 8192u		/* counters read at once, in pairs */
#define GAP 512u		/* cells between two runs, at least: a page */
#define WRAP (1ull << 32)
#define GRANULE_BITS 41

/* A granule that was touched. */
struct cell {
	uint64_t granule;
	uint64_t first;		/* clock & ~1, bit 0: a store; 0 = was told */
	uint64_t loads, stores;	/* told so far */
	uint32_t load_wraps, store_wraps;
};

/* A 2^32nd access to a granule. */
struct wrap {
	uint64_t granule;
	int store;
};

struct tally {
	struct cell *cells;	/* by granule, but for the new ones */
	size_t count, room;
	size_t sorted;		/* of them, from the begin */
	struct wrap *wraps;	/* of this call */
	size_t wrap_count, wrap_room;
	uint64_t done;		/* entries of the log that were read */
	uint64_t clock;		/* of the last TIME */
	uint64_t begin_ns, end_ns;	/* of the stretch */
	uint32_t pairs[2 * RUN];
	uint8_t bits[RUN / 4 + 2];
	struct moca_count rows[MOCA_CHUNK_RECORDS_MAX];
	size_t row_count;
};

struct tally *exact_tally_new(void)
{
	return calloc(1, sizeof(struct tally));
}

void exact_tally_free(struct tally *t)
{
	if (!t)
		return;
	free(t->cells);
	free(t->wraps);
	free(t);
}

static int add_cell(struct tally *t, uint64_t granule, uint64_t first)
{
	struct cell *p;
	size_t room;

	if (t->count == t->room) {
		room = t->room ? t->room * 2 : 256;
		p = realloc(t->cells, room * sizeof(*p));
		if (!p)
			return -ENOMEM;
		t->cells = p;
		t->room = room;
	}
	t->cells[t->count++] = (struct cell){ .granule = granule,
					      .first = first };
	return 0;
}

static int add_wrap(struct tally *t, uint64_t granule, int store)
{
	struct wrap *p;
	size_t room;

	if (t->wrap_count == t->wrap_room) {
		room = t->wrap_room ? t->wrap_room * 2 : 64;
		p = realloc(t->wraps, room * sizeof(*p));
		if (!p)
			return -ENOMEM;
		t->wraps = p;
		t->wrap_room = room;
	}
	t->wraps[t->wrap_count++] = (struct wrap){ granule, store };
	return 0;
}

static int take_entry(struct tally *t, uint64_t e)
{
	uint64_t ticks = e >> MOCA_EXACT_LOG_TIME_SHIFT &
			 ((1ull << MOCA_EXACT_LOG_TIME_BITS) - 1);
	uint64_t granule = e >> MOCA_EXACT_LOG_GRANULE_SHIFT;
	int store = !!(e & MOCA_EXACT_LOG_STORE);
	uint64_t first;

	switch (e & 3) {
	case MOCA_EXACT_LOG_TIME:
		t->clock = e & ~3ull;
		return 0;
	case MOCA_EXACT_LOG_FIRST:
		first = (t->clock + (ticks << MOCA_EXACT_LOG_UNIT)) & ~1ull;
		return add_cell(t, granule, (first ? first : 2) | store);
	case MOCA_EXACT_LOG_WRAP:
		return add_wrap(t, granule, store);
	}
	return 0;	/* of no kind: nonsense, or of a later version */
}

static int read_log(struct tally *t, const struct exact_arena *a,
		    unsigned int n, uint64_t count)
{
	uint64_t part[LOG_PART];
	int err = 0;

	if (count > MOCA_EXACT_LOG_MAX)
		count = MOCA_EXACT_LOG_MAX;
	while (t->done < count && !err) {
		size_t k = count - t->done < LOG_PART ? count - t->done :
							LOG_PART;

		err = exact_arena_read(a, n, MOCA_EXACT_LOG + t->done * 8, part,
				       k * 8);
		for (size_t i = 0; i < k && !err; i++)
			err = take_entry(t, part[i]);
		t->done += k;
	}
	return err;
}

/* By granule, stable; x is of n cells too. 11 bits at a time. */
static void sort_cells(struct cell *c, struct cell *x, size_t n)
{
	static const int digit = 11;

	for (int shift = 0; shift < GRANULE_BITS; shift += digit) {
		size_t at[1 << 11] = { 0 }, sum = 0, k;
		struct cell *swap;

		for (size_t i = 0; i < n; i++)
			at[c[i].granule >> shift & 2047]++;
		for (size_t i = 0; i < 1 << 11; i++) {
			k = at[i];
			at[i] = sum;
			sum += k;
		}
		for (size_t i = 0; i < n; i++)
			x[at[c[i].granule >> shift & 2047]++] = c[i];
		swap = c;
		c = x;
		x = swap;
	}
	/* Four passes: it is where it was. */
	_Static_assert((GRANULE_BITS + 10) / 11 == 4, "passes");
}

static int by_granule(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;

	return x->granule < y->granule ? -1 : x->granule > y->granule;
}

/* Bring the new cells in among the others. One that is there already stays. */
static int merge_new(struct tally *t)
{
	size_t n = t->count - t->sorted, i = 0, j = 0, k = 0;
	struct cell *fresh = t->cells + t->sorted, *x, *all;

	if (!n)
		return 0;
	if (n < 512) {
		qsort(fresh, n, sizeof(*fresh), by_granule);
	} else {
		x = malloc(n * sizeof(*x));
		if (!x)
			return -ENOMEM;
		sort_cells(fresh, x, n);
		free(x);
	}
	all = malloc(t->count * sizeof(*all));
	if (!all)
		return -ENOMEM;
	while (i < t->sorted || j < n) {
		struct cell *c = j == n || (i < t->sorted &&
					    t->cells[i].granule <=
						    fresh[j].granule) ?
					 &t->cells[i++] : &fresh[j++];

		if (!k || all[k - 1].granule != c->granule)
			all[k++] = *c;
	}
	free(t->cells);
	t->cells = all;
	t->room = t->count;
	t->count = t->sorted = k;
	return 0;
}

/* The cell whose counters an address uses, if its granule is not the one that
 * was there first: they share them. */
static struct cell *find_folded(struct tally *t, uint64_t granule)
{
	for (size_t i = 0; i < t->count; i++)
		if (!((t->cells[i].granule ^ granule) & (MOCA_EXACT_CELLS - 1)))
			return &t->cells[i];
	return NULL;
}

static void apply_wraps(struct tally *t)
{
	for (size_t i = 0; i < t->wrap_count; i++) {
		struct cell key = { .granule = t->wraps[i].granule };
		struct cell *c = bsearch(&key, t->cells, t->count, sizeof(key),
					 by_granule);

		if (!c)
			c = find_folded(t, key.granule);
		if (c && t->wraps[i].store)
			c->store_wraps++;
		else if (c)
			c->load_wraps++;
	}
	t->wrap_count = 0;
}

/*
 * How often, by now; exact-arena.h has the formula. A counter that wrapped just
 * now may not be in the part of the log that was read before.
 */
static uint64_t total(uint32_t counter, uint32_t wraps, int touched,
		      uint64_t told)
{
	uint64_t sum = wraps * WRAP;

	if (counter)
		sum += WRAP - counter;
	else if (touched)
		sum += WRAP;
	return sum < told ? sum + WRAP : sum;
}

static int flush(struct tally *t, exact_rows_put put, void *arg, int more)
{
	int err = put(arg, t->rows, t->row_count, more);

	t->row_count = 0;
	return err;
}

static void add_row(struct tally *t, unsigned int shift, struct cell *c,
		    uint64_t loads, uint64_t stores,
		    const struct tracer_clock *clock)
{
	struct moca_count *r = &t->rows[t->row_count];

	*r = (struct moca_count){ .addr = c->granule << shift,
				  .loads = loads - c->loads,
				  .stores = stores - c->stores };
	if (!(r->loads | r->stores))
		return;
	if (c->first && (c->first & 1 ? r->stores : r->loads)) {
		r->first_ns = tracer_clock_ns(clock, c->first & ~1ull);
		/* Nonsense, or just before the last stretch was read. */
		if (r->first_ns < t->begin_ns)
			r->first_ns = t->begin_ns;
		if (r->first_ns > t->end_ns)
			r->first_ns = t->end_ns;
		r->first_store = c->first & 1;
	}
	if (!r->first_ns)
		r->first_store = 0;
	c->first = 0;
	c->loads = loads;
	c->stores = stores;
	t->row_count++;
}

static int touched(const struct tally *t, uint64_t base, uint64_t cell,
		   int store)
{
	uint64_t bit = cell * 2 + store - base / 4 * 8;

	return t->bits[bit / 8] >> bit % 8 & 1;
}

/* The cells [i, j) of the table, whose counters are close together. */
static int take_run(struct tally *t, const struct exact_arena *a, unsigned int n,
		    size_t i, size_t j, const struct tracer_clock *clock,
		    exact_rows_put put, void *arg)
{
	const uint64_t mask = MOCA_EXACT_CELLS - 1;
	uint64_t base = t->cells[i].granule & mask;
	size_t len = (t->cells[j - 1].granule & mask) - base + 1;
	int err;

	err = exact_arena_read(a, n, MOCA_EXACT_COUNTS + base * 8, t->pairs,
			       len * 8);
	if (!err)
		err = exact_arena_read(a, n, MOCA_EXACT_TOUCHED + base / 4,
				       t->bits, (base + len - 1) / 4 - base / 4 + 1);
	for (; i < j && !err; i++) {
		struct cell *c = &t->cells[i];
		uint64_t at = (c->granule & mask) - base;

		add_row(t, moca_exact.shift, c,
			total(t->pairs[2 * at], c->load_wraps,
			      touched(t, base, base + at, 0), c->loads),
			total(t->pairs[2 * at + 1], c->store_wraps,
			      touched(t, base, base + at, 1), c->stores),
			clock);
		if (t->row_count == MOCA_CHUNK_RECORDS_MAX)
			err = flush(t, put, arg, 1);
	}
	return err;
}

int exact_tally_rows(struct tally *t, const struct exact_arena *a,
		     unsigned int n, const struct exact_stretch *stretch,
		     const struct tracer_clock *clock, exact_rows_put put,
		     void *arg)
{
	const uint64_t mask = MOCA_EXACT_CELLS - 1;
	int err = read_log(t, a, n, stretch->log_count);

	t->begin_ns = stretch->begin_ns;
	t->end_ns = stretch->end_ns;
	if (!err)
		err = merge_new(t);
	if (err)
		return err;
	apply_wraps(t);
	for (size_t i = 0, j; i < t->count && !err; i = j) {
		for (j = i + 1; j < t->count; j++) {
			uint64_t g = t->cells[j].granule;

			if (g - t->cells[j - 1].granule > GAP ||
			    (g & mask) < (t->cells[i].granule & mask) ||
			    (g & mask) - (t->cells[i].granule & mask) >= RUN)
				break;
		}
		err = take_run(t, a, n, i, j, clock, put, arg);
	}
	return err ? err : flush(t, put, arg, 0);
}
