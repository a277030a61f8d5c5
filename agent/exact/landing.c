// SPDX-License-Identifier: LGPL-2.1-or-later
#include "agent/exact/landing.h"

#include "agent/exact/cache.h"
#include "agent/exact/emit.h"

/* A longer chain takes as long as C does. */
#define CHAIN_MAX 64

#define SLOTS (1u << JUMP_BITS)

struct landing {
	uint64_t pc;
	uint64_t code;
	uint64_t *other; /* where its code goes if pc was not meant */
	struct landing *next;
	int shown;
};

/* Ahead of its code: whose it is. */
#define OWNER 8

/* Of those with these low bits, the one that jumps lead to; NULL: C. */
static struct landing *first_of(uint64_t pc)
{
	uint64_t code = moca_exact.jumps[pc % SLOTS];

	return code == (uint64_t)moca_exact_exit_jump ? NULL :
	       *(struct landing **)(code - OWNER);
}

/* Whoever reads it, in whichever order, finds a chain that ends. */
static void lead(uint64_t *place, const struct landing *l)
{
	__atomic_store_n(place, l ? l->code : (uint64_t)moca_exact_exit_jump,
			 __ATOMIC_RELEASE);
}

/* Flags are kept; rax is where to, and it and rcx are in the spill slots. */
static uint8_t *write_code(uint8_t *p, const uint64_t *negative,
			   const uint64_t *other, uint64_t host)
{
	uint8_t *jump;

	emit_load_literal(&p, RCX, negative);
	emit_lea_sum(&p, RCX, RAX, RCX);
	*p++ = 0xe3; /* jrcxz */
	jump = p++;
	emit_jump_literal(&p, other);
	*jump = (uint8_t)(p - jump - 1);
	emit_gs_load(&p, RAX, SPILL(0));
	emit_gs_load(&p, RCX, SPILL(1));
	emit_jump(&p, (uint8_t *)host);
	return p;
}

struct landing *moca_exact_landing(uint64_t pc, uint64_t host)
{
	struct cache *k = moca_exact_cache_near(host, host + 1, 65536 + 256);
	uint64_t *negative, *other;
	struct landing *l;

	if (!k)
		return NULL;
	negative = moca_exact_literal(k, -pc);
	other = moca_exact_literal(k, 0);
	if (!negative || !other)
		return NULL;
	l = moca_exact_alloc(sizeof(*l));
	l->pc = pc;
	*(struct landing **)k->at = l;
	k->at += OWNER;
	l->code = (uint64_t)k->at;
	l->other = other;
	lead(l->other, NULL);
	k->at = write_code(k->at, negative, other, host);
	return l;
}

static int length(const struct landing *l)
{
	int n = 0;

	for (; l; l = l->next)
		n++;
	return n;
}

/* C shows again those that are still jumped to. */
static void hide_all(struct landing *l)
{
	for (; l; l = l->next)
		l->shown = 0;
}

void moca_exact_landing_show(struct landing *l)
{
	struct landing *first = first_of(l->pc);

	if (l->shown)
		return;
	if (length(first) >= CHAIN_MAX) {
		hide_all(first);
		first = NULL;
	}
	l->next = first;
	lead(l->other, first);
	l->shown = 1;
	lead(&moca_exact.jumps[l->pc % SLOTS], l);
}

void moca_exact_landing_hide(struct landing *l)
{
	struct landing *at, *ahead = NULL;

	if (!l || !l->shown)
		return;
	for (at = first_of(l->pc); at != l; at = at->next)
		ahead = at;
	if (ahead)
		ahead->next = l->next;
	lead(ahead ? ahead->other : &moca_exact.jumps[l->pc % SLOTS], l->next);
	l->shown = 0;
}
