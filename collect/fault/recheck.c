// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/recheck.h"

#include "lib/base/table.h"

/* Of the pages that sweeps let go, as many rechecks may: 1/8 in turn, 1/2 around finds. */
#define TURN_SHARE 8
#define NEAR_SHARE 2
/* And 1/10 is left for them by sweeps. */
#define RESERVE_SHARE 10
/* A page whose turn it is is let go so often in an interval, as expected. */
#define TURN_TRIES 2
/* One page of so many has its turn, at most and at least. */
#define EVERY_MIN 128
#define EVERY_MAX 4096
/* A page around finds is let go so often in an interval, at most. */
#define NEAR_TRIES 4
/* How far a find reaches, in blocks: 32 MB. */
#define NEAR_BLOCKS 16
/* A phase begins where one of so many pages has a second thread, and goes on where a
 * block had as many since it was let go. */
#define WORTH 4
/* Else a block is let go once in 1/16 of the time since the start. */
#define REST 16
/* Rechecks are 3 ms apart at least, and take 1/50 of a CPU at most. */
#define CLOSEST_NS 3000000ull
#define TIME_SHARE 50

void recheck_note(struct recheck *r, const struct page_record *p)
{
	r->found += (uint64_t)(p->found && p->again);
	r->hits += (uint64_t)p->found;
	r->misses += (uint64_t)p->same;
}

static uint64_t left(uint64_t may, uint64_t tried)
{
	return may > tried ? may - tried : 0;
}

void recheck_swept(struct recheck *r, uint64_t pages, uint64_t single)
{
	uint64_t room;

	r->swept += pages;
	r->intervals++;
	room = left(r->swept / TURN_SHARE, r->tried_turn);
	r->every = room ? (single * TURN_TRIES + room - 1) / room : 0;
	if (r->every > EVERY_MAX)
		r->every = 0;
	else if (r->every < EVERY_MIN && single)
		r->every = EVERY_MIN;
}

double recheck_reserve(const struct recheck *r, uint64_t single)
{
	uint64_t most = (r->swept + r->tried_turn + r->tried_near) / RESERVE_SHARE;

	return (double)(single < most ? single : most);
}

int recheck_begin(struct recheck *r, uint64_t now_ns, double most)
{
	r->now_ns = now_ns;
	r->room = (struct recheck_room){ 0 };
	if (!(most >= 1))
		return 0;
	r->room.turn = left(r->swept / TURN_SHARE, r->tried_turn);
	r->room.near = left(r->swept / NEAR_SHARE, r->tried_near);
	if ((double)r->room.turn > most / 2)
		r->room.turn = (uint64_t)(most / 2);
	if ((double)r->room.near > most - (double)r->room.turn)
		r->room.near = (uint64_t)(most - (double)r->room.turn);
	return r->room.turn || r->room.near;
}

static uint64_t single_pages(const struct page_block *b)
{
	uint64_t n = 0;

	for (unsigned int w = 0; w < BLOCK_WORDS; w++)
		n += (uint64_t)__builtin_popcountll(pageset_single(b, w));
	return n;
}

/* *from: the last block with finds, which it may be itself; UINT64_MAX: none. */
static int is_near(uint64_t *from, const struct page_block *b)
{
	if (b->found)
		*from = b->number;
	return *from != UINT64_MAX &&
	       (b->number > *from ? b->number - *from : *from - b->number) <=
		       NEAR_BLOCKS;
}

/* It has rested, or what was let go last had many finds. */
static int is_worth(const struct recheck *r, const struct page_block *b)
{
	if (b->near_tried && b->near_found * WORTH >= b->near_tried)
		return 1;
	return r->now_ns >= b->near_ns + (r->now_ns - r->start_ns) / REST;
}

void recheck_choose(struct recheck *r, const struct block_list *l)
{
	int phase = r->hits && r->hits * WORTH >= r->hits + r->misses;
	uint64_t up = UINT64_MAX, down = UINT64_MAX, n = 0;

	for (size_t i = 0; i < l->count; i++)
		l->items[i]->near = (uint8_t)is_near(&up, l->items[i]);
	for (size_t i = l->count; i-- > 0;)
		l->items[i]->near |= (uint8_t)is_near(&down, l->items[i]);
	for (size_t i = 0; i < l->count; i++) {
		struct page_block *b = l->items[i];

		b->near_found += b->found;
		b->found = 0;
		b->near = b->near && phase && is_worth(r, b);
		n += b->near ? single_pages(b) : 0;
	}
	r->near_every = r->room.near ? (n + r->room.near - 1) / r->room.near : 0;
	for (size_t i = 0; i < l->count && r->near_every; i++)
		if (l->items[i]->near) {
			l->items[i]->near_tried = l->items[i]->near_found = 0;
			l->items[i]->near_ns = r->now_ns;
		}
}

/* By chance, and by another one in each interval. */
static int in_turn(const struct recheck *r, uint64_t n, uint64_t every)
{
	return every && (moca_mix(n) + r->intervals) % every == 0;
}

uint64_t recheck_mask(struct recheck *r, struct page_block *b,
		      unsigned int stripe)
{
	uint64_t first = b->number * BLOCK_PAGES + stripe * 64, n, *room;
	int near = b->near && in_turn(r, first, r->near_every);
	uint64_t mask = near || r->every ? pageset_single(b, stripe) : 0;

	for (uint64_t m = mask; m; m &= m - 1) {
		unsigned int p = (unsigned int)__builtin_ctzll(m);

		if (near ? b->users->tries[stripe * 64 + p] >= NEAR_TRIES :
			   !in_turn(r, first + p, r->every))
			mask &= ~(1ull << p);
	}
	n = (uint64_t)__builtin_popcountll(mask);
	room = near ? &r->room.near : &r->room.turn;
	if (*room < n)
		return 0;
	*room -= n;
	*(near ? &r->tried_near : &r->tried_turn) += n;
	b->near_tried += near ? (uint32_t)n : 0;
	return mask;
}

void recheck_end(struct recheck *r, uint64_t now_ns, uint64_t cpu_ns)
{
	uint64_t rest = cpu_ns * TIME_SHARE;

	r->hits = r->misses = 0;
	r->at_ns = now_ns + (rest > CLOSEST_NS ? rest : CLOSEST_NS);
}
