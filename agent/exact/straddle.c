// SPDX-License-Identifier: LGPL-2.1-or-later
#include "agent/exact/straddle.h"

#include "agent/exact/cold.h"
#include "agent/exact/emit.h"

/* So often by C: code for all that straddle once would fill the caches. */
#define TIMES_C 32

#define CC_NOT_BELOW 3

/* A piece of code under way. */
struct piece {
	const struct straddle *s;
	struct cache *k;
	uint8_t *p;
	struct cold colds[GROUP_MEMBERS * 4];
	int cold_count;
};

struct straddle *moca_exact_straddle(const struct group *g, int scratch)
{
	struct straddle *s = moca_exact_alloc(
		sizeof(*s) + (size_t)g->what.count * sizeof(*s->members));

	s->mem = g->what.mem;
	s->low = g->what.low;
	s->scratch = (int8_t)scratch;
	s->count = g->what.count;
	for (int i = 0; i < g->what.count; i++) {
		int at = i;

		for (; at && s->members[at - 1].disp > g->what.members[i].disp; at--)
			s->members[at] = s->members[at - 1];
		s->members[at] = g->what.members[i];
	}
	return s;
}

/* Members [from, to), in the granule whose number is in the register. */
static void count_members(struct piece *c, int from, int to)
{
	uint32_t n[2] = { 0, 0 };

	for (int i = from; i < to; i++) {
		n[0] += c->s->members[i].load;
		n[1] += c->s->members[i].store;
	}
	for (int store = 0; store < 2; store++)
		if (n[store]) {
			emit_count(&c->p, c->s->scratch, store, n[store]);
			moca_exact_cold_begin(&c->colds[c->cold_count++], &c->p,
					      c->s->scratch, store, 0);
		}
}

/* Members from `second` on are in the second granule. */
static void count_split(struct piece *c, int second)
{
	const struct straddle *s = c->s;

	emit_address(&c->p, s->scratch, &s->mem, s->low);
	emit_shift_right(&c->p, s->scratch, (int)moca_exact.shift);
	count_members(c, 0, second);
	emit_increment(&c->p, s->scratch);
	count_members(c, second, s->count);
	emit_jump(&c->p, s->back);
}

/* The first member of the second granule is one of [low, high]. */
static void find_split(struct piece *c, int low, int high)
{
	uint32_t size = 1u << moca_exact.shift;
	int mid = (low + high) / 2;
	uint8_t *over;

	if (low == high) {
		count_split(c, low);
		return;
	}
	emit_compare(&c->p, c->s->scratch, size -
		     (uint32_t)(c->s->members[mid].disp - c->s->low));
	over = emit_jcc(&c->p, CC_NOT_BELOW, NULL);
	find_split(c, mid + 1, high);
	emit_patch(over, c->p);
	find_split(c, low, mid);
}

void moca_exact_straddle_write(struct straddle *s)
{
	uint64_t back = (uint64_t)s->back;
	struct piece c = { .s = s };
	uint8_t *code;

	c.k = moca_exact_cache_near(back, back + 1, 65536);
	if (!c.k)
		return;		/* C goes on counting */
	c.p = code = c.k->at;
	find_split(&c, 1, s->count - 1);
	for (int i = 0; i < c.cold_count; i++)
		moca_exact_cold_write(&c.colds[i], &c.p, c.k);
	c.k->at = c.p;
	moca_exact.shared->code_bytes += (uint64_t)(c.p - code);
	/* Others may be on their way through it: the code is whole. */
	__atomic_store_n(s->slot, (uint64_t)code, __ATOMIC_RELEASE);
}

void moca_exact_straddled(struct straddle *s)
{
	if (s->times > TIMES_C || ++s->times != TIMES_C)
		return;
	moca_exact_lock();
	moca_exact_straddle_write(s);
	moca_exact_unlock();
}
