// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a slot's log and counters to rows. The log tells which granules were
 * touched, when first, and each 2^32 accesses; the counters hold the rest. The
 * program may run on meanwhile, and may write anything at all there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/exact/collector.h"
#include "lib/format/chunk.h"

#define LOG_PART 8192u		/* entries read at once */
#define RUN 8192u		/* counters read at once, in pairs */
#define GAP 512u		/* cells between two runs, at least: a page */
#define WRAP (1ll << 32)
#define WRAPS_MAX (1u << 24)	/* in one slice: 2^56 accesses */
#define CELL_MASK (MOCA_EXACT_CELLS - 1)

#define GRANULE_BITS 41
#define GRANULE_MASK ((1ull << GRANULE_BITS) - 1)
/*
 * Of a kept cell: its counter was in use already (then 0 means that it came
 * round); and it has come round, which the log, read before, did not say yet.
 * << 1 for stores.
 */
#define USED (1ull << 60)
#define OWED (1ull << 62)

/*
 * A granule that was touched, with flags. value: of a fresh one, when first
 * (clock & ~1, bit 0: a store); of a kept one, its counters as they were when
 * they were told last, loads in the lower half.
 */
struct cell {
	uint64_t id;
	uint64_t value;
};

/* A 2^32nd access to a granule. */
struct wrap {
	uint32_t cell;
	uint32_t store;
};

struct tally {
	struct cell *kept;	/* by granule: between two slices */
	size_t kept_count;
	uint64_t done;		/* entries of the log that were read */
	uint64_t clock;		/* of the last TIME */
};

/* What one slice takes to be told; of the harvester alone. */
static struct scratch {
	struct tally *tally;
	const struct exact_arena *arena;
	unsigned int slot;
	const struct exact_slice *slice;
	const struct tracer_clock *clock;
	exact_rows_put put;
	void *arg;
	struct cell *fresh;	/* of this slice; then by granule */
	size_t fresh_count, fresh_room;
	size_t next;		/* of fresh, the first not told of */
	struct wrap *wraps;	/* of this slice; then by cell */
	size_t wrap_count, wrap_room;
	uint64_t log[LOG_PART];
	uint32_t pairs[2 * RUN];
	uint8_t bits[RUN / 4 + 2];
	struct moca_count rows[MOCA_CHUNK_RECORDS_MAX];
	size_t row_count;
} x;

struct tally *exact_tally_new(void)
{
	return calloc(1, sizeof(struct tally));
}

void exact_tally_free(struct tally *t)
{
	if (!t)
		return;
	free(t->kept);
	free(t);
}

/* --- the log ----------------------------------------------------------------- */

/* Room for one more of n items. 0 or -ENOMEM. */
static int grow(void **items, size_t n, size_t *room, size_t size)
{
	size_t want = *room ? *room + *room / 2 : 256;
	void *p;

	if (n < *room)
		return 0;
	p = realloc(*items, want * size);
	if (!p)
		return -ENOMEM;
	*items = p;
	*room = want;
	return 0;
}

static int add_fresh(uint64_t granule, uint64_t first)
{
	if (grow((void **)&x.fresh, x.fresh_count, &x.fresh_room,
		 sizeof(*x.fresh)))
		return -ENOMEM;
	x.fresh[x.fresh_count++] = (struct cell){ granule, first };
	return 0;
}

static int add_wrap(uint64_t granule, int store)
{
	if (x.wrap_count == WRAPS_MAX)
		return -EINVAL;
	if (grow((void **)&x.wraps, x.wrap_count, &x.wrap_room,
		 sizeof(*x.wraps)))
		return -ENOMEM;
	x.wraps[x.wrap_count++] =
		(struct wrap){ granule & CELL_MASK, (uint32_t)store };
	return 0;
}

static int take_entry(uint64_t e)
{
	uint64_t ticks = e >> MOCA_EXACT_LOG_TIME_SHIFT &
			 ((1ull << MOCA_EXACT_LOG_TIME_BITS) - 1);
	uint64_t granule = e >> MOCA_EXACT_LOG_GRANULE_SHIFT;
	int store = !!(e & MOCA_EXACT_LOG_STORE);

	switch (e & 3) {
	case MOCA_EXACT_LOG_TIME:
		x.tally->clock = e & ~3ull;
		return 0;
	case MOCA_EXACT_LOG_FIRST:
		return add_fresh(granule, ((x.tally->clock +
					    (ticks << MOCA_EXACT_LOG_UNIT)) &
					   ~1ull) | store);
	case MOCA_EXACT_LOG_WRAP:
		return add_wrap(granule, store);
	}
	return 0;	/* of no kind: nonsense, or of a later version */
}

static int read_log(void)
{
	uint64_t count = x.slice->log_count;
	int err = 0;

	if (count > MOCA_EXACT_LOG_MAX)
		count = MOCA_EXACT_LOG_MAX;
	while (x.tally->done < count && !err) {
		size_t k = count - x.tally->done;

		k = k < LOG_PART ? k : LOG_PART;
		err = exact_arena_read(x.arena, x.slot,
				       MOCA_EXACT_LOG + x.tally->done * 8,
				       x.log, k * 8);
		for (size_t i = 0; i < k && !err; i++)
			err = take_entry(x.log[i]);
		x.tally->done += k;
	}
	return err;
}

/* --- cells, by granule ------------------------------------------------------- */

/* In place, one bit after the other: there may be 10^8. */
static void sort_cells(struct cell *c, size_t n, int bit)
{
	while (n > 1 && bit >= 0) {
		size_t low = 0, high = n;

		/* Only what is on the wrong side moves. */
		for (;;) {
			struct cell swap;

			while (low < high && !(c[low].id >> bit & 1))
				low++;
			while (low < high && c[high - 1].id >> bit & 1)
				high--;
			if (low == high)
				break;
			swap = c[low];
			c[low] = c[high - 1];
			c[high - 1] = swap;
		}
		bit--;
		sort_cells(c, low, bit);
		c += low;
		n -= low;
	}
}

/* Two sorted lists, the one at the begin of c; c has room for both. */
static void merge_cells(struct cell *c, size_t n, const struct cell *more,
			size_t count)
{
	for (size_t k = n + count; count; k--)
		c[k - 1] = n && c[n - 1].id > more[count - 1].id ?
				   c[--n] : more[--count];
}

/*
 * Most memory is touched in order, but for some: both of a pair that is out of
 * order are taken out, sorted and merged.
 */
static void sort_fresh(void)
{
	struct cell *out = NULL, *c = x.fresh;
	size_t count = 0, room = 0, n = 0, i;

	for (i = 0; i < x.fresh_count && count <= i / 8 + 256; i++) {
		if (!n || c[n - 1].id <= c[i].id) {
			c[n++] = c[i];
			continue;
		}
		if (grow((void **)&out, count + 1, &room, sizeof(*out)))
			break;
		out[count++] = c[--n];
		out[count++] = c[i];
	}
	if (i == x.fresh_count) {
		sort_cells(out, count, GRANULE_BITS - 1);
		merge_cells(c, n, out, count);
	} else {
		/* The rest is where it was; these fit before it. */
		memcpy(c + n, out, count * sizeof(*c));
		sort_cells(c, x.fresh_count, GRANULE_BITS - 1);
	}
	free(out);
}

static int by_cell(const void *a, const void *b)
{
	const struct wrap *v = a, *w = b;

	if (v->cell != w->cell)
		return v->cell < w->cell ? -1 : 1;
	return (int)v->store - (int)w->store;
}

/* Leave only the first of each granule, and none that is kept already: more of
 * them are nonsense. */
static void unite(void)
{
	const struct tally *t = x.tally;
	size_t n = 0, k = 0;

	for (size_t i = 0; i < x.fresh_count; i++) {
		uint64_t id = x.fresh[i].id;

		while (k < t->kept_count && (t->kept[k].id & GRANULE_MASK) < id)
			k++;
		if ((n && x.fresh[n - 1].id == id) ||
		    (k < t->kept_count && (t->kept[k].id & GRANULE_MASK) == id))
			continue;
		x.fresh[n++] = x.fresh[i];
	}
	x.fresh_count = n;
}

/* The fresh ones are kept as well, as not told yet. 0 or -ENOMEM. */
static int keep_fresh(void)
{
	struct tally *t = x.tally;
	size_t i = t->kept_count, j = x.fresh_count, k = i + j;
	struct cell *p;

	if (!j)
		return 0;
	p = realloc(t->kept, k * sizeof(*p));
	if (!p)
		return -ENOMEM;
	t->kept = p;
	t->kept_count = k;
	/* From the end, where there is room. */
	while (j) {
		if (i && (p[i - 1].id & GRANULE_MASK) > x.fresh[j - 1].id)
			p[--k] = p[--i];
		else
			p[--k] = (struct cell){ x.fresh[--j].id, 0 };
	}
	return 0;
}

/* --- rows ---------------------------------------------------------------------- */

static int64_t wraps_of(uint32_t cell, uint32_t store)
{
	size_t low = 0, high = x.wrap_count, mid;
	struct wrap key = { cell, store };
	int64_t n = 0;

	while (low < high) {
		mid = (low + high) / 2;
		if (by_cell(&x.wraps[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < x.wrap_count && !by_cell(&x.wraps[low], &key); low++)
		n++;
	return n;
}

/*
 * What a fault takes back of a granule was counted ahead by one block, one iteration
 * or one string instruction: no more than there are bytes in a page, many times over.
 */
#define BACK_MAX (1 << 20)

/*
 * Accesses since the counter was told last; exact-arena.h has the formula. One
 * that came round just now may not be in the part of the log that was read
 * before it: then the sum is less than nothing.
 */
static uint64_t growth(uint64_t *id, uint32_t *kept, uint32_t now, int touched,
		       int store)
{
	const uint32_t before = *kept;
	const uint64_t used = USED << store, owed = OWED << store;
	int64_t told = 0, sum = 0;

	if (*id & used)
		told = before ? WRAP - before : WRAP;
	if (now)
		sum = WRAP - now;
	else if (touched)
		sum = WRAP;
	else
		return 0;
	if (x.wrap_count)
		sum += wraps_of(*id & CELL_MASK, store) * WRAP;
	if (*id & owed)
		sum -= WRAP;
	/* Taken back since, at a fault: what was told stays ahead until it is done. */
	if (sum < told && told - sum < BACK_MAX)
		return 0;
	*kept = now;
	*id = (*id & ~owed) | used;
	if (sum < told) {
		sum += WRAP;
		*id |= owed;
	}
	/* Still less: it was not the agent who wrote that. */
	return sum > told ? sum - told : 0;
}

/* The time of the first touch, if it is of this slice. */
static void set_first(struct moca_count *r, uint64_t first)
{
	int store = first & 1;

	if (store ? !r->stores : !r->loads)
		return;
	r->first_ns = tracer_clock_ns(x.clock, first & ~1ull);
	r->first_store = store;
	/* Nonsense, or just before the last slice was read. */
	if (r->first_ns < x.slice->begin_ns)
		r->first_ns = x.slice->begin_ns;
	if (r->first_ns > x.slice->end_ns)
		r->first_ns = x.slice->end_ns;
	if (!r->first_ns)
		r->first_store = 0;
}

static int touched(uint64_t base, uint64_t cell, int store)
{
	uint64_t bit = cell * 2 + store - base / 4 * 8;

	return x.bits[bit / 8] >> bit % 8 & 1;
}

static int flush(int more)
{
	int err = x.put(x.arg, x.rows, x.row_count, more);

	x.row_count = 0;
	return err;
}

/* c: fresh, if it is of that list; else kept. at: of its counters in pairs. */
static int add_row(struct cell *c, int fresh, uint64_t base, uint64_t at)
{
	struct moca_count *r = &x.rows[x.row_count];
	uint64_t id = c->id, granule = id & GRANULE_MASK, first = 0;
	uint64_t before = fresh ? 0 : c->value;
	uint32_t kept[2] = { (uint32_t)before, before >> 32 };
	const uint32_t *now = &x.pairs[2 * at];

	*r = (struct moca_count){ .addr = granule << moca_exact_recording.shift };
	r->loads = growth(&id, &kept[0], now[0],
			  touched(base, base + at, 0), 0);
	r->stores = growth(&id, &kept[1], now[1],
			   touched(base, base + at, 1), 1);
	if (fresh) {
		first = c->value;
	} else {
		c->id = id;
		c->value = (uint64_t)kept[1] << 32 | kept[0];
		if (x.next < x.fresh_count && x.fresh[x.next].id == granule)
			first = x.fresh[x.next++].value;
	}
	if (!(r->loads | r->stores))
		return 0;
	if (first)
		set_first(r, first);
	return ++x.row_count == MOCA_CHUNK_RECORDS_MAX ? flush(1) : 0;
}

/* [i, j) of the list, whose counters are close together. */
static int take_run(struct cell *list, int fresh, size_t i, size_t j)
{
	uint64_t base = list[i].id & CELL_MASK;
	size_t len = (list[j - 1].id & CELL_MASK) - base + 1;
	int err;

	/*
	 * Bits first, as the program counts first: a bit that is set has a count
	 * then. The other way round, what it touches between the two would have a
	 * bit and a counter of 0, which is that of 2^32 accesses.
	 */
	err = exact_arena_read(x.arena, x.slot, MOCA_EXACT_TOUCHED + base / 4,
			       x.bits, (base + len - 1) / 4 - base / 4 + 1);
	if (!err)
		err = exact_arena_read(x.arena, x.slot,
				       MOCA_EXACT_COUNTS + base * 8, x.pairs,
				       len * 8);
	for (; i < j && !err; i++)
		err = add_row(&list[i], fresh, base,
			      (list[i].id & CELL_MASK) - base);
	return err;
}

static int take_list(struct cell *list, size_t count, int fresh)
{
	int err = 0;

	for (size_t i = 0, j; i < count && !err; i = j) {
		uint64_t begin = list[i].id & GRANULE_MASK, last = begin;

		for (j = i + 1; j < count; j++) {
			uint64_t g = list[j].id & GRANULE_MASK;

			/* Not over the end of the table of counters either. */
			if (g - last > GAP || g - begin >= RUN ||
			    (g & CELL_MASK) < (begin & CELL_MASK))
				break;
			last = g;
		}
		err = take_run(list, fresh, i, j);
	}
	return err ? err : flush(0);
}

int exact_tally_rows(struct tally *t, const struct exact_arena *a,
		     unsigned int n, const struct exact_slice *slice,
		     const struct tracer_clock *clock, exact_rows_put put,
		     void *arg)
{
	int once = slice->last && !t->kept_count, err;

	x.tally = t;
	x.arena = a;
	x.slot = n;
	x.slice = slice;
	x.clock = clock;
	x.put = put;
	x.arg = arg;
	x.fresh_count = x.wrap_count = x.row_count = x.next = 0;
	err = read_log();
	if (err)
		goto out;
	sort_fresh();
	unite();
	if (x.wrap_count)
		qsort(x.wraps, x.wrap_count, sizeof(*x.wraps), by_cell);
	if (!once)
		err = keep_fresh();
	if (!err)
		err = once ? take_list(x.fresh, x.fresh_count, 1) :
			     take_list(t->kept, t->kept_count, 0);
out:
	/* A large one is not likely to be followed by another. */
	if (x.fresh_room > 65536) {
		free(x.fresh);
		x.fresh = NULL;
		x.fresh_room = 0;
	}
	return err;
}
