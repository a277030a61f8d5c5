// SPDX-License-Identifier: GPL-2.0-or-later
/* The address maps of moca objects, against a model that is one big array. */
#include "analysis/objects/addrmap.h"
#include "tests/unit/trace-util.h"

#define SPACE (1u << 21)	/* bytes that the model knows, from BASE on */
#define MAPS 6
#define ROUNDS 6000

static struct moca_addrpool pool;
static struct moca_addrmap maps[MAPS];
static uint8_t *model[MAPS];

/* Some places in nodes of different levels, and the ends of everything. */
static const uint64_t bases[] = {
	0, 0x7f1234567000, (1ull << 57) - SPACE / 2, UINT64_MAX - SPACE + 1,
	(1ull << 39) - SPACE / 2,
};

static int set_up(void)
{
	int i;

	moca_addrpool_free(&pool);
	for (i = 0; i < MAPS; i++) {
		maps[i] = (struct moca_addrmap){ .pool = &pool };
		free(model[i]);
		model[i] = calloc(1, SPACE);
		CHECK(model[i]);
	}
	return 0;
}

static int tear_down(void)
{
	int i;

	for (i = 0; i < MAPS; i++)
		moca_addrmap_clear(&maps[i]);
	/* Nothing is held any more, and nothing was let go twice. */
	CHECK(!pool.bytes);
	return 0;
}

/* A range: of bytes, of pages, or large. */
static void range(uint64_t *first, uint64_t *last)
{
	uint64_t len = rnd() % 4 == 0 ? rnd() % SPACE :
		       rnd() % 2      ? rnd() % 64 : rnd() % 20000;

	*first = rnd() % SPACE;
	if (rnd() % 3 == 0) {
		*first &= ~4095ull;
		len = (len | 4095);
	}
	*last = *first + len;
	if (*last >= SPACE)
		*last = SPACE - 1;
}

static int same(int m, uint64_t base)
{
	uint64_t at = 0, begin, end, next = 0, i;
	uint32_t id;

	for (i = 0; i < 300; i++) {
		at = rnd() % SPACE;
		CHECK(moca_addrmap_find(&maps[m], base + at) == model[m][at]);
	}
	/* The pieces in order: together they are the model. */
	while (moca_addrmap_next(&maps[m], base + next, base + SPACE - 1,
				 &begin, &end, &id)) {
		if (begin < base + next)
			begin = base + next;
		if (end > base + SPACE - 1)
			end = base + SPACE - 1;
		for (i = next; i < begin - base; i++)
			CHECK(!model[m][i]);
		for (i = begin - base; i <= end - base; i++)
			CHECK(model[m][i] == id);
		next = end - base + 1;
		if (next == SPACE)
			break;
	}
	for (i = next; i < SPACE; i++)
		CHECK(!model[m][i]);
	return 0;
}

static int against_model(uint64_t base)
{
	uint64_t first, last;
	int round, m, from;
	uint8_t id;

	if (set_up())
		return 1;
	for (round = 0; round < ROUNDS; round++) {
		m = rnd() % MAPS;
		if (rnd() % 50 == 0) {
			/* A fork: the copy and its origin are changed on. */
			from = rnd() % MAPS;
			if (from == m)
				continue;
			moca_addrmap_clear(&maps[m]);
			moca_addrmap_copy(&maps[m], &maps[from]);
			memcpy(model[m], model[from], SPACE);
			continue;
		}
		range(&first, &last);
		id = rnd() % 3 ? rnd() % 4 + 1 : 0;
		CHECK(!moca_addrmap_set(&maps[m], base + first, base + last,
					id));
		memset(&model[m][first], id, last - first + 1);
		if (round % 50 == 0)
			for (m = 0; m < MAPS; m++)
				if (same(m, base))
					return 1;
	}
	return tear_down();
}

static int random_operations(void)
{
	size_t i;

	for (i = 0; i < sizeof(bases) / sizeof(*bases); i++)
		if (against_model(bases[i]))
			return 1;
	return 0;
}

static int huge_ranges(void)
{
	struct moca_addrmap m = { .pool = &pool };
	uint64_t begin, end;
	uint32_t id;

	moca_addrpool_free(&pool);
	CHECK(!moca_addrmap_set(&m, 0, UINT64_MAX, 7));
	CHECK(moca_addrmap_find(&m, 0) == 7);
	CHECK(moca_addrmap_find(&m, UINT64_MAX) == 7);
	CHECK(!moca_addrmap_set(&m, 1ull << 40, (1ull << 40) + 99, 8));
	CHECK(moca_addrmap_find(&m, (1ull << 40) - 1) == 7);
	CHECK(moca_addrmap_find(&m, (1ull << 40) + 99) == 8);
	CHECK(moca_addrmap_find(&m, (1ull << 40) + 100) == 7);
	CHECK(!moca_addrmap_set(&m, 1, UINT64_MAX - 1, 0));
	CHECK(moca_addrmap_next(&m, 1, UINT64_MAX, &begin, &end, &id));
	CHECK(begin == UINT64_MAX && end == UINT64_MAX && id == 7);
	CHECK(!moca_addrmap_next(&m, 1, UINT64_MAX - 1, &begin, &end, &id));
	CHECK(!moca_addrmap_set(&m, 0, UINT64_MAX, 0));
	CHECK(!moca_addrmap_next(&m, 0, UINT64_MAX, &begin, &end, &id));
	moca_addrmap_clear(&m);
	CHECK(!pool.bytes);
	return 0;
}

/* A terabyte in one piece is no more than a few nodes. */
static int runs_are_cheap(void)
{
	struct moca_addrmap m = { .pool = &pool };

	moca_addrpool_free(&pool);
	CHECK(!moca_addrmap_set(&m, 0x7f0000001010, 0x7f0000001010 +
				(1ull << 40), 5));
	CHECK(pool.bytes < 64 * 1024);
	moca_addrmap_clear(&m);
	CHECK(!pool.bytes);
	return 0;
}

static int pool_limit(void)
{
	struct moca_addrmap m = { .pool = &pool };
	uint64_t i;
	int err = 0;

	moca_addrpool_free(&pool);
	pool.limit = 1 << 20;
	for (i = 1; !err && i < 100000; i++)
		err = moca_addrmap_set(&m, i << 40, (i << 40) + 5, 1);
	CHECK(err == -E2BIG);
	CHECK(pool.bytes <= pool.limit);
	/* What was set before is still there. */
	CHECK(moca_addrmap_find(&m, 1ull << 40) == 1);
	CHECK(moca_addrmap_find(&m, 2ull << 40) == 1);
	moca_addrmap_clear(&m);
	CHECK(!pool.bytes);
	return 0;
}

/* A fork takes no memory until somebody changes something. */
static int copies_are_shared(void)
{
	struct moca_addrmap m = { .pool = &pool }, c[100];
	size_t bytes, i;

	moca_addrpool_free(&pool);
	for (i = 0; i < 1000; i++)
		CHECK(!moca_addrmap_set(&m, i * 8192, i * 8192 + 99, i + 1));
	bytes = pool.bytes;
	for (i = 0; i < 100; i++)
		moca_addrmap_copy(&c[i], &m);
	CHECK(pool.bytes == bytes);
	moca_addrmap_clear(&m);
	CHECK(!moca_addrmap_set(&c[7], 8192, 8192 + 9, 0));
	CHECK(!moca_addrmap_find(&c[7], 8192));
	CHECK(moca_addrmap_find(&c[6], 8192) == 2);
	for (i = 0; i < 100; i++)
		moca_addrmap_clear(&c[i]);
	CHECK(!pool.bytes);
	return 0;
}

int main(void)
{
	run("addrmap: random operations and forks", random_operations);
	run("addrmap: ranges up to the whole address space", huge_ranges);
	run("addrmap: a long run is a few nodes", runs_are_cheap);
	run("addrmap: the limit of memory", pool_limit);
	run("addrmap: copies share", copies_are_shared);
	moca_addrpool_free(&pool);
	return failures != 0;
}
