// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rechecks find second users: a model of a program with two threads, of its page
 * tables, and of sweeps that come when the same thread always is the next one.
 */
#include <stdlib.h>

#include "collect/fault/recheck.h"
#include "lib/base/stripe.h"
#include "tests/unit/trace-util.h"

#define PAGES 8192u
#define MS 1000000ull
/* Of a round, ms: thread 1 walks over the pages, then 2 over those it shares. */
#define ROUND 100u
#define ROUNDS 60u

struct model {
	struct pageset *s;
	struct page_block *blocks[PAGES / BLOCK_PAGES];
	struct recheck r;
	uint8_t entry[PAGES];	/* the page tables have it */
	unsigned int found;
	uint64_t faults, told, weight;	/* of both threads */
	unsigned int every;	/* of so many pages thread 2 uses one; 0: none */
	int rechecks;
};

static void use(struct model *m, unsigned int p, uint32_t tid)
{
	uint64_t addr = (uint64_t)p << 12;
	struct page_record x;

	if (m->entry[p])
		return;
	m->entry[p] = 1;
	x = pageset_record(m->s, addr, pageset_fault(m->s, addr), tid, 1);
	recheck_note(&m->r, &x);
	m->found += (unsigned int)x.found;
	m->told += (uint64_t)x.told;
	m->weight += x.told ? x.weight : 0;
	m->faults++;
}

static struct block_list all_blocks(struct model *m)
{
	return (struct block_list){ .items = m->blocks,
				    .count = PAGES / BLOCK_PAGES };
}

static void drop(struct model *m, unsigned int first, uint64_t mask)
{
	for (; mask; mask &= mask - 1)
		m->entry[first + (unsigned int)__builtin_ctzll(mask)] = 0;
}

static void sweep(struct model *m)
{
	uint64_t single = 0, pages = 0;

	pageset_sweep(m->s, 1);
	for (unsigned int i = 0; i < PAGES / BLOCK_PAGES; i++) {
		struct page_block *b = m->blocks[i];

		pages += b->present;
		for (unsigned int w = 0; w < BLOCK_WORDS; w++) {
			single += (uint64_t)__builtin_popcountll(
				b->seen[w] & ~b->several[w]);
			drop(m, i * BLOCK_PAGES + w * 64, ~0ull);
		}
		pageset_zapped(b);
	}
	recheck_swept(&m->r, pages, single);
}

static uint64_t recheck(struct model *m, uint64_t now_ns, double most)
{
	struct block_list l = all_blocks(m);
	uint64_t n = 0;

	if (!recheck_begin(&m->r, now_ns, most))
		return 0;
	recheck_choose(&m->r, &l);
	for (unsigned int i = 0; i < PAGES / BLOCK_PAGES; i++)
		for (unsigned int w = 0; w < BLOCK_WORDS; w++) {
			uint64_t mask = recheck_mask(&m->r, m->blocks[i], w);

			if (mask)
				n += pageset_recheck(m->s, m->blocks[i], w,
						     mask);
			drop(m, i * BLOCK_PAGES + w * 64, mask);
		}
	recheck_end(&m->r, now_ns, 0);
	return n;
}

/* ms of a round: 0 to 39 thread 1, 50 to 89 thread 2, in the same order. */
static void work(struct model *m, unsigned int ms)
{
	unsigned int t = ms < 50 ? 1 : 2, at = ms % 50;

	if (at >= 40)
		return;
	for (unsigned int p = at * PAGES / 40; p < (at + 1) * PAGES / 40; p++)
		if (t == 1 || (m->every && p % m->every == 0))
			use(m, p, t);
}

static int play(struct model *m)
{
	CHECK((m->s = pageset_new()));
	for (unsigned int i = 0; i < PAGES / BLOCK_PAGES; i++)
		CHECK((m->blocks[i] = pageset_block(
			       m->s, (uint64_t)i << BLOCK_SHIFT, 1)));
	for (unsigned int ms = 0; ms < ROUND * ROUNDS; ms++) {
		uint64_t now = ms * MS + 1;

		/* Behind thread 2, so that thread 1 is next. */
		if (ms % ROUND == 95)
			sweep(m);
		work(m, ms % ROUND);
		if (m->rechecks && now >= m->r.at_ns)
			recheck(m, now, 1e9);
	}
	return 0;
}

/* All pages, or each fourth one, are found to be shared, within the share of faults. */
static int t_finds(void)
{
	const unsigned int every[] = { 1, 4 };

	for (size_t i = 0; i < 2; i++) {
		struct model *m = calloc(1, sizeof(*m));
		uint64_t shared = PAGES / every[i];
		uint64_t tried;

		CHECK(m);
		m->every = every[i];
		m->rechecks = 1;
		CHECK(!play(m));
		tried = m->r.tried_turn + m->r.tried_near;
		CHECK(m->found >= 95 * shared / 100);
		CHECK(m->r.found == m->found);
		CHECK(m->r.tried_turn <= m->r.swept / 8);
		CHECK(m->r.tried_near <= m->r.swept / 2);
		CHECK(m->faults <= m->r.swept + tried + PAGES);
		/* No sum has more than the sweeps alone make: one in an interval. */
		CHECK(m->weight == (uint64_t)PAGES * ROUNDS);
		CHECK(m->told == m->weight + m->found);
		pageset_free(m->s);
		free(m);
	}
	return 0;
}

/* Without rechecks nothing is found, though thread 2 uses all pages in each round. */
static int t_without(void)
{
	struct model *m = calloc(1, sizeof(*m));

	CHECK(m);
	m->every = 1;
	CHECK(!play(m));
	CHECK(!m->found && m->weight == (uint64_t)PAGES * ROUNDS);
	pageset_free(m->s);
	free(m);
	return 0;
}

/* Where nothing is shared only pages in turn are tried. */
static int t_private(void)
{
	struct model *m = calloc(1, sizeof(*m));

	CHECK(m);
	m->rechecks = 1;
	CHECK(!play(m));
	CHECK(!m->found && !m->r.tried_near);
	CHECK(m->r.tried_turn && m->r.tried_turn <= m->r.swept / 8);
	CHECK(m->told == m->weight);
	pageset_free(m->s);
	free(m);
	return 0;
}

/* All pages have their turn: in each interval others. */
static int t_turns(void)
{
	struct model *m = calloc(1, sizeof(*m));
	unsigned int tried = 0;

	CHECK(m);
	m->rechecks = 1;
	CHECK(!play(m));
	for (unsigned int t = 0; t < 128; t++) {
		for (unsigned int p = 0; p < PAGES; p++)
			m->entry[p] = 1;
		sweep(m);
		for (unsigned int p = 0; p < PAGES; p++)
			use(m, p, 1);
		m->r.tried_turn = 0;
		m->r.every = 128;
		recheck(m, (uint64_t)(t + 100000) * MS, 1e9);
		for (unsigned int p = 0; p < PAGES; p++) {
			struct page_block *b = m->blocks[p / BLOCK_PAGES];
			uint64_t bit = 1ull << p % 64;

			/* The model has no use for `exists`. */
			if (b->rechecked[p % BLOCK_PAGES / 64] & bit)
				b->exists[p % BLOCK_PAGES / 64] |= bit;
		}
	}
	for (unsigned int p = 0; p < PAGES; p++)
		tried += m->blocks[p / BLOCK_PAGES]
				 ->exists[p % BLOCK_PAGES / 64] >> p % 64 & 1;
	CHECK(tried == PAGES);
	pageset_free(m->s);
	free(m);
	return 0;
}

/* Nothing fits under the budget; a little does; sweeps leave a reserve. */
static int t_room(void)
{
	struct recheck r = { 0 };

	CHECK(!recheck_begin(&r, MS, 1e9));	/* no sweep yet */
	recheck_swept(&r, 80000, 10000);
	CHECK(!recheck_begin(&r, MS, 0) && !recheck_begin(&r, MS, -5));
	CHECK(recheck_begin(&r, MS, 1e9));
	CHECK(r.room.turn == 10000 && r.room.near == 40000);
	CHECK(recheck_begin(&r, MS, 1000));
	CHECK(r.room.turn == 500 && r.room.near == 500);
	CHECK(recheck_reserve(&r, 10000) == 8000);
	CHECK(recheck_reserve(&r, 10) == 10);
	/* Pages of one thread are none: nothing has its turn. */
	recheck_swept(&r, 1, 0);
	CHECK(!r.every);
	return 0;
}

int main(void)
{
	run("recheck: finds the thread that comes second", t_finds);
	run("recheck: without one it does not show", t_without);
	run("recheck: private pages", t_private);
	run("recheck: all have their turn", t_turns);
	run("recheck: room", t_room);
	return failures != 0;
}
