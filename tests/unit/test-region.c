// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of regions, against a plain array of pages. */
#include "collect/fault/region.h"
#include "tests/unit/trace-util.h"

#define PAGES 256
#define AT(p) ((uint64_t)(p) << 12)

/* What a page should be: 0 = nothing, else offset in pages + 1, and flags. */
struct model {
	uint64_t off[PAGES];
	uint32_t kind[PAGES];
	uint32_t flags[PAGES];
};

static uint32_t state = 12345;

static unsigned int pick(unsigned int n)
{
	state = state * 1103515245u + 12345;
	return (state >> 8) % n;
}

static int agrees(const struct region_map *m, const struct model *e)
{
	for (size_t i = 0; i + 1 < m->count; i++)
		if (m->items[i].end > m->items[i + 1].start)
			return 0;
	for (unsigned int p = 0; p < PAGES; p++) {
		const struct region *r = moca_regions_find(m, AT(p) + 123);

		if (!r != !e->off[p])
			return 0;
		if (!r)
			continue;
		if (r->kind != e->kind[p] || r->flags != e->flags[p])
			return 0;
		if (r->kind == REGION_MEMFD &&
		    r->off + (AT(p) - r->start) != AT(e->off[p] - 1))
			return 0;
	}
	return 1;
}

static int t_random(void)
{
	struct region_map m = { 0 };
	struct model e = { 0 };

	for (int round = 0; round < 20000; round++) {
		unsigned int a = pick(PAGES), n = 1 + pick(PAGES - a);
		unsigned int kind = pick(3), off = pick(1000);

		switch (pick(4)) {
		case 0:
		case 1:
			CHECK(!moca_regions_add(&m, &(struct region){
				AT(a), AT(a + n), kind ? 0 : AT(off), kind, 0,
				NULL }));
			for (unsigned int i = 0; i < n; i++) {
				e.off[a + i] = off + i + 1;
				e.kind[a + i] = kind;
				e.flags[a + i] = 0;
			}
			break;
		case 2:
			CHECK(!moca_regions_remove(&m, AT(a), AT(a + n)));
			memset(&e.off[a], 0, n * sizeof(e.off[0]));
			break;
		default:
			CHECK(!moca_regions_flag(&m, AT(a), AT(a + n),
						 REGION_WIPEONFORK, 0));
			for (unsigned int i = a; i < a + n; i++)
				if (e.kind[i] == REGION_MEMFD)
					e.flags[i] |= REGION_WIPEONFORK;
		}
		if (round % 16 == 0)
			CHECK(agrees(&m, &e));
	}
	moca_regions_free(&m);
	return 0;
}

static int t_next(void)
{
	struct region_map m = { 0 };
	uint64_t pos = AT(2);
	struct region r;

	CHECK(!moca_regions_add(&m, &(struct region){ AT(1), AT(5), AT(100),
						      REGION_MEMFD, 0, NULL }));
	CHECK(!moca_regions_add(&m, &(struct region){ AT(8), AT(9), 0,
						      REGION_FILE, 0, NULL }));
	CHECK(moca_regions_next(&m, &pos, AT(20), &r));
	CHECK(r.start == AT(2) && r.end == AT(5) && r.off == AT(101));
	CHECK(moca_regions_next(&m, &pos, AT(20), &r));
	CHECK(r.start == AT(8) && r.end == AT(9));
	CHECK(!moca_regions_next(&m, &pos, AT(20), &r));
	/* A range that begins at its own end, inside a region. */
	pos = AT(3);
	CHECK(!moca_regions_next(&m, &pos, AT(3), &r));
	CHECK(moca_regions_uses(&m, AT(103), AT(1)));
	CHECK(!moca_regions_uses(&m, AT(104), AT(1)));
	moca_regions_free(&m);
	return 0;
}

/* Parts of frozen memory keep their place in the memfd that they are of. */
static int t_frozen(void)
{
	struct region_map m = { 0 };
	struct base *one = (struct base *)&m, *two = (struct base *)&one;
	uint64_t pos = AT(8);
	struct region r;

	CHECK(!moca_regions_add(&m, &(struct region){
		AT(1), AT(9), AT(101), REGION_FROZEN, 0, one }));
	CHECK(!moca_regions_add(&m, &(struct region){
		AT(9), AT(12), AT(109), REGION_FROZEN, 0, two }));
	CHECK(m.count == 2);	/* of two memfds: not joined */
	CHECK(!moca_regions_remove(&m, AT(3), AT(5)));
	CHECK(!moca_regions_flag(&m, AT(6), AT(7), REGION_DONTFORK, 0));
	CHECK(moca_regions_find(&m, AT(6))->flags == REGION_DONTFORK);
	CHECK(moca_regions_next(&m, &pos, AT(20), &r));
	CHECK(r.start == AT(8) && r.off == AT(108) && r.base == one);
	/* Nor does a new mapping meet them: it is in another plane. */
	CHECK(!moca_regions_uses(&m, AT(101), AT(20)));
	moca_regions_free(&m);
	return 0;
}

static int t_joins(void)
{
	struct region_map m = { 0 };

	/* 10,000 neighbours whose offsets follow are one region. */
	for (int i = 0; i < 10000; i++)
		CHECK(!moca_regions_add(&m, &(struct region){
			AT(i), AT(i + 1), AT(i), REGION_MEMFD, 0, NULL }));
	CHECK(m.count == 1);
	CHECK(!moca_regions_add(&m, &(struct region){
		AT(10000), AT(10001), AT(77777), REGION_MEMFD, 0, NULL }));
	CHECK(m.count == 2);
	moca_regions_free(&m);
	return 0;
}

int main(void)
{
	run("region: random changes", t_random);
	run("region: walk", t_next);
	run("region: neighbours join", t_joins);
	run("region: frozen memory", t_frozen);
	return failures != 0;
}
